#include "util/message_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace cubinet::util {
namespace {

bool send_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

Received receive_all(int socket, char* bytes, std::size_t count, Moment deadline) {
  while (count > 0) {
    if (!wait_until_readable(socket, deadline)) return Received::late;
    const ssize_t received = recv(socket, bytes, count, MSG_DONTWAIT);
    if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (received <= 0) return Received::ended;
    bytes += received;
    count -= static_cast<std::size_t>(received);
  }
  return Received::message;
}

}  // namespace

bool send_message(int socket, std::string_view message) {
  if (message.size() > most_message_bytes) return false;
  const auto length = static_cast<std::uint32_t>(message.size());
  char head[sizeof length];
  std::memcpy(head, &length, sizeof length);
  return send_all(socket, head, sizeof head) && send_all(socket, message.data(), message.size());
}

bool wait_until_readable(int file, Moment deadline) {
  for (;;) {
    pollfd entry{file, POLLIN, 0};
    const int patience = poll_patience(deadline);
    if (poll(&entry, 1, patience) > 0) return true;
    if (patience == 0) return false;
  }
}

Received receive_message(int socket, std::string& message, Moment deadline) {
  std::uint32_t length = 0;
  char head[sizeof length];
  if (const auto received = receive_all(socket, head, sizeof head, deadline); received != Received::message)
    return received;
  std::memcpy(&length, head, sizeof length);
  if (length > most_message_bytes) return Received::ended;
  message.resize(length);
  return receive_all(socket, message.data(), length, deadline);
}

int poll_patience(Moment deadline) {
  const std::int64_t left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace cubinet::util
