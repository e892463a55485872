// cabinet_reader root|layer ROOT COUNT: looks up the entries 0 .. COUNT - 1 in the cabinet, which it opens as a root or
// as a layer. Exit status: 0: all entries were found. 1: one was not.
#include <cstdlib>
#include <string_view>

#include "unit/cache/support.hpp"

int main(int argc, char** argv) {
  using namespace cubinet;
  if (argc != 4) return 2;
  const bool layer = argv[1] == std::string_view("layer");
  const std::filesystem::path root = argv[2];
  const auto stack = layer ? cache::Cabinet::open_stack({}, false, {root}) : cache::Cabinet::open_stack(root, true, {});
  if (!stack) return 1;
  for (int number = 0; number < std::atoi(argv[3]); ++number) {
    const auto object = stack->cabinet.find(test::key_of(number), test::record_of(number));
    if (!object || !test::equal(*object, test::object_of(number))) return 1;
  }
  return 0;
}
