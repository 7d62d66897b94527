// What a link can do at best: the table behind `submit --link-kind` and the check of `verify` that
// no row is faster than its link. Rates are those of the medium, headers and pauses included, so
// that no payload can exceed them; latencies are the least that the two ends of such a link have
// ever been able to do, with room to spare. A row that breaks either is wrong, not fast. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

struct LinkKindRow {
  const char* name;
  const char* help;
  uint64_t rate_bps;        // in one direction of one cable; 0 = only --link-speed can tell
  uint64_t min_one_way_ns;  // from one program to the other, smallest message
  const char* source;
  bool network = true;  // false: nothing leaves the machine
};

const std::vector<LinkKindRow>& link_kind_table();
const LinkKindRow* find_link_kind(const std::string& name);

// Ranks leave a barrier one after the other. Where the last rank's own time does not bound the
// operation, so much of it may hide there.
inline constexpr uint64_t kStartSkewNs = 200'000;

// How often the smallest message must cross the link, one after the other, within the time of the
// slowest rank over the stated link; 0 where a rank that starts late can hide it (rooted operations
// without a common start). `op` as in the op table, `sync` as in a cell.
int crossings_of(const std::string& op, const std::string& sync);

}  // namespace plumbline
