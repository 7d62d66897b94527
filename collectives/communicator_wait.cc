// How a Communicator waits: for one operation, or for all parts of a list; and how the groups that
// are related by split move along while this rank waits in one of them (communicator_family.h).
#include <sched.h>
#include <time.h>

#include "collectives/communicator_impl.h"
#include "core/clock.h"

namespace plumbline {
namespace {

constexpr int64_t kTriesNs = 2 * kMillisecond;  // as in Group: then tries are spaced out
constexpr int64_t kShortNapNs = 50'000;
constexpr int64_t kIdleNs = 100 * kMillisecond;

}  // namespace

Status CommunicatorImpl::wait(uint64_t ticket, Deadline deadline) {
  const Entry entry(*this);
  const Status status = wait_for(ticket, deadline);
  return status ? status : fail(in_words(status.error()));
}

Status CommunicatorImpl::wait_for(uint64_t ticket, Deadline deadline) {
  const auto list = lists_.find(ticket);
  if (list == lists_.end()) return wait_alone(ticket, deadline);
  for (const RunningList::Part& part : list->second.parts) {
    const Status status = wait_alone(part.ticket, deadline);
    if (!status) return status;
    end_parts(list->second);
  }
  lists_.erase(list);
  return {};
}

Status CommunicatorImpl::wait_alone(uint64_t ticket, Deadline deadline) {
  const auto found = running_.find(ticket);
  if (found == running_.end()) return {};
  Executor::Prepared& prepared = *found->second.prepared;
  const bool shares = family_ && !Executor::done(prepared) && family_->others_wait(*this);
  const Status status =
      shares ? wait_among_family(prepared, deadline) : executor_->wait(prepared, deadline);
  if (status) retire(found);
  return status;
}

Expected<bool> CommunicatorImpl::test(uint64_t ticket) {
  const Entry entry(*this);
  Expected<bool> done = test_for(ticket);
  if (!done) return fail(in_words(done.error()));
  if (!*done && family_) family_->move_others(*this, true);
  return done;
}

Expected<bool> CommunicatorImpl::test_for(uint64_t ticket) {
  const auto list = lists_.find(ticket);
  if (list == lists_.end()) return test_alone(ticket);
  while (list->second.ended < list->second.parts.size()) {
    const Expected<bool> done = test_alone(list->second.parts[list->second.ended].ticket);
    if (!done || !*done) return done;
    end_parts(list->second);
  }
  lists_.erase(list);
  return true;
}

Expected<bool> CommunicatorImpl::test_alone(uint64_t ticket) {
  const auto found = running_.find(ticket);
  if (found == running_.end()) return true;
  if (!Executor::done(*found->second.prepared)) {
    if (const auto moved = executor_->progress(); !moved) return fail(moved.error());
  }
  const bool done = Executor::done(*found->second.prepared);
  if (done) retire(found);
  return done;
}

// ---- the family --------------------------------------------------------------------------------

CommunicatorImpl::Entry::Entry(CommunicatorImpl& group) : group_(group) {
  if (!group.family_) return;
  lock_ = std::unique_lock(group.mutex_);
  group.in_call_.store(true);
}

CommunicatorImpl::Entry::~Entry() {
  if (lock_) group_.in_call_.store(false);
}

bool CommunicatorImpl::needs_others() {
  if (in_call_.load()) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock || executor_->busy();  // who holds it may be through in a moment
}

bool CommunicatorImpl::move_along(bool idle) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !executor_->busy()) return false;
  const Expected<bool> moved = executor_->progress();
  if (!moved) return false;  // its own next call gives the reason
  if (!*moved && idle) executor_->tell();
  return *moved;
}

Status CommunicatorImpl::wait_among_family(Executor::Prepared& prepared, Deadline deadline) {
  int64_t idle_since = 0;
  while (!Executor::done(prepared)) {
    const Expected<bool> moved = executor_->progress();
    if (!moved) return fail(moved.error());
    const int64_t now = monotonic_ns();
    if (now >= deadline.at_ns()) break;
    const int64_t idle = idle_since == 0 ? 0 : now - idle_since;
    const bool others_moved = family_->move_others(*this, idle >= kTriesNs);
    if (*moved || others_moved) {
      idle_since = 0;
      continue;
    }
    if (idle_since == 0) idle_since = now;
    if (idle < kTriesNs) {
      ::sched_yield();
      continue;
    }
    executor_->tell();
    const timespec nap{0, static_cast<long>(idle < kIdleNs ? kShortNapNs : kMillisecond)};
    ::nanosleep(&nap, nullptr);
  }
  if (!Executor::done(prepared))
    return executor_->wait(prepared, deadline);  // finds who is to blame
  // Whose send ends with a word of this rank gets it now. An Error is what the next call gives.
  static_cast<void>(group_->wait([] { return true; }, deadline));
  return {};
}

}  // namespace plumbline
