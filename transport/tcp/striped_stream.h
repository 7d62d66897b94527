// One stream of bytes over several TCP connections: for a pair of hosts that has more than one
// cable, or a path on which a single connection does not fill the link. The bytes are cut into
// blocks of one size, which go over the connections in turn, so both ends know where every byte is
// without a word about it, and frames and matching see one stream. A message inside one block is
// one write on one connection. Reading keeps the order: what has come over the next connection
// waits in its socket until the block before is complete, so the slowest connection sets the pace
// of all. Where one fails, so does the stream, with the error of that connection.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transport/channel/byte_stream.h"

namespace plumbline {

// Large enough that a call moves much, small enough that a message of a quarter of a MiB uses two
// cables alike.
inline constexpr size_t kStripeBytes = 64 * 1024;

// `parts` (one or more) in the same order on both ends; of those that poll(2) tells of, without
// terms to come to and calls to ask for (TCP).
std::unique_ptr<ByteStream> make_striped_stream(std::vector<std::unique_ptr<ByteStream>> parts,
                                                size_t block_bytes = kStripeBytes);

// Bytes and segments of all, one or more; of what is no quantity (addresses, MSS), the first one's.
// `parts`: each connection by itself.
StreamStats sum_of(const std::vector<StreamStats>& streams);

// The same over an even number of parts, of which the first half is for one direction and the
// second for the other: `out_first` on one end, not on the other.
std::unique_ptr<ByteStream> make_one_way_stream(std::vector<std::unique_ptr<ByteStream>> parts,
                                                bool out_first, size_t block_bytes = kStripeBytes);

}  // namespace plumbline
