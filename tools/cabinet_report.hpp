// The page of `cubinet cache report`.
#pragma once

#include <string>

#include "cache/cabinet.hpp"

namespace cubinet::tools {

// What a cabinet holds as one static HTML page: the same for the same state of the cabinet, at any time. Long tables
// are cut to their largest rows, and say so.
std::string report_page(const std::string& root, const cache::Survey& survey, const cache::Stats& stats);

}  // namespace cubinet::tools
