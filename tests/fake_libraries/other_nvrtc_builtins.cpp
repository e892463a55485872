// The builtins library that an NVRTC of this version must have beside it; the build's own are used.
