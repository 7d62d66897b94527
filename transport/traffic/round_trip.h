// Small messages there and back over one connection, one after the other: both ends. Thread-safe
// functions; a connection belongs to one thread.
#pragma once

#include <string>

#include "transport/traffic/patience.h"

namespace plumbline {

// Sends the message and waits until as many bytes are back; ns. `message` is what came.
Expected<int64_t> round_trip(int fd, std::string& message, const Patience& patience);

// First byte of a message that is not to be answered, where the answering end heeds it.
constexpr char kLastMessage = '\1';

struct EchoSettings {
  size_t bytes = 64;               // of a message
  int64_t silence_ns = INT64_MAX;  // longest time without a message
  bool heeds_last = false;
  std::string early = {};  // what has been read of it before
};
// Returns every message until the last one, or until the other end ends: without a message that
// says so, that is kPeerLost.
Status echo_messages(int fd, const EchoSettings& settings, const Patience& patience);

}  // namespace plumbline
