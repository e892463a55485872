// CUBINET_API marks what libcubinet.so exports. Everything else in it is hidden. For C and C++.
#pragma once

#define CUBINET_API __attribute__((visibility("default")))
