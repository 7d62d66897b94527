// Two ranks exchange their whole arrays and both compute rank 0 (op) rank 1: one message each way,
// identical bits. Twice the bytes of the ring, half its messages.
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_allreduce_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range theirs = b.scratch(q.count);
  const int peer = 1 - q.rank;
  const StepId sent = b.send(peer, 0, mine);
  const StepId got = b.recv(peer, 0, theirs);
  const bool first = q.rank == 0;
  // In place the result overwrites what is being sent.
  b.reduce(first ? mine : theirs, first ? theirs : mine, ScheduleBuilder::out(0, q.count), true,
           {got, q.in_place ? sent : kNoStep});
  return b.finish();
}

}  // namespace plumbline
