// What ranks tell one another beside the data: 8 bytes of header (kind, length), then the fields.
// Decoders accept only whole, well-formed messages. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
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

}  // namespace plumbline
