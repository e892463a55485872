// Whole messages over a stream socket between two processes of one machine: a length of four bytes in the machine's
// order, and so many bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet::util {

// No message is longer: a longer one is not sent, and a length beyond this ends a conversation before it is believed.
constexpr std::uint32_t most_message_bytes = 64U << 20;

// False when the other side has ended, or takes nothing for as long as the socket waits (SO_SNDTIMEO). Raises no
// SIGPIPE.
bool send_message(int socket, std::string_view message);

// Whether the descriptor has something to read, its end included, before `deadline`, whatever signals come meanwhile.
bool wait_until_readable(int file, std::chrono::steady_clock::time_point deadline);

enum class Received { message, ended, late };

// Waits for the next message, until `deadline`. `ended`: the other side closed the socket, or said what is no message.
// `message` is undefined unless there is one.
Received receive_message(int socket, std::string& message, std::chrono::steady_clock::time_point deadline);

// What poll(2) takes for a wait until `deadline`: at most a minute of it.
int poll_patience(std::chrono::steady_clock::time_point deadline);

}  // namespace cubinet::util
