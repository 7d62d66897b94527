// Cables of a mesh: missing, or plugged into the wrong cards.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/create.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_three(const Lab& lab) {
  return first_reason({needs_mesh(lab), lab.hosts.size() >= 3 ? "" : "needs three hosts"});
}

// All data addresses of a host but that of one link, as JSON.
std::string data_without(const LabHost& host, const LabLink& left_out) {
  std::string out;
  for (const LabLink& link : host.links) {
    if (link.interface == left_out.interface) continue;
    out += (out.empty() ? "\"" : ", \"") + link.data + "\"";
  }
  return "[" + out + "]";
}

// The first address that a host keeps.
std::string first_but(const LabHost& host, const LabLink& left_out) {
  for (const LabLink& link : host.links) {
    if (link.interface != left_out.interface) return ip_of(link.data);
  }
  return {};
}

FaultPlan cable_missing(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(maker.host.netns, "link del " + maker.link.nic));
  maker.undo(make_link_commands(lab, maker.host, maker.link));
  for (const LabHost& of : lab.hosts) {
    maker.names(of, {{maker.host.name, first_but(maker.host, maker.link)},
                     {maker.peer.name, first_but(maker.peer, maker.back)}});
  }
  maker.plan.injected.host_file = {{maker.host.name, "data", data_without(maker.host, maker.link)},
                                   {maker.peer.name, "data", data_without(maker.peer, maker.back)}};
  maker.how(fmt::format("there is no cable between {} and {}", maker.host.name, maker.peer.name));
  maker.expect({"topology.not_mesh"}, maker.peer.name);
  maker.plan.injected.other_hosts = {maker.peer.name};
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

// Two cards of the host have each other's addresses.
FaultPlan cables_crossed(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  std::vector<const LabLink*> others;
  for (const LabLink& link : maker.host.links) {
    if (link.interface != maker.link.interface) others.push_back(&link);
  }
  const LabLink& other = *maker.draw.pick(others);
  const std::string& netns = maker.host.netns;
  const std::string flags = maker.v6() ? " nodad" : "";
  std::vector<std::string> undo;
  for (const auto& [from, to] : {std::pair{&maker.link, &other}, std::pair{&other, &maker.link}}) {
    maker.step(ip_in(netns, fmt::format("address del {} dev {}", from->data, from->interface)));
    undo.push_back(ip_in(netns, fmt::format("address del {} dev {}", from->data, to->interface)));
  }
  for (const auto& [from, to] : {std::pair{&maker.link, &other}, std::pair{&other, &maker.link}}) {
    maker.step(
        ip_in(netns, fmt::format("address add {} dev {}{}", from->data, to->interface, flags)));
    undo.push_back(address_command(maker.host, *from));
  }
  maker.undo(undo);
  maker.how(fmt::format("{} and {} of {} have each other's addresses", maker.link.interface,
                        other.interface, maker.host.name));
  maker.expect({"topology.rail_mismatch"});
  maker.plan.injected.other_hosts = {maker.peer.name, other.peer};
  maker.plan.injected.any_peer = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

}  // namespace

std::vector<FaultRow> wiring_faults() {
  return {
      {"cable_missing", "wiring", "a pair of the mesh has no cable", needs_three, cable_missing},
      {"cables_crossed", "wiring", "two cables of the host are crossed", needs_three,
       cables_crossed},
  };
}

}  // namespace plumbline
