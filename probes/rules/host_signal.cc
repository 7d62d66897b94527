#include "probes/rules/host_signal.h"

#include <algorithm>

#include "core/ranges.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

bool some_before(const SignalChanges& changes) {
  return static_cast<double>(changes.before) >= threshold(Threshold::kCarrierChangesSome);
}

}  // namespace

bool SignalChanges::flaps() const {
  return static_cast<double>(during) >= threshold(Threshold::kCarrierChangesDuring) ||
         (during > 0 && some_before(*this));
}

bool SignalChanges::flapped_often() const {
  return static_cast<double>(before) >= threshold(Threshold::kCarrierChanges);
}

SignalChanges signal_changes(const InterfaceEvidence& interface) {
  if (!interface.carrier_changes) return {};
  const int64_t before = *interface.carrier_changes;
  const int64_t later = interface.carrier_changes_later.value_or(before);
  return {true, before, std::max<int64_t>(0, later - before)};
}

bool may_flap(const InterfaceEvidence& interface) {
  const SignalChanges changes = signal_changes(interface);
  if (!changes.counted || changes.flaps()) return false;
  if (changes.during > 0) return true;
  return !is_usable(interface) &&
         static_cast<double>(changes.before) >= threshold(Threshold::kCarrierChangesAgain);
}

bool may_flap_slowly(const InterfaceEvidence& interface) {
  const SignalChanges changes = signal_changes(interface);
  return changes.counted && changes.during == 0 && is_usable(interface) && some_before(changes) &&
         !changes.flapped_often();
}

std::vector<const InterfaceEvidence*> signal_interfaces(const HostView& view) {
  std::vector<const InterfaceEvidence*> out;
  for (const InterfaceEvidence* top : carriers(view)) {
    for (const InterfaceEvidence& interface : view.host->interfaces) {
      if (interface.kind == "loopback" || !stands_on(*view.host, *top, interface.name)) continue;
      if (!is_in(out, &interface)) out.push_back(&interface);
    }
  }
  return out;
}

}  // namespace plumbline
