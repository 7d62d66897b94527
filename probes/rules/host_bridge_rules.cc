// Causes in bridges that carry data addresses: a port that is left out or does not forward, and
// circles of cables.
#include <fmt/format.h>

#include <algorithm>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_rows.h"

namespace plumbline {
namespace {

// Of several, those that are called like a port of a data bridge on another host.
std::vector<const InterfaceEvidence*> likely_ports(
    const EvidenceSet& evidence, const HostView& view,
    const std::vector<const InterfaceEvidence*>& lonely) {
  std::vector<const InterfaceEvidence*> out;
  for (const InterfaceEvidence* port : lonely) {
    for (const HostView& other : host_views(evidence)) {
      if (other.job == view.job) continue;
      const InterfaceEvidence* theirs = find_interface(*other.host, port->name);
      const InterfaceEvidence* bridge =
          theirs == nullptr ? nullptr : find_interface(*other.host, theirs->master);
      const auto wanted = carriers(other);
      if (bridge == nullptr || std::find(wanted.begin(), wanted.end(), bridge) == wanted.end()) {
        continue;
      }
      out.push_back(port);
      break;
    }
  }
  return out.empty() ? lonely : out;
}

// The pairs of a host over this bridge that do not work. What its routes send elsewhere does not
// meet the bridge, whatever its ports are.
OrderedPairs broken_over(const EvidenceSet& evidence, const HostView& view,
                         const InterfaceEvidence& bridge) {
  OrderedPairs broken = not_working(evidence, pairs_over(evidence, *view.host, bridge.name));
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from != view.job->name) continue;
    const RouteLookup* lookup = route_lookup(pair);
    if (lookup == nullptr || lookup->dev.empty() || lookup->dev == bridge.name) continue;
    broken.erase({pair.from, pair.to});
    broken.erase({pair.to, pair.from});
  }
  return broken;
}

void propose_bridge(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                    const InterfaceEvidence& bridge, std::vector<Candidate>& out) {
  const std::string& name = view.job->name;
  const OrderedPairs broken = broken_over(evidence, view, bridge);
  if (broken.empty()) return;
  std::vector<const InterfaceEvidence*> ports, stopped;
  for (const InterfaceEvidence& port : view.host->interfaces) {
    if (port.master != bridge.name) continue;
    ports.push_back(&port);
    const bool stops = !port.port_state.empty() && port.port_state != "forwarding";
    if (is_usable(port) && stops) stopped.push_back(&port);
  }
  const auto propose = [&](const std::string& text, const Remedy& remedy, double confidence) {
    out.push_back(Proposal("link.not_in_bridge", Severity::kFail, name)
                      .confidence(confidence)
                      .see(name, key_of({"link", name, {}, {}, bridge.name}), text)
                      .remedy(remedy)
                      .breaks(broken)
                      .take(checks));
  };
  if (!stopped.empty()) {
    Remedy remedy;
    std::vector<std::string> words;
    for (const InterfaceEvidence* port : stopped) {
      remedy.run(remedy_forward_on_port(port->name));
      words.push_back(fmt::format("{} is '{}'", port->name, port->port_state));
    }
    return propose(
        fmt::format("ports of bridge {} do not forward: {}", bridge.name, join_words(words)),
        remedy, 0.9);
  }
  const auto lonely = likely_ports(evidence, view, unbridged_ports(*view.host));
  if (lonely.empty()) return;
  Remedy remedy;
  std::vector<std::string> words;
  for (const InterfaceEvidence* port : lonely) {
    remedy.run(remedy_add_to_bridge(view.host->system, port->name, bridge.name));
    words.push_back(port->name);
  }
  const bool only = lonely.size() == 1;
  if (!only) {
    remedy = fmt::format("one of {} belongs in the bridge: ip link set dev PORT master {}",
                         join_words(words), bridge.name);
  }
  propose(fmt::format("bridge {} has {} ports; {} has a signal and belongs to no bridge",
                      bridge.name, ports.size(), join_words(words)),
          remedy, only ? 0.9 : 0.7);
}

}  // namespace

std::vector<Candidate> propose_bridges(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    for (const std::string& loop : view.host->forwarding_loops) {
      OrderedPairs over;
      for (const InterfaceEvidence* interface : carriers(view)) {
        if (interface->kind == "bridge") {
          over.merge(pairs_over(evidence, *view.host, interface->name));
        }
      }
      out.push_back(Proposal("topology.bridge_loop", Severity::kFail, view.job->name)
                        .see(view.job->name, "", loop)
                        .remedy("take one of the ports that close the loop out of its bridge (ip "
                                "link set dev PORT nomaster), or switch the spanning tree protocol "
                                "on (ip link set dev BRIDGE type bridge stp_state 1)")
                        .breaks(not_working(evidence, over))
                        .proven()
                        .take(checks));
    }
    for (const InterfaceEvidence* interface : carriers(view)) {
      if (interface->kind == "bridge" && interface->up) {
        propose_bridge(evidence, view, checks, *interface, out);
      }
    }
  }
  return out;
}

}  // namespace plumbline
