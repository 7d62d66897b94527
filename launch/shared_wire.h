// Ranks that are threads of one process, over that process's one pair of pipes: in both directions
// every line begins with the rank's number and a blank ("3 {...}"). The coordinator holds one wire
// per rank; in the process each rank holds a descriptor of its own, as if it were alone.
#pragma once

#include <memory>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "launch/process.h"
#include "launch/rank_wire.h"

namespace plumbline {

// The wires of ranks 0 .. count-1, which share the process; used by one thread.
std::vector<std::unique_ptr<RankWire>> share_process(std::unique_ptr<Process> process, int count);

// The process's side: one descriptor per rank for both directions, which its rank reads until it
// ends, and then leaves.
class SharedEnd {
 public:
  // Between the pipes `from`, `to` and `count` ranks.
  static Expected<std::unique_ptr<SharedEnd>> open(int from, int to, int count);
  int rank_fd(int rank) const { return ranks_[static_cast<size_t>(rank)].get(); }
  // Of a rank that reads and says nothing more; from its thread.
  void leave(int rank) const;
  // Carries lines both ways until `from` ends or says what is not a line for one of the ranks; then
  // the ranks' lines end, and what they still say is carried until all have left.
  void carry() const;

 private:
  SharedEnd(int from, int to) : from_(from), to_(to) {}
  void carry_requests() const;
  void carry_answers() const;
  void hang_up(int how) const;
  const int from_, to_;
  std::vector<Fd> ranks_, ours_;  // the two ends of each rank's connection
};

}  // namespace plumbline
