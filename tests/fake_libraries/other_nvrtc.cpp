// An NVRTC that reports another version. It is linked with the build's own NVRTC, so that a look-up in this library
// finds all other functions there.
extern "C" {

int nvrtcVersion(int* major, int* minor);

int nvrtcVersion(int* major, int* minor) {
  *major = OTHER_NVRTC_MAJOR;
  *minor = OTHER_NVRTC_MINOR;
  return 0;
}
}
