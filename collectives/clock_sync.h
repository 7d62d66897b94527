// The clocks of all ranks of a group against that of rank 0, over the group's own channels. Each
// rank asks the one that sync_order() names a few times; what it learns goes into a ClockModel. A
// rank that has learned answers others in rank 0's time and with its own bound, so bounds add up
// along the way to rank 0. Up to eight ranks all ask rank 0 itself, which gives the smallest bound;
// beyond, they form the tree of HCA3, log2(n) rounds in which the synchronised half serves the
// other (Hunold and Carpen-Amarie, Hierarchical clock synchronization in MPI, IEEE CLUSTER 2018).
// Where not all are connected, each asks the one before it on the shortest way to rank 0.
// One thread per rank; between operations only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/topology.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/stats/clock_model.h"
#include "transport/group.h"

namespace plumbline {

inline constexpr double kUnknownNs = 1e18;

// Reads a rank's clock, ns: monotonic_ns, or what a test puts in its place.
using RankClock = std::function<int64_t()>;

struct SyncPair {
  int child = 0, parent = 0;  // ranks: the child asks, the parent answers
};
// Who asks whom, in the order in which all ranks go through it; every parent was a child before, or
// is rank 0. Empty for one rank.
std::vector<SyncPair> sync_order(int size, const RankPairs& apart = {});

class ClockSync {
 public:
  // The resolution among the limits is measured.
  explicit ClockSync(Group& group, RankClock clock = monotonic_ns, const ClockLimits& limits = {},
                     const RankPairs& apart = {});

  // One round of exchanges with the parent; every rank must call it at the same time. Fails when a
  // peer does not answer within `timeout_ms` (the group is broken then), or when its clock makes no
  // sense three times in a row.
  Status round(int64_t timeout_ms);

  int64_t now() const { return clock_(); }
  // Something was learned, so that at() means something; always on rank 0.
  bool ready() const { return group_.rank() == 0 || model_.ready(); }
  // Rank 0's clock minus this rank's at a time of this rank's, with its bound. {0, 0} on rank 0;
  // an error of kUnknownNs before ready().
  ClockOffset at(int64_t own_ns) const;
  int64_t to_global(int64_t own_ns) const { return own_ns + at(own_ns).offset_ns; }
  int64_t to_own(int64_t global_ns) const;
  ClockDrift drift() const;
  int breaks() const { return model_.breaks(); }
  const ClockModel& model() const { return model_; }

 private:
  Status ask(int parent, Deadline deadline, std::vector<ClockExchange>& exchanges);
  Status serve(int child, Deadline deadline);
  Status learn(int parent, Deadline deadline);
  Status wait_for(Channel& channel, int peer, const std::function<bool()>& done, Deadline deadline);

  Group& group_;
  RankClock clock_;
  ClockLimits limits_;
  ClockModel model_;
  std::vector<SyncPair> order_;
  uint32_t sequence_ = 0;
  int unusable_ = 0;  // rounds in a row
};

}  // namespace plumbline
