// Whole numbers on the command line, read strictly: "12", never "12x", " 12", "0x12" or one that does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/command_line.hpp"

namespace cubinet::tools {

// The number that all of `text` spells in decimal, if it fits into 64 bits.
std::optional<std::int64_t> parse_number(std::string_view text);

// An option that takes a whole number of [lowest, highest]; anything else is refused by name. `target` holds the
// default.
Option add_number(Command command, const std::string& name, std::int64_t& target, std::int64_t lowest,
                  std::int64_t highest, const std::string& help);

}  // namespace cubinet::tools
