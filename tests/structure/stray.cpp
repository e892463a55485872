// A library with a symbol that is not of the public interface, which exports.cmake has to find, and with one of the
// shared libstdc++, which needed.cmake has to find.
#include <locale>

extern "C" __attribute__((visibility("default"))) int stray_symbol() {
  return static_cast<int>(std::locale().name().size());
}
