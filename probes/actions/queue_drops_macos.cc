#include "probes/actions/queue_drops.h"

namespace plumbline {

// No public interface tells; the interface's own counters are all there is.
std::map<int, int64_t> read_queue_drops(const AgentCall&) { return {}; }

}  // namespace plumbline
