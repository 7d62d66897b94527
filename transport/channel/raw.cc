#include "transport/channel/raw.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

constexpr int kPollMs = 100;
constexpr int kTriesPerLook = 16;  // the clock is read only so often while spinning

// The most that one end does in one go, bytes.
struct Amounts {
  uint64_t sent = 0, received = 0;
};

// Moves bytes in both directions until the given amounts have gone and come, a call for each
// `chunk`: of the arrays where there are some, else through one scratch buffer.
class RawMover {
 public:
  // Scratch memory is touched before the clock starts; of what is not needed the pages would cost
  // more than a small array, and push a larger one out of the caches.
  RawMover(ByteStream& stream, size_t chunk, const WaitOptions& wait, Deadline deadline,
           const Amounts& most, RawArrays arrays = {})
      : stream_(stream),
        wait_(wait),
        deadline_(deadline),
        chunk_(chunk),
        arrays_(arrays),
        out_(arrays.from == nullptr ? std::min<uint64_t>(chunk, most.sent) : 0, std::byte{0x5a}),
        in_(arrays.to == nullptr ? std::min<uint64_t>(chunk, most.received) : 0, std::byte{0}) {}

  // What fails in the middle leaves no write behind that looks at the memory.
  Status move(uint64_t to_send, uint64_t to_receive) {
    size_t* const awaited = to_receive > 0 ? stream_.awaited() : nullptr;
    if (awaited != nullptr) ++*awaited;
    const Status moved = move_all(to_send, to_receive);
    if (awaited != nullptr) --*awaited;
    if (!moved) stream_.release();
    return moved;
  }

 private:
  Status move_all(uint64_t to_send, uint64_t to_receive) {
    int64_t idle_since = 0;
    for (int tries = 0; to_send > 0 || to_receive > 0;) {
      const Expected<bool> moved = once(to_send, to_receive);
      if (!moved) return fail(moved.error());
      if (*moved) {
        idle_since = 0;
        tries = 0;
        continue;
      }
      if (wait_.yield) ::sched_yield();
      if (++tries % kTriesPerLook != 0 && wait_.spin_ns > 0) continue;
      if (wait_.failed && wait_.failed()) {
        return fail(ErrorCode::kAborted, "the group of ranks has failed");
      }
      const int64_t now = monotonic_ns();
      if (now >= deadline_.at_ns()) {
        return fail(ErrorCode::kTimeout,
                    fmt::format("bare-socket measurement: {} bytes unsent, {} not received",
                                to_send, to_receive),
                    "is the other end measuring too?");
      }
      if (idle_since == 0) idle_since = now;
      if (now - idle_since >= wait_.spin_ns) sleep(to_send > 0, to_receive > 0);
    }
    return {};
  }

  Expected<bool> once(uint64_t& to_send, uint64_t& to_receive) {
    bool moved = false;
    if (to_send > 0) {
      // writev(2) takes the buffers as not const although it only reads them.
      auto* const from =
          arrays_.from == nullptr ? out_.data() : const_cast<std::byte*>(arrays_.from);
      const iovec part{from, std::min<uint64_t>(to_send, chunk_)};
      const Expected<size_t> done = stream_.write_some({&part, 1});
      if (!done) return fail(done.error());
      to_send -= *done;
      if (arrays_.from != nullptr) arrays_.from += *done;
      moved = *done > 0;
    }
    if (to_receive > 0) {
      const iovec part{arrays_.to == nullptr ? in_.data() : arrays_.to,
                       std::min<uint64_t>(to_receive, chunk_)};
      const Expected<size_t> done = stream_.read_some({&part, 1});
      if (!done) return fail(done.error());
      to_receive -= *done;
      if (arrays_.to != nullptr) arrays_.to += *done;
      moved = moved || *done > 0;
    }
    return moved;
  }

  void sleep(bool writes, bool reads) {
    if (stream_.arm(reads, writes)) return;
    poll_.clear();
    if (!stream_.add_to(poll_, reads, writes)) {
      ::sched_yield();
    } else {
      ::poll(poll_.data(), static_cast<nfds_t>(poll_.size()), deadline_.poll_timeout_ms(kPollMs));
    }
  }

