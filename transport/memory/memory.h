// Ranks as threads of one process, bytes through rings in memory: the baseline without any network,
// and for tests. What joins the threads is shared by every transport that cannot leave a process:
// such a row brings a function that makes the two ends of a pair's stream, and nothing else.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "transport/channel/byte_stream.h"
#include "transport/transports.h"

namespace plumbline {

// Puts something between a channel and its stream (fault injection, counting); null = nothing.
using StreamWrapper =
    std::function<std::unique_ptr<ByteStream>(int self, int peer, std::unique_ptr<ByteStream>)>;
// The ends of one stream that rank `a` and rank `b` of `size` hold.
using StreamEnds = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;
using StreamMaker = std::function<Expected<StreamEnds>(int a, int b, int size)>;

// Groups for ranks 0 .. size-1 that talk to one another; hand each to its own thread. Rings hold
// `ring_bytes` per direction (small rings exercise the partial-progress paths); 0 = as
// claim_memory.
std::vector<std::unique_ptr<Group>> make_memory_groups(int size,
                                                       const ChannelOptions& channel_options,
                                                       const WaitOptions& wait_options = {0, true},
                                                       size_t ring_bytes = 0,
                                                       const StreamWrapper& wrap = nullptr);

struct ThreadTable;

// Where ranks that are threads of one process find one another. Whoever starts the threads makes
// one and hands it to them all. Thread-safe.
class ThreadMeeting {
 public:
  // The table of this group (run token and id), laid by the first of its ranks. An Error for a rank
  // that is there already or that was told other things than the first one.
  Expected<std::shared_ptr<ThreadTable>> sit_down(const GroupSpec& spec, const StreamMaker& make);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ThreadTable>> tables_;  // by token and id
};

// The parts of a row whose ranks are threads of one process. `name` is the row's.
std::string threads_unavailable(const char* name, bool ranks_in_process);
std::string no_site(const RankSite& site);
Expected<std::unique_ptr<TransportClaim>> claim_among_threads(const ClaimSpec& spec,
                                                              const char* name, StreamMaker make);

Expected<std::unique_ptr<TransportClaim>> claim_memory(const ClaimSpec& spec);

// A pair of byte streams through two rings in shared memory, one per direction. Each end belongs to
// one thread; the rings need no lock. Nothing wakes: waiting for such a stream means trying
// again.
//
// The ends that rank `a` and rank `b` hold; the numbers only name them in statistics and errors.
// `ring_bytes` of at least 1 per direction.
std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_streams(
    int a, int b, size_t ring_bytes);

}  // namespace plumbline
