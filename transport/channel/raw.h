// Roofs: what the very path of a channel gives without frames, matching or checksums. Run on the
// ByteStream of an idle channel, by both ends in lockstep and with the same sizes, so that tables
// can say what percent of the possible a collective attained. They wait as a Group does (spin, then
// poll). One thread, like every stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "transport/group.h"

namespace plumbline {

// `bytes` (at least 1) there and back, `iterations` times. The initiator appends one round-trip
// time per iteration (ns); half of it is the latency that ping-pong tables show. The other end
// passes null or gets nothing.
Status raw_pingpong(ByteStream& stream, bool initiator, size_t bytes, int iterations,
                    const WaitOptions& wait, Deadline deadline,
                    std::vector<int64_t>* round_trips_ns);

// `bytes` (at least 1) both ways at once, `iterations` times: an exchange ends when the own bytes
// were taken and the peer's have come, and the next begins at once. Both ends append one time per
// iteration (ns).
Status raw_exchange(ByteStream& stream, size_t bytes, int iterations, const WaitOptions& wait,
                    Deadline deadline, std::vector<int64_t>* times_ns);

// What a stream's bytes come from and go to: arrays of all its bytes, or, where null, one buffer of
// a chunk that stays in the cache.
struct RawArrays {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

// `total` bytes one way in writes and reads of at most `chunk` bytes, confirmed by one byte back.
// *ns = from the first write to the confirmation (sender), from the call to the last byte
// (receiver).
Status raw_stream(ByteStream& stream, bool sender, uint64_t total, size_t chunk,
                  const WaitOptions& wait, Deadline deadline, int64_t* ns, RawArrays arrays = {});

// `total` bytes in each direction at once, from one thread. *ns = until the own bytes were taken
// and all of the peer's have come; the larger value of the two ends is the honest one.
Status raw_duplex(ByteStream& stream, uint64_t total, size_t chunk, const WaitOptions& wait,
                  Deadline deadline, int64_t* ns, RawArrays arrays = {});

// Where an end reaches the other one's array by plain loads (PeerMemory::map): it copies `theirs`
// to `to` and says so with one byte. Empty = it copies nothing; `taken`: the other end copies ours.
// *ns = until both are through.
Status raw_copy(ByteStream& stream, std::span<const std::byte> theirs, std::byte* to, bool taken,
                const WaitOptions& wait, Deadline deadline, int64_t* ns);

}  // namespace plumbline
