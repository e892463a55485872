// CUBINET_API marks what libcubinet.so shows; everything else in it is hidden. C and C++.
#pragma once

#define CUBINET_API __attribute__((visibility("default")))
