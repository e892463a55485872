// Tests of the command on machines with an OpenSSL configuration for other programs.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "unit/util/openssl_configurations.hpp"

using namespace cubinet::cli;

TEST_CASE("Compiling, signing and verifying do not depend on the machine's OpenSSL configuration") {
  Sandbox sandbox;
  const std::string signing = sandbox.file("private.pem",
                                           "-----BEGIN PRIVATE KEY-----\n"
                                           "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                           "-----END PRIVATE KEY-----\n");
  const std::string verify = sandbox.file("public.pem",
                                          "-----BEGIN PUBLIC KEY-----\n"
                                          "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                                          "-----END PUBLIC KEY-----\n");
  const auto works = [&](const Arguments& arguments) {
    const Outcome outcome = sandbox.run(arguments);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  };
  for (const std::string& configuration : cubinet::test::openssl_configurations(sandbox.folder())) {
    INFO(configuration);
    sandbox.environment["OPENSSL_CONF"] = configuration;
    const std::string bundle = configuration + ".cubinet";
    works({"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--no-generic", "--quiet"});
    works({"cache", "verify"});
    works({"cache", "export", bundle, "--sign", signing});
    works({"cache", "import", bundle, "--verify-key", verify, "--require-signature", "--cache", "other"});
  }
}

TEST_CASE("The machine's OpenSSL configuration is not even opened") {
#ifdef CUBINET_SHARED_CRYPTO
  CUBINET_SKIP("a libcrypto that is shared reads it for the process");
#endif
  Sandbox sandbox;
  REQUIRE(mkfifo(sandbox.path("pipe").c_str(), 0600) == 0);  // opening it would block for ever
  sandbox.environment["OPENSSL_CONF"] = sandbox.path("pipe");
  CHECK(sandbox.run({"plan", "--shape", "128,128,2"}).exit_code == 0);
}
