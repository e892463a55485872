// cabinet_writer ROOT FIRST COUNT: opens (or makes) the cabinet and publishes COUNT entries, numbered from FIRST.
// 0: all of them succeeded. 1: one failed, with its message on standard error. 3: one that succeeded is not found.
#include <cstdlib>
#include <iostream>

#include "unit/cache/support.hpp"

int main(int argc, char** argv) {
  using namespace cubinet;
  if (argc != 4) return 2;
  auto cabinet = cache::Cabinet::open(argv[1], true);
  if (!cabinet) {
    std::cerr << cabinet.error().message << '\n';
    return 1;
  }
  const int first = std::atoi(argv[2]);
  for (int number = first; number < first + std::atoi(argv[3]); ++number) {
    if (const auto published = cabinet->publish(test::key_of(number), test::object_of(number)); !published) {
      std::cerr << published.error().message << '\n';
      return 1;
    }
    if (!cabinet->find(test::key_of(number), test::record_of(number))) return 3;
  }
  return 0;
}
