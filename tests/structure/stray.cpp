// A library with a symbol that is not part of the public interface, which exports.cmake must find, and with a symbol of
// the shared libstdc++, which needed.cmake must find.
#include <locale>

extern "C" __attribute__((visibility("default"))) int stray_symbol() {
  return static_cast<int>(std::locale().name().size());
}
