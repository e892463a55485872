// A command line as its operator has it in a script, split into commands and words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::warmup::engines {

// The commands of `text`, each as its words, as a POSIX shell splits them: quotes, backslashes, backslashes at line
// ends and comments are understood; ; & | end a command; redirections are left out. A line end without a backslash is a
// blank, so that a list of arguments, one a line, can be given as it is. Variables and commands ($X, `x`) are not
// expanded: they stay as they are written. invalid_argument for a quote that is not closed.
Expected<std::vector<std::vector<std::string>>> shell_commands(std::string_view text);

}  // namespace cubinet::warmup::engines
