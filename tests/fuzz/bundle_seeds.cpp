// bundle_seeds FOLDER: writes the first corpus for fuzzing.
#include <filesystem>
#include <iostream>

#include "unit/cache/bundle_builder.hpp"

int main(int argc, char** argv) {
  using namespace cubinet;
  if (argc != 2) {
    std::cerr << "usage: bundle_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  test::write_file(folder / "empty", test::written_bundle({}));
  test::write_file(folder / "one", test::written_bundle({0}));
  test::write_file(folder / "three", test::written_bundle({0, 1, 2}));
  test::write_file(folder / "signed", test::written_bundle({0, 1}, test::Keys().signing()));
  return 0;
}
