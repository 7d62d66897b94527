// What is wrong with what a receiver gets, or why it gets nothing, in words.
#include <fmt/format.h>

#include "core/units.h"
#include "transport/channel/receiver.h"

namespace plumbline {

tl::unexpected<Error> Receiver::no_room(const MessageTag& tag, size_t missing) {
  return fail(ErrorCode::kSystem,
              fmt::format("{}: the sink offers no window although {} bytes are missing",
                          message_name(tag), missing),
              "this is a defect of the program, not of the network");
}

Error Receiver::in_context(Error error) const {
  if (in_frame_) {
    error.what = fmt::format("rank {}, in the middle of {} ({} of {} bytes of a frame missing): {}",
                             peer_, message_name(frame_.tag), left_, frame_.length, error.what);
  } else if (staged() > 0) {
    error.what = fmt::format("rank {}, in the middle of a frame header: {}", peer_, error.what);
  } else if (table_.any_posted()) {
    error.what = fmt::format("rank {}, while rank {} waits for {}: {}", peer_, self_,
                             message_name(table_.oldest_posted().tag), error.what);
  } else {
    error.what =
        fmt::format("rank {}, while it takes what rank {} sends: {}", peer_, self_, error.what);
  }
  return error;
}

tl::unexpected<Error> Receiver::hashes_differ(const MessageTag& ours, const MessageTag& theirs) {
  mismatch_ = HashMismatch{ours.sequence, ours.op_hash, theirs.op_hash};
  return fail(Error{ErrorCode::kMismatch,
                    fmt::format("op {}: rank {} runs another operation under this number than rank "
                                "{} (fingerprints {:#010x} and {:#010x})",
                                ours.sequence, peer_, self_, theirs.op_hash, ours.op_hash),
                    0, "all ranks must call the same operations in the same order",
                    "collective.mismatch"});
}

tl::unexpected<Error> Receiver::lengths_differ(const MessageTag& tag, uint64_t theirs,
                                               uint64_t ours) const {
  return fail(Error{ErrorCode::kMismatch,
                    fmt::format("{}: rank {} sends {} bytes but rank {} expects {} bytes",
                                message_name(tag), peer_, theirs, self_, ours),
                    0, "all ranks must call an operation with the same sizes",
                    "collective.mismatch"});
}

std::string Receiver::obstacle() const {
  if (!held_) return {};
  const std::string frame =
      fmt::format("an unexpected frame of {} ({} of {}) from rank {}", message_name(frame_.tag),
                  format_bytes(frame_.length), format_bytes(frame_.total), peer_);
  if (!table_.any_posted()) {
    return fmt::format("{} waits in the stream: rank {} expects nothing from there", frame, self_);
  }
  return fmt::format("{} stands before the awaited bytes and the {} of park_bytes are full", frame,
                     format_bytes(table_.park_limit()));
}

}  // namespace plumbline
