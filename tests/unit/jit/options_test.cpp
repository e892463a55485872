#include <cstdlib>
#include <map>
#include <string>

#include "catch.hpp"
#include "cubinet/cubinet.hpp"

using namespace cubinet;

namespace {

// Sets these variables and unsets all others that Cubinet reads. The destructor restores the environment.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& wanted) {
    for (const char* name : {"CUBINET_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "CUDA_HOME", "CUBINET_NVRTC_DIR",
                             "CUBINET_CACHE_PATH", "CUBINET_BUNDLE_KEY"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      const auto found = wanted.find(name);
      found == wanted.end() ? unsetenv(name) : setenv(name, found->second.c_str(), 1);
      names_.emplace_back(name);
    }
  }
  ~Environment() {
    for (const std::string& name : names_) {
      const auto found = before_.find(name);
      found == before_.end() ? unsetenv(name.c_str()) : setenv(name.c_str(), found->second.c_str(), 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::string> before_;
  std::vector<std::string> names_;
};

std::string root_with(const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  return ServiceOptions::from_environment().cache_root;
}

}  // namespace

TEST_CASE("The cabinet's folder is that of the first variable that is set") {
  CHECK(root_with({{"CUBINET_CACHE_DIR", "/c"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}) == "/c");
  CHECK(root_with({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}) == "/x/cubinet");
  CHECK(root_with({{"CUBINET_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", "/h"}}) == "/h/.cache/cubinet");
  CHECK(root_with({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}}) == "/h/.cache/cubinet");
}

TEST_CASE("Without a home folder there is no default cabinet") {
  CHECK(root_with({}).empty());
  CHECK(root_with({{"HOME", "relative"}}).empty());
  CHECK(root_with({{"XDG_CACHE_HOME", "."}, {"HOME", "."}}).empty());
}

TEST_CASE("Layers are read as a list separated by colons, in order") {
  const auto layers_of = [](const std::string& list) {
    const Environment environment({{"CUBINET_CACHE_PATH", list}});
    return ServiceOptions::from_environment().layers;
  };
  CHECK(layers_of("").empty());
  CHECK(layers_of("/a") == std::vector<std::string>{"/a"});
  CHECK(layers_of("/a:/b c::/d:") == std::vector<std::string>{"/a", "/b c", "/d"});
}

TEST_CASE("The key that bundles must be signed with is set only by its own variable") {
  const auto key_of = [](const std::map<std::string, std::string>& variables) {
    const Environment environment(variables);
    return ServiceOptions::from_environment().bundle_key;
  };
  CHECK(key_of({{"HOME", "/h"}}).empty());
  CHECK(key_of({{"CUBINET_BUNDLE_KEY", "/k/public.pem"}}) == "/k/public.pem");
}

TEST_CASE("CUBINET_NVRTC_DIR is searched before the toolkit") {
  const Environment environment({{"CUDA_HOME", "/toolkit"}, {"CUBINET_NVRTC_DIR", "/nvrtc"}});
  CHECK(ServiceOptions::from_environment().nvrtc_folders == std::vector<std::string>{"/nvrtc", "/toolkit"});
}
