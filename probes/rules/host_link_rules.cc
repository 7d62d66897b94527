// Causes on the link itself: interfaces that are down, without signal, or worse than they
// should be.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_signal.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

std::string link_key(const std::string& host, const std::string& interface,
                     const std::string& what = "") {
  return key_of({"link", host, {}, {}, interface + what});
}

// The lowest interfaces that are switched off and without which `top` cannot work: its parents,
// and the members of a bond or bridge when none of them works.
void find_down(const HostEvidence& host, const InterfaceEvidence& top,
               std::vector<const InterfaceEvidence*>& out, int depth = 0) {
  if (depth > 4) return;
  const InterfaceEvidence* parent = find_interface(host, top.parent);
  if (parent != nullptr && !is_usable(*parent)) {
    find_down(host, *parent, out, depth + 1);
    if (!out.empty()) return;
  }
  std::vector<const InterfaceEvidence*> members, down;
  for (const InterfaceEvidence& port : host.interfaces) {
    if (port.master != top.name) continue;
    members.push_back(&port);
    if (!port.up) down.push_back(&port);
  }
  const bool works =
      any_of(members, [](const InterfaceEvidence* port) { return is_usable(*port); });
  if (top.up && !works && !down.empty()) {
    out.insert(out.end(), down.begin(), down.end());
    return;
  }
  if (!top.up) out.push_back(&top);
}

// IPv6 addresses vanish with the interface; they have to be given again.
Remedy remedy_up(const HostView& view, const InterfaceEvidence& down,
                 const InterfaceEvidence& top) {
  Remedy remedy = remedy_link_up(view.host->system, down.name);
  if (&down != &top && !top.up) remedy.run(remedy_link_up(view.host->system, top.name));
  for (const Cidr& data : data_of(*view.job)) {
    if (!is_v6(data.ip) || interface_of(*view.host, data.ip) != nullptr) continue;
    if (view.job->interface == top.name) {
      remedy.run(remedy_add_address(view.host->system, data.ip, data.prefix, top.name));
    }
  }
  return remedy;
}

void propose_loopback(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                      std::vector<Candidate>& out) {
  for (const InterfaceEvidence& interface : view.host->interfaces) {
    if (interface.kind != "loopback" || interface.up) continue;
    const std::string& name = view.job->name;
    Proposal proposal("link.down", Severity::kWarn, name);
    proposal.see(name, link_key(name, interface.name), describe_interface(interface))
        .remedy(remedy_link_up(view.host->system, interface.name))
        .proven();
    if (only_loopback(*view.job)) proposal.breaks(pairs_of(evidence, name));
    out.push_back(proposal.take(checks));
  }
}

// The signal is missing because the other end of the cable is switched off, or because of
// something that is down on this very host.
bool explained_elsewhere(const EvidenceSet& evidence, const HostView& view,
                         const InterfaceEvidence& interface) {
  std::vector<const InterfaceEvidence*> down;
  find_down(*view.host, interface, down);
  if (!down.empty()) return true;
  bool any = false, all = true;
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from != view.job->name) continue;
    const InterfaceEvidence* carrier = data_interface(*view.job, *view.host, pair.from_ip);
    if (carrier != &interface) continue;
    const HostEvidence* peer = find_host(evidence, pair.to);
    const JobHost* peer_job = find_job_host(evidence, pair.to);
    if (peer == nullptr || peer_job == nullptr) continue;
    const InterfaceEvidence* theirs = data_interface(*peer_job, *peer, pair.to_ip);
    any = true;
    all = all && theirs != nullptr && !theirs->up;
  }
  return any && all;
}

