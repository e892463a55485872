// OpenSSL configurations with which the default context of libcrypto lacks what we need.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/util/temp_folder.hpp"

namespace cubinet::test {

// Writes files for OPENSSL_CONF into `folder` and returns their paths.
inline std::vector<std::string> openssl_configurations(const std::filesystem::path& folder) {
  const std::string providers = "openssl_conf = init\n[init]\nproviders = providers\nalg_section = algorithms\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"fips.cnf", providers + "[providers]\nbase = base\n[base]\nactivate = 1\n"
                               "[algorithms]\ndefault_properties = fips=yes\n"},
      {"no_default.cnf", providers + "[providers]\nnull = null\n[null]\nactivate = 1\n[algorithms]\n"},
      {"absent_module.cnf", "config_diagnostics = 1\n" + providers +
                                "[providers]\nfips = fips\n[fips]\nmodule = /nowhere/fips.so\nactivate = 1\n"
                                "[algorithms]\ndefault_properties = fips=yes\n"},
      {"garbage.cnf", "config_diagnostics = 1\nopenssl_conf = [[[\n[\x01\xff"}};
  std::vector<std::string> files;
  for (const auto& [name, text] : texts) {
    write_file(folder / name, text);
    files.push_back((folder / name).string());
  }
  return files;
}

// Whether a test case of this executable passes in a separate process with that configuration.
inline bool passes_under(const std::string& configuration, const std::string& test_case) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "OPENSSL_CONF='" + configuration + "' '" + self + "' '" + test_case + "' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace cubinet::test
