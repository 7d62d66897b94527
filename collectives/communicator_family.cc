#include "collectives/communicator_family.h"

#include <algorithm>

#include "collectives/communicator_impl.h"

namespace plumbline {

void CommunicatorFamily::add(CommunicatorImpl& group) {
  const std::scoped_lock lock(mutex_);
  groups_.push_back(&group);
}

void CommunicatorFamily::remove(const CommunicatorImpl& group) {
  const std::scoped_lock lock(mutex_);
  std::erase(groups_, &group);
}

bool CommunicatorFamily::others_wait(const CommunicatorImpl& but) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(groups_.begin(), groups_.end(), [&but](CommunicatorImpl* group) {
    return group != &but && group->needs_others();
  });
}

bool CommunicatorFamily::move_others(const CommunicatorImpl& but, bool idle) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;  // somebody else is at it
  bool moved = false;
  for (CommunicatorImpl* group : groups_) {
    if (group != &but && group->move_along(idle)) moved = true;
  }
  return moved;
}

}  // namespace plumbline
