#include "warmup/campaign/local_device.hpp"

#include <fstream>
#include <string>

#include "catch.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

namespace {

// identity_from_module() with a device node for `folder`.
auto identity_from_module(const std::filesystem::path& folder) {
  return warmup::identity_from_module(folder, folder / "version");
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

void add_gpu(const std::filesystem::path& folder, const std::string& name, const std::string& model) {
  write(folder / "gpus" / name / "information",
        "Model: \t\t " + model + "\nIRQ:   \t\t 305\nGPU UUID: \t GPU-1\nVideo BIOS: \t 96.00\n");
}

constexpr const char* kVersion =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version:  gcc 12.2.0\n";

// driver_limit() for a kernel module of this version (null: none), if libcuda reports CUDA 12.4.
int limit(const char* module, int* asked) {
  const auto read = module != nullptr ? std::optional(warmup::Executed{"NVIDIA H200", module}) : std::nullopt;
  return warmup::driver_limit(read, [&] {
    ++*asked;
    return 12040;
  });
}

}  // namespace

TEST_CASE("The kernel module's files name the device and the driver if all devices have the same name") {
  const test::TempFolder folder;
  CHECK_FALSE(identity_from_module(folder.path()));
  write(folder.path() / "version", kVersion);
  CHECK_FALSE(identity_from_module(folder.path()));
  add_gpu(folder.path(), "0000:18:00.0", "NVIDIA H200");
  add_gpu(folder.path(), "0000:2a:00.0", "NVIDIA H200");
  const auto known = identity_from_module(folder.path());
  REQUIRE(known);
  CHECK(known->device == "NVIDIA H200");
  CHECK(known->driver == "580.159.04");
  CHECK_FALSE(warmup::identity_from_module(folder.path(), folder.path() / "no-node"));
  add_gpu(folder.path(), "0000:3a:00.0", "NVIDIA L4");
  CHECK_FALSE(identity_from_module(folder.path()));
}

TEST_CASE("Files in another format name no device") {
  const test::TempFolder folder;
  write(folder.path() / "version", "garbage\n");
  add_gpu(folder.path(), "0", "NVIDIA H200");
  CHECK_FALSE(identity_from_module(folder.path()));
  write(folder.path() / "version", kVersion);
  write(folder.path() / "gpus" / "0" / "information", "Modell: H200\n");
  CHECK_FALSE(identity_from_module(folder.path()));
}

TEST_CASE("A driver for CUDA 13 is recognized by its kernel module without opening libcuda") {
  int asked = 0;
  CHECK(limit("580.95.05", &asked) == 13000);
  CHECK(limit("590.44.01", &asked) == 13000);
  CHECK(asked == 0);
}

TEST_CASE("With an older kernel module libcuda is asked, because a newer libcuda can be installed") {
  for (const char* module : {"550.54.15", "579.99", "450.80.02", "unknown"}) {
    int asked = 0;
    CHECK(limit(module, &asked) == 12040);
    CHECK(asked == 1);
  }
}

TEST_CASE("A machine without a driver has no limit") {
  int asked = 0;
  CHECK(limit(nullptr, &asked) == 0);
  CHECK(asked == 0);
}
