#include "collectives/algorithms/radix.h"

#include <algorithm>

namespace plumbline {

StepId fold_gathered(ScheduleBuilder& b, const Fold& f) {
  std::vector<Range> parts;
  std::vector<StepId> got;
  for (const int peer : f.peers) {
    const bool own = peer == f.own;
    parts.push_back(own ? f.have : b.scratch(f.have.count));
    got.push_back(own ? kNoStep : b.recv(peer, f.message, parts.back()));
  }
  got.insert(got.end(), f.had.begin(), f.had.end());
  got.insert(got.end(), f.free.begin(), f.free.end());
  return b.reduce_all(parts, f.sum, f.last, got);
}

StepId fold_from_wire(ScheduleBuilder& b, const Fold& f) {
  const std::vector<int>& peers = f.peers;
  std::vector<StepId> before = f.free;
  before.insert(before.end(), f.had.begin(), f.had.end());
  StepId reduced = kNoStep;
  size_t next = 2;
  if (peers[0] == f.own || peers[1] == f.own) {
    const int other = peers[0] == f.own ? peers[1] : peers[0];
    reduced = b.recv_reduce(other, f.message, f.have, f.sum, f.last && peers.size() == 2, before);
  } else {
    reduced = b.recv(peers[0], f.message, f.sum, f.free);
    next = 1;
  }
  for (size_t i = next; i < peers.size(); ++i) {
    const bool last = f.last && i + 1 == peers.size();
    if (peers[i] != f.own) {
      reduced = b.recv_reduce(peers[i], f.message, f.sum, f.sum, last, {reduced});
      continue;
    }
    std::vector<StepId> after = f.had;
    after.push_back(reduced);
    reduced = b.reduce(f.sum, f.have, f.sum, last, after);
  }
  return reduced;
}

}  // namespace plumbline
