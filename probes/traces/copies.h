// A capture on all interfaces sees one packet as often as it passes an interface: in at a bridge's
// port, in at the bridge, out at another port. Such copies are no retransmissions. A copy is the
// same packet by all that its sender chose (addresses, ports, IP id, numbers, flags, lengths, TCP
// time stamp), seen a short time later at a place where this packet was not seen yet. Constant
// memory; belongs to one analysis.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "probes/traces/packet.h"

namespace plumbline {

class Copies {
 public:
  // True when the packet was seen before, elsewhere. Remembers it otherwise.
  bool is_copy(const Packet& packet);

 private:
  struct Sighting {
    uint64_t signature = 0;
    int64_t at_ns = 0;
    int places = 0;
    std::array<Place, 6> place;
  };
  Sighting& entry_for(uint64_t signature);

  std::vector<Sighting> table_;  // by signature; a newer packet replaces an older one
};

}  // namespace plumbline
