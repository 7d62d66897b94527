// Dissemination barrier: in round k everybody tells the rank 2^k further that it and all it has
// heard of have come; after ceil(log2 n) rounds everybody has heard of everybody (Hensgen, Finkel
// and Manber, "Two algorithms for barrier synchronization", 1988).
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_barrier_dissemination(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  std::vector<StepId> heard;
  uint32_t round = 0;
  for (int distance = 1; distance < q.size; distance *= 2, ++round) {
    b.send_token(wrap(q.rank + distance, q.size), round, heard);
    heard.push_back(b.recv_token(wrap(q.rank - distance, q.size), round));
  }
  return b.finish();
}

}  // namespace plumbline
