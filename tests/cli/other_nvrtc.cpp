// An NVRTC that says it is of another version. All else it leaves to the build's own, with which it is linked: who
// looks a function up in a library finds those of the libraries that it needs, too.
extern "C" {

int nvrtcVersion(int* major, int* minor);

int nvrtcVersion(int* major, int* minor) {
  *major = OTHER_NVRTC_MAJOR;
  *minor = OTHER_NVRTC_MINOR;
  return 0;
}
}
