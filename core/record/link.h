// What a cell of kind "link" measures between two ranks, and what it found: round trips, bytes per
// second with a series over time, datagrams lost and reordered. One LinkResult per ordered pair
// (from -> to) and cell; all of them together are the N x N matrix of a record. Plain values and
// one table; JSON refuses values that no measurement can have, because records come from others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/field.h"

namespace plumbline {

// Which ordered pairs are measured at the same time.
enum class LinkRounds {
  kOneWay,    // rounds of disjoint pairs, each pair in one direction
  kBothWays,  // rounds of disjoint pairs, each pair in both directions at once
  kIncast,    // all others to one receiver, each rank in turn
  kAllPairs,  // everybody to everybody at once
};

struct LinkMeasureRow {
  const char* name;
  LinkRounds rounds;
  const char* help;
  bool verbs = false;  // of queue pairs, which only some transports have; never measured unasked
  bool sized = false;  // the cell's bytes are those of a message
};
std::span<const LinkMeasureRow> link_measure_table();
// Those of TCP and UDP: what is measured where nobody names any.
std::vector<std::string> usual_link_measures();
const LinkMeasureRow* find_link_measure(const std::string& name);  // nullptr = unknown

// Round trips in ns. Quantiles are absent below the samples that they need (core/stats/stats.h).
struct LinkRtt {
  uint64_t n = 0;
  std::optional<double> min, p50, p99, max;
};

// One connection, as the receiver saw it.
struct LinkStream {
  uint64_t bytes = 0;                   // that arrived within the measured time
  std::optional<uint64_t> retransmits;  // segments, over the connection's life; absent = not told
  std::vector<uint64_t> series;         // bytes in each interval from the first byte on
};

struct LinkUdp {
  uint64_t sent = 0, received = 0;  // datagrams; received: each sequence number once
  uint64_t duplicates = 0;
  uint64_t reordered = 0;           // RFC 4737, section 3: came after a later one
  std::optional<uint64_t> dropped;  // by the receiving socket's own full buffer; absent = not told
  std::optional<double> jitter_ns;  // RFC 3550, section 6.4.1
  double sent_Bps = 0;              // payload, as really sent
  // Datagrams that neither arrived nor were dropped by the receiving socket: lost on the way.
  uint64_t lost() const;
  // Of the datagrams sent, which must be some.
  double share(uint64_t count) const {
    return static_cast<double>(count) / static_cast<double>(sent);
  }
};

// Where an ordered pair stands in a matrix of all ranks, row after row.
inline size_t pair_index(int ranks, int from, int to) {
  return static_cast<size_t>(from) * static_cast<size_t>(ranks) + static_cast<size_t>(to);
}

// "mesh": every pair is direct. "ring": every host has two direct neighbours and all hang together.
// "star": one host is direct to all others and these to it only. "other": anything else. `direct`
// is symmetric, [a * ranks + b]. Three hosts that are all direct are a mesh; two are a "mesh" too,
// or "other" when not direct.
std::string classify_topology(const std::vector<bool>& direct, int ranks);

struct LinkResult {
  int from = 0, to = 0;  // ranks
  std::string from_host, to_host;
  std::string local, remote;               // addresses used, without ports
  bool direct = false;                     // both on one subnet by their prefixes
  std::string skipped;                     // why this pair was not to be measured; empty = it was
  std::string error, cause;                // why it could not be measured
  std::optional<LinkRtt> rtt, loaded_rtt;  // loaded: while a stream ran from -> to
  std::optional<double> rate_Bps;          // from -> to, as the receiver counted; all streams
  int64_t elapsed_ns = 0;                  // that rate_Bps is taken over, from the first byte on
  int64_t interval_ns = 0;                 // of the series
  std::vector<LinkStream> streams;
  std::optional<LinkUdp> udp;
  std::optional<double> messages_per_s;  // of bare verbs
  std::string queue_pair;                // of bare verbs: its type and this end's device, "RC rxe0"
  std::optional<double> speed_bps;       // of the slower end's link, bits/s; absent = not known

  bool measured() const { return skipped.empty() && error.empty(); }
};

PLUMBLINE_FIELDS(LinkRtt);
PLUMBLINE_FIELDS(LinkStream);
PLUMBLINE_CHECKED_FIELDS(LinkUdp);
PLUMBLINE_CHECKED_FIELDS(LinkResult);

}  // namespace plumbline
