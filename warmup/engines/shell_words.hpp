// A command line as its operator has it in a script, split into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::warmup::engines {

// The words of the first command of `text`, as a POSIX shell splits them: quotes, backslashes, backslashes at line ends
// and comments are understood. A line end without a backslash is a blank, so that a list of arguments, one a line, can
// be given as it is. What follows an unquoted ; & | < > is no part of the command. Variables and commands ($X, `x`) are
// not expanded: they stay as they are written. invalid_argument for a quote that is not closed.
Expected<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace cubinet::warmup::engines