void propose_speed(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                   const InterfaceEvidence& interface, std::vector<Candidate>& out) {
  const std::string& name = view.job->name;
  if (interface.duplex == "half" && interface.kind != "wifi") {
    out.push_back(Proposal("link.duplex", Severity::kWarn, name)
                      .see(name, link_key(name, interface.name, " duplex"),
                           fmt::format("{} works in half duplex", interface.name))
                      .remedy(remedy_negotiate_duplex(interface.name)
                                  .remark("and the same at the port of the switch"))
                      .take(checks));
  }
  if (!interface.speed_bps || interface.kind == "wifi") return;
  const double share = threshold(Threshold::kSpeedShare);
  const auto below = [&](int64_t offered) {
    return static_cast<double>(*interface.speed_bps) < share * static_cast<double>(offered);
  };
  std::string reason;
  if (interface.speed_max_bps && below(*interface.speed_max_bps)) {
    reason = fmt::format("{} negotiated {}, its hardware offers {}", interface.name,
                         describe_bit_rate(*interface.speed_bps),
                         describe_bit_rate(*interface.speed_max_bps));
  } else if (!interface.speed_max_bps) {
    std::vector<int64_t> others;
    for (const HostView& other : host_views(evidence)) {
      for (const InterfaceEvidence* theirs : carriers(other)) {
        const bool same_kind = theirs->kind == interface.kind && theirs->speed_bps;
        if (same_kind && other.job != view.job) others.push_back(*theirs->speed_bps);
      }
    }
    std::sort(others.begin(), others.end());
    if (others.size() >= 2 && below(others[(others.size() - 1) / 2])) {
      reason = fmt::format("{} negotiated {}, the others of its kind {}", interface.name,
                           describe_bit_rate(*interface.speed_bps),
                           describe_bit_rate(others[(others.size() - 1) / 2]));
    }
  }
  if (reason.empty()) return;
  out.push_back(Proposal("link.speed", Severity::kWarn, name)
                    .see(name, link_key(name, interface.name, " speed"), reason)
                    .remedy(fmt::format("exchange the cable of {}, and look at what the port at "
                                        "its other end offers",
                                        interface.name))
                    .take(checks));
}

void propose_errors(const HostView& view, const Checks& checks, const InterfaceEvidence& interface,
                    std::vector<Candidate>& out) {
  const std::string& name = view.job->name;
  std::vector<std::string> grown;
  for (const auto& [counter, later] : interface.counters_later) {
    const auto before = interface.counters.find(counter);
    if (counter.find("error") == std::string::npos || before == interface.counters.end()) continue;
    const auto more = later - before->second;
    if (static_cast<double>(more) >= threshold(Threshold::kErrorsDuringCheck)) {
      grown.push_back(fmt::format("{} +{}", counter, more));
    }
  }
  if (grown.empty() || interface.kind == "wifi") return;
  out.push_back(Proposal("link.errors", Severity::kWarn, name)
                    .see(name, link_key(name, interface.name, " errors"),
                         fmt::format("{} counted errors during the check: {}", interface.name,
                                     join_words(grown)))
                    .remedy(fmt::format("exchange the cable or the transceiver of {}; `ip -s -s "
                                        "link show {}` tells the kind of errors",
                                        interface.name, interface.name))
                    .take(checks));
}

Candidate flapping(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                   const InterfaceEvidence& interface) {
  const std::string& name = view.job->name;
  const SignalChanges changes = signal_changes(interface);
  std::string text = fmt::format("the signal of {} came or went ", interface.name);
  text += changes.flaps() ? fmt::format("{} times during the check, {} times before",
                                        changes.during, changes.before)
                          : fmt::format("{} times since it exists", changes.before);
  Proposal proposal("link.flapping", Severity::kWarn, name);
  proposal.confidence(changes.flaps() ? 0.95 : 0.7)
      .see(name, link_key(name, interface.name, " flapping"), text)
      .remedy(fmt::format("reseat or exchange the cable of {}; `dmesg | grep {}` tells when it "
                          "happens",
                          interface.name, interface.name));
  // Not a bond's member that another one stands in for.
  const auto tops = carriers(view);
  const bool felt = any_of(tops, [&](const InterfaceEvidence* top) {
    return stands_on(*view.host, *top, interface.name) && signal_changes(*top).flaps();
  });
  if (felt) proposal.breaks(pairs_over(evidence, *view.host, interface.name));
  return proposal.take(checks);
}

