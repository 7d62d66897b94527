// The point-to-point patterns as schedules, so that they take the same path as the collectives. An
// empty array still travels: its message is the latency floor.
#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

StepId send_any(ScheduleBuilder& b, int peer, const Range& source, StepId after = kNoStep) {
  if (source.count > 0) return b.send(peer, 0, source, {after});
  b.send_token(peer, 0, {after});
  return kNoStep;
}

StepId recv_any(ScheduleBuilder& b, int peer, const Range& dst) {
  return dst.count > 0 ? b.recv(peer, 0, dst) : b.recv_token(peer, 0);
}

}  // namespace

Schedule build_pingpong_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range in = ScheduleBuilder::in(0, q.count), out = ScheduleBuilder::out(0, q.count);
  if (q.rank == 0) {
    send_any(b, 1, in);
    recv_any(b, 1, out);
  } else if (q.rank == 1) {
    send_any(b, 0, out, recv_any(b, 0, out));
  }
  return b.finish();
}

Schedule build_stream_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  if (q.rank == 0) {
    send_any(b, 1, ScheduleBuilder::in(0, q.count));
    b.recv_token(1, 0);
  } else if (q.rank == 1) {
    b.send_token(0, 0, {recv_any(b, 0, ScheduleBuilder::out(0, q.count))});
  }
  return b.finish();
}

Schedule build_bidirectional_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  if (q.rank < 2) {
    send_any(b, 1 - q.rank, ScheduleBuilder::in(0, q.count));
    recv_any(b, 1 - q.rank, ScheduleBuilder::out(0, q.count));
  }
  return b.finish();
}

Schedule build_sendrecv_direct(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  send_any(b, wrap(q.rank + 1, q.size), ScheduleBuilder::in(0, q.count));
  recv_any(b, wrap(q.rank - 1, q.size), ScheduleBuilder::out(0, q.count));
  return b.finish();
}

}  // namespace plumbline
