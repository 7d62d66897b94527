// What an interface's count of changes of its signal says: flapping, plugged in once, or nothing.
// Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/rules/host_common.h"

namespace plumbline {

struct SignalChanges {
  bool counted = false;            // the system counts them
  int64_t before = 0, during = 0;  // since the interface exists, and while the check ran

  // Came and went while it was watched, or once after it had done so before: whatever the rhythm.
  bool flaps() const;
  bool flapped_often() const;  // by its history alone
};
SignalChanges signal_changes(const InterfaceEvidence& interface);

// One more change would make it flapping: it changed once, or is without a signal now as it was
// before.
bool may_flap(const InterfaceEvidence& interface);

// It has a signal and did not change, but has changed so often before that one change would do.
bool may_flap_slowly(const InterfaceEvidence& interface);

// The interfaces whose signal the data of this host need: those that carry it, and what lies below
// (ports of a bridge, members of a bond, parents).
std::vector<const InterfaceEvidence*> signal_interfaces(const HostView& view);

}  // namespace plumbline
