// Splits a shell script into commands and words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::warmup::engines {

// The commands of `text`, each as a list of words, split as a POSIX shell does: with quotes, backslashes, line
// continuations and comments; ; & | end a command; redirections are left out. Unlike in a shell, a line end is a blank,
// so that arguments may be given one per line. Variables and command substitutions ($X, `x`) are not expanded. Errors:
// invalid_argument for an unclosed quote.
Expected<std::vector<std::vector<std::string>>> shell_commands(std::string_view text);

}  // namespace cubinet::warmup::engines
