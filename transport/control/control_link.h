// What ranks tell one another beside the data, and the connection that carries it. A message is 8
// bytes of header (kind, length), then the fields; decoders accept only whole, well-formed ones,
// and are pure functions, thread-safe. A connection takes and gives whole messages over a
// non-blocking socket: output waits in memory until the socket takes it, input is cut into
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "transport/control/poll_set.h"
#include "transport/group.h"

namespace plumbline {

enum class ControlKind : uint8_t {
  kHeartbeat = 1,  // the sender's status
  kQuery = 2,      // "what are you doing": id
  kAnswer = 3,     // id, status, last operations
  kAbort = 4,      // the group is broken: who found it, and the whole error
  kBye = 5,        // the sender leaves in order
  kConnect = 6,    // "dial your data connection to me now" (lazy mesh)
};

inline constexpr size_t kControlHeaderBytes = 8;
inline constexpr size_t kMaxControlBytes = 64 * 1024;  // of one message's fields

struct ControlHeader {
  ControlKind kind = ControlKind::kHeartbeat;
  size_t bytes = 0;  // of the fields that follow
};

struct ControlAnswer {
  uint64_t id = 0;
  RankStatus status;
  std::vector<FlightEntry> recorder;
};

struct ControlAbort {
  int origin = -1;  // rank that found the fault
  Error error;
};

// Whole messages, header included.
std::vector<std::byte> encode_heartbeat(const RankStatus& status);
std::vector<std::byte> encode_query(uint64_t id);
std::vector<std::byte> encode_answer(const ControlAnswer& answer);
// errno numbers differ between systems: the error's travels as text in `what`.
std::vector<std::byte> encode_abort(const ControlAbort& abort);
std::vector<std::byte> encode_plain(ControlKind kind);  // kBye, kConnect

// The fields alone; nullopt = not one of our messages.
std::optional<ControlHeader> decode_header(std::span<const std::byte, kControlHeaderBytes> bytes);
std::optional<RankStatus> decode_heartbeat(std::span<const std::byte> fields);
std::optional<uint64_t> decode_query(std::span<const std::byte> fields);
std::optional<ControlAnswer> decode_answer(std::span<const std::byte> fields);
std::optional<ControlAbort> decode_abort(std::span<const std::byte> fields);

// One control connection. One thread.
class ControlLink {
 public:
  // false = the fields make no sense; the link is given up.
  using Handler = std::function<bool(ControlKind kind, std::span<const std::byte> fields)>;

  explicit ControlLink(Fd fd) : fd_(std::move(fd)) {}

  void add_to(PollSet& poll) {
    poll_index_ = poll.add(fd_.get(), unsent() > 0 ? POLLIN | POLLOUT : POLLIN);
  }
  // Moves what can be moved; an error means that the connection is gone (kPeerLost) or that the
  // peer talks nonsense (kProtocol). Messages that came before the end are handed over first.
  Status step(const PollSet& poll, const Handler& handler);

  void send(std::span<const std::byte> message);
  size_t unsent() const { return output_.size() - sent_; }
  // No more output will come: tells the peer so once everything has left.
  void finish() { finishing_ = true; }

 private:
  Status flush();
  Status fill(const Handler& handler);
  Status cut(const Handler& handler);

  Fd fd_;
  size_t poll_index_ = PollSet::kNotAdded;
  std::vector<std::byte> output_, input_;
  size_t sent_ = 0;
  bool finishing_ = false, shut_ = false;
};

}  // namespace plumbline
