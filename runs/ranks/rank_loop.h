// What a rank does between its start and its end: it takes requests of its coordinator, joins
// groups, measures cells, answers. The same over the pipes of a child process and over the
// connection of a rank that a launcher started.
#pragma once

#include <cstdint>
#include <optional>

#include "core/sha256.h"

namespace plumbline {

// Serves the coordinator on these descriptors (blocking) until it says that the run is over or its
// end closes; ends the process: status 0, or `lost_status` when the coordinator went away without a
// word. `secret`: the run token does not travel then, only a number from which both ends derive it.
// `lease_ms`: it also ends when nothing has come for so long; 0 = only with the connection.
[[noreturn]] void serve_rank(int from, int to, std::optional<Digest> secret, int lost_status,
                             int64_t lease_ms);

}  // namespace plumbline