  ByteStream& stream_;
  const WaitOptions& wait_;
  const Deadline deadline_;
  const size_t chunk_;
  RawArrays arrays_;  // what is left of them
  std::vector<std::byte> out_, in_;
  std::vector<pollfd> poll_;  // reused
};

Status check_sizes(uint64_t bytes, size_t chunk) {
  if (bytes > 0 && chunk > 0) return {};
  return fail(ErrorCode::kUsage, "bare-socket measurement: sizes must be at least one byte");
}

}  // namespace

Status raw_pingpong(ByteStream& stream, bool initiator, size_t bytes, int iterations,
                    const WaitOptions& wait, Deadline deadline,
                    std::vector<int64_t>* round_trips_ns) {
  if (Status status = check_sizes(bytes, bytes); !status) return status;
  RawMover mover(stream, bytes, wait, deadline, {bytes, bytes});
  for (int i = 0; i < iterations; ++i) {
    const int64_t start = monotonic_ns();
    Status status = mover.move(initiator ? bytes : 0, initiator ? 0 : bytes);
    if (status) status = mover.move(initiator ? 0 : bytes, initiator ? bytes : 0);
    if (!status) return status;
    if (initiator && round_trips_ns != nullptr) round_trips_ns->push_back(monotonic_ns() - start);
  }
  return {};
}

Status raw_exchange(ByteStream& stream, size_t bytes, int iterations, const WaitOptions& wait,
                    Deadline deadline, std::vector<int64_t>* times_ns) {
  if (Status status = check_sizes(bytes, bytes); !status) return status;
  RawMover mover(stream, bytes, wait, deadline, {bytes, bytes});
  for (int i = 0; i < iterations; ++i) {
    const int64_t start = monotonic_ns();
    if (Status status = mover.move(bytes, bytes); !status) return status;
    if (times_ns != nullptr) times_ns->push_back(monotonic_ns() - start);
  }
  return {};
}

Status raw_stream(ByteStream& stream, bool sender, uint64_t total, size_t chunk,
                  const WaitOptions& wait, Deadline deadline, int64_t* ns, RawArrays arrays) {
  if (Status status = check_sizes(total, chunk); !status) return status;
  // The confirmation that goes the other way is no part of them.
  RawMover mover(stream, chunk, wait, deadline, {sender ? total : 1, sender ? 1 : total},
                 {sender ? arrays.from : nullptr, sender ? nullptr : arrays.to});
  const int64_t start = monotonic_ns();
  Status status = mover.move(sender ? total : 0, sender ? 0 : total);
  if (!sender && ns != nullptr) *ns = monotonic_ns() - start;
  if (status) status = mover.move(sender ? 0 : 1, sender ? 1 : 0);
  if (sender && ns != nullptr) *ns = monotonic_ns() - start;
  return status;
}

Status raw_duplex(ByteStream& stream, uint64_t total, size_t chunk, const WaitOptions& wait,
                  Deadline deadline, int64_t* ns, RawArrays arrays) {
  if (Status status = check_sizes(total, chunk); !status) return status;
  RawMover mover(stream, chunk, wait, deadline, {total, total}, arrays);
  const int64_t start = monotonic_ns();
  const Status status = mover.move(total, total);
  if (ns != nullptr) *ns = monotonic_ns() - start;
  return status;
}

Status raw_copy(ByteStream& stream, std::span<const std::byte> theirs, std::byte* to, bool taken,
                const WaitOptions& wait, Deadline deadline, int64_t* ns) {
  RawMover mover(stream, 1, wait, deadline, {1, 1});
  const int64_t start = monotonic_ns();
  if (!theirs.empty()) std::memcpy(to, theirs.data(), theirs.size());
  const Status status = mover.move(theirs.empty() ? 0 : 1, taken ? 1 : 0);
  if (ns != nullptr) *ns = monotonic_ns() - start;
  return status;
}

}  // namespace plumbline