// The lowest interfaces that flap: what stands on them loses its signal with them.
void propose_flapping(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                      std::vector<Candidate>& out) {
  const auto all = signal_interfaces(view);
  const auto tops = carriers(view);
  for (const InterfaceEvidence* interface : all) {
    const SignalChanges changes = signal_changes(*interface);
    const bool top = is_in(tops, interface);
    if (!changes.flaps() && !(top && changes.flapped_often())) continue;
    const bool symptom = any_of(all, [&](const InterfaceEvidence* lower) {
      return lower != interface && signal_changes(*lower).flaps() &&
             stands_on(*view.host, *interface, lower->name);
    });
    if (!symptom) out.push_back(flapping(evidence, view, checks, *interface));
  }
}

// Both ends of one cable count the same changes: the first in file order stands for both.
void drop_other_ends(std::vector<Candidate>& found) {
  for (auto one = found.begin(); one != found.end(); ++one) {
    const auto other_end = [&](const Candidate& other) {
      return !one->breaks.empty() && other.breaks == one->breaks &&
             other.finding.host != one->finding.host;
    };
    found.erase(std::remove_if(one + 1, found.end(), other_end), found.end());
  }
}

}  // namespace

Candidates propose_link_down(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    propose_loopback(evidence, view, checks, out);
    for (const InterfaceEvidence* top : carriers(view)) {
      if (top->kind == "loopback") continue;
      std::vector<const InterfaceEvidence*> down;
      find_down(*view.host, *top, down);
      const std::string& name = view.job->name;
      for (const InterfaceEvidence* interface : down) {
        if (signal_changes(*interface).flaps()) continue;
        Proposal proposal("link.down", Severity::kFail, name);
        proposal.see(name, link_key(name, interface->name), describe_interface(*interface));
        if (interface != top) {
          proposal.see(name, link_key(name, top->name), describe_interface(*top));
        }
        out.push_back(proposal.remedy(remedy_up(view, *interface, *top))
                          .breaks(pairs_over(evidence, *view.host, top->name))
                          .take(checks));
      }
    }
  }
  return out;
}

Candidates propose_no_carrier(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    for (const InterfaceEvidence* interface : carriers(view)) {
      if (!interface->up || interface->carrier.value_or(true) || interface->kind == "loopback") {
        continue;
      }
      const std::string& name = view.job->name;
      if (signal_changes(*interface).flaps()) continue;
      if (explained_elsewhere(evidence, view, *interface)) continue;
      // A bridge without any port has no signal either; that is propose_bridges' matter.
      const bool orphaned = interface->kind == "bridge" && !unbridged_ports(*view.host).empty();
      if (orphaned) continue;
      out.push_back(
          Proposal("link.no_carrier", Severity::kFail, name)
              .see(name, link_key(name, interface->name), describe_interface(*interface))
              .remedy(interface->kind == "wifi"
                          ? fmt::format("join {} to its wireless network", interface->name)
                          : fmt::format("plug in the cable of {}, and check the port at "
                                        "its other end",
                                        interface->name))
              .breaks(pairs_over(evidence, *view.host, interface->name))
              .take(checks));
    }
  }
  return out;
}

Candidates propose_link_quality(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    propose_flapping(evidence, view, checks, out);
  }
  drop_other_ends(out);
  for (const HostView& view : host_views(evidence)) {
    for (const InterfaceEvidence* interface : carriers(view)) {
      if (interface->kind == "loopback" || !is_usable(*interface)) continue;
      propose_speed(evidence, view, checks, *interface, out);
      propose_errors(view, checks, *interface, out);
    }
  }
  return out;
}

}  // namespace plumbline
