#include "util/message_stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "catch.hpp"

using namespace cubinet;
using namespace std::chrono_literals;
using util::Received;

namespace {

// Both ends of a socket.
struct Ends {
  Ends() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) == 0); }
  ~Ends() {
    for (const int file : files) close(file);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  int files[2] = {-1, -1};
};

Received receive(const Ends& ends, std::string& message, std::chrono::milliseconds patience = 10s) {
  return util::receive_message(ends.files[1], message, std::chrono::steady_clock::now() + patience);
}

}  // namespace

TEST_CASE("Messages arrive complete and in order, including an empty one and one larger than the socket buffer") {
  const Ends ends;
  const std::string large(4'000'000, 'x');
  std::jthread sender([&] {
    for (const std::string& message : {std::string("one"), std::string(), large}) {
      if (!util::send_message(ends.files[0], message)) return;
    }
  });
  std::string message;
  for (const std::string& sent : {std::string("one"), std::string(), large}) {
    CHECK(receive(ends, message) == Received::message);
    CHECK((message == sent));
  }
}

TEST_CASE("A closed peer is reported, also within a message, and raises no signal") {
  Ends ends;
  REQUIRE(send(ends.files[0], "\x08\0\0\0half", 8, 0) == 8);
  shutdown(ends.files[0], SHUT_WR);
  std::string message;
  CHECK(receive(ends, message) == Received::ended);
  close(ends.files[1]);
  ends.files[1] = -1;
  CHECK_FALSE(util::send_message(ends.files[0], "nobody hears"));
}

TEST_CASE("A length above the maximum ends the stream without an allocation") {
  const Ends ends;
  REQUIRE(send(ends.files[0], "\xff\xff\xff\xff", 4, 0) == 4);
  std::string message;
  CHECK(receive(ends, message) == Received::ended);
  CHECK(message.capacity() < 1000);
}

TEST_CASE("A wait for a message ends at its deadline") {
  const Ends ends;
  std::string message;
  CHECK(receive(ends, message, 20ms) == Received::late);
}
