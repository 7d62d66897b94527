// Ranks as threads of one process, bytes through rings in memory: for tests, and as the baseline
// without any network.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/group.h"

namespace plumbline {

// Puts something between a channel and its stream (fault injection, counting); null = nothing.
using StreamWrapper =
    std::function<std::unique_ptr<ByteStream>(int self, int peer, std::unique_ptr<ByteStream>)>;

// Groups for ranks 0 .. size-1 that talk to one another; hand each to its own thread. Rings hold
// `ring_bytes` per direction (small rings exercise the partial-progress paths).
std::vector<std::unique_ptr<Group>> make_memory_groups(int size,
                                                       const ChannelOptions& channel_options,
                                                       const WaitOptions& wait_options = {0, true},
                                                       size_t ring_bytes = 1 << 20,
                                                       const StreamWrapper& wrap = nullptr);

}  // namespace plumbline
