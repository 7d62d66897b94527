// A pair of byte streams through two rings in shared memory, one per direction. Each end belongs to
// one thread; the rings need no lock. poll_fd() is -1: waiting for such a stream means trying
// again.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "transport/channel/byte_stream.h"

namespace plumbline {

// The ends that rank `a` and rank `b` hold; the numbers only name them in statistics and errors.
// `ring_bytes` of at least 1 per direction.
std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_streams(
    int a, int b, size_t ring_bytes);

}  // namespace plumbline
