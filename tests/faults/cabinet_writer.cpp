// cabinet_writer ROOT FIRST COUNT: opens or creates the cabinet, publishes COUNT entries, numbered from FIRST, and
// repairs the cabinet. Exit status: 0: success. 1: something failed; its message is on standard error. 3: an entry was
// not found.
#include <cstdlib>
#include <iostream>

#include "unit/cache/support.hpp"

namespace {

int failed(const cubinet::Error& error) {
  std::cerr << error.message << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cubinet;
  if (argc != 4) return 2;
  auto cabinet = cache::Cabinet::open(argv[1], true);
  if (!cabinet) return failed(cabinet.error());
  const int first = std::atoi(argv[2]);
  for (int number = first; number < first + std::atoi(argv[3]); ++number) {
    const auto published = cabinet->publish(test::key_of(number), test::object_of(number));
    if (!published) return failed(published.error());
    if (!cabinet->find(test::key_of(number), test::record_of(number))) return 3;
  }
  const auto repaired = cache::Maintenance(*cabinet).verify(true);
  return repaired ? 0 : failed(repaired.error());
}
