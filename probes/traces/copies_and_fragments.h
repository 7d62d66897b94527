// Captured packets that are none of their own: further sightings of one packet, and the fragments
// of one datagram. Bounded memory; both belong to one analysis.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "probes/traces/packet.h"

namespace plumbline {

// A capture on all interfaces sees one packet as often as it passes an interface: in at a bridge's
// port, in at the bridge, out at another port. Such copies are no retransmissions. A copy is the
// same packet by all that its sender chose (addresses, ports, IP id, numbers, flags, lengths, TCP
// time stamp), seen a short time later at a place where this packet was not seen yet. Constant
// memory.
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

// IP fragments of one datagram, waited for until all are there (RFC 791, RFC 8200): only lengths
// and the transport header are kept. Datagrams that stay incomplete are counted. Bounded: a fixed
// number of datagrams, the oldest is given up.
class Fragments {
 public:
  // The whole datagram's packet when this fragment was its last missing one; its `at_ns` and place
  // are those of that fragment.
  std::optional<Packet> add(const Packet& fragment);
  int64_t incomplete() const { return given_up_ + static_cast<int64_t>(waiting_.size()); }

 private:
  struct Datagram {
    Packet first;  // addresses, protocol, place; of any fragment until the first one came
    std::array<uint8_t, 128> header{};
    size_t header_size = 0;
    bool has_first = false;
    std::optional<uint32_t> end;                        // of the last fragment
    std::vector<std::pair<uint32_t, uint32_t>> ranges;  // ascending, disjoint
  };
  static void note_range(Datagram& datagram, uint32_t begin, uint32_t end);

  std::list<Datagram> waiting_;  // newest first
  int64_t given_up_ = 0;
};

}  // namespace plumbline
