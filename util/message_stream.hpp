// Messages over a stream socket between two processes of one machine. Format: a length of four bytes in native byte
// order, then that many bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/clock.hpp"

namespace cubinet::util {

// The largest message. A longer one is not sent, and a received length above this counts as the end of the stream.
constexpr std::uint32_t most_message_bytes = 64U << 20;

// Returns false if the other side has ended, or does not read for as long as the socket waits (SO_SNDTIMEO). Raises no
// SIGPIPE.
bool send_message(int socket, std::string_view message);

// Waits until the descriptor is readable (end of file included) and returns true, or returns false at `deadline`.
// Signals do not end the wait.
bool wait_until_readable(int file, Moment deadline);

enum class Received { message, ended, late };

// Waits for the next message until `deadline`. `ended`: the other side closed the socket, or sent no valid message.
// `message` is unspecified unless the result is Received::message.
Received receive_message(int socket, std::string& message, Moment deadline);

// The timeout that poll(2) takes to wait until `deadline`, in milliseconds, at most a minute.
int poll_patience(Moment deadline);

}  // namespace cubinet::util
