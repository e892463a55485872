// A library with a symbol that is not of the public interface: what exports.cmake has to find.
extern "C" __attribute__((visibility("default"))) int stray_symbol() { return 0; }
