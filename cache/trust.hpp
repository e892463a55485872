// Who may have put there what is about to be believed.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// cache_unusable when another user than the caller and root owns `path` or what it leads to (unless root asks), or when
// everybody may write that. `target` is the status of what `path` leads to, `what` its name for people: "cabinet".
Expected<void> check_trust(const std::filesystem::path& path, const struct stat& target, std::string_view what);

}  // namespace cubinet::cache
