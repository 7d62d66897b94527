// A data address of the host file that is not where it should be: the interface is missing, the
// address is, another one stands in its place, or it sits where no peer can reach it.
#include <fmt/format.h>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/address_places.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// Of a self-assigned address in the host file.
constexpr const char* kChanges =
    "addresses of 169.254/16 change: a system that gets none from a DHCP server takes any of them, "
    "and often another one when it starts anew; write ones that last into the host file, as "
    "`plumbline hosts discover HOST...` plans them";

class AbsentAddress {
 public:
  AbsentAddress(const EvidenceSet& evidence, const Checks& checks, const HostView& view,
                const Cidr& wanted, std::vector<Candidate>& out)
      : evidence_(evidence),
        checks_(checks),
        job_(*view.job),
        host_(*view.host),
        wanted_(wanted),
        out_(out),
        places_(evidence, view, wanted),
        prefix_(places_.likely_prefix()) {}

  void judge() {
    const InterfaceEvidence* carrier = interface_of(host_, wanted_.ip);
    const InterfaceEvidence* named = find_interface(host_, job_.interface);
    if (!job_.interface.empty() && named == nullptr) return judge_unknown_interface(carrier);
    if (carrier != nullptr) return judge_misplaced(*carrier, named);
    if (named != nullptr && !is_usable(*named)) return;  // the link rules say what is wrong
    if (taken_from_another() || judge_file_subnet()) return;
    const InterfaceEvidence* place = named != nullptr ? named : places_.candidate();
    if (named == nullptr && judge_lost_with_link(place)) return;
    if (place == nullptr) return judge_no_interface();
    judge_place(*place);
  }

 private:
  std::string key() const { return key_of({"ip", job_.name, {}, {}, wanted_.ip}); }
  std::string link_key() const {
    return key_of(
        {"link", job_.name, {}, {}, job_.interface.empty() ? wanted_.ip : job_.interface});
  }
  OrderedPairs pairs() const { return pairs_with_ip(evidence_, job_.name, wanted_.ip); }
  Command add(const InterfaceEvidence& place) const {
    return remedy_add_address(host_.system, wanted_.ip, prefix_, place.name);
  }

  void judge_unknown_interface(const InterfaceEvidence* carrier) {
    if (carrier != nullptr) {
      out_.push_back(
          Proposal("link.missing", Severity::kWarn, job_.name)
              .see(job_.name, link_key(),
                   fmt::format("{} names the interface {}, which does not exist; {} has {}",
                               job_.where, job_.interface, carrier->name, wanted_.ip))
              .remedy(fmt::format("write \"interface\": \"{}\" for {} at {}", carrier->name,
                                  job_.name, job_.where))
              .take(checks_));
      return;
    }
    Remedy remedy = fmt::format(
        "plug in the card that is {}, or load its driver: `ip link` lists what there is",
        job_.interface);
    // eth1.100 on eth1 is a VLAN that can be made again.
    const size_t dot = job_.interface.rfind('.');
    const std::string parent = job_.interface.substr(0, dot);
    const std::string tag = dot == std::string::npos ? "" : job_.interface.substr(dot + 1);
    const bool number = !tag.empty() && tag.find_first_not_of("0123456789") == std::string::npos;
    if (number && find_interface(host_, parent) != nullptr && host_.system != "macos") {
      remedy = Remedy(remedy_add_vlan(parent, job_.interface, tag))
                   .run(remedy_link_up(host_.system, job_.interface))
                   .run(remedy_add_address(host_.system, wanted_.ip, prefix_, job_.interface));
    }
    out_.push_back(Proposal("link.missing", Severity::kFail, job_.name)
                       .see(job_.name, link_key(),
                            fmt::format("there is no interface {}; there are {}", job_.interface,
                                        places_.list_nics()))
                       .see(job_.name, key(), fmt::format("{} is not on this host", wanted_.ip))
                       .remedy(remedy)
                       .breaks(pairs())
                       .take(checks_));
  }

  // The address is there, on loopback, a dummy or another card than the file says: wrong where it
  // does not work, the operator's choice where it does.
  void judge_misplaced(const InterfaceEvidence& carrier, const InterfaceEvidence* named) {
    const bool hidden = !is_wired(carrier) && carrier.kind != "tunnel";
    const bool elsewhere = named != nullptr && named != &carrier;
    if (!hidden && !elsewhere) return;
    const OrderedPairs broken = not_working(evidence_, pairs());
    if (broken.empty() || broken.size() != pairs().size()) return;
    const InterfaceEvidence* place = named != nullptr ? named : places_.candidate();
    if (place == nullptr || place == &carrier || !is_usable(*place)) return;
    const AddressEvidence* own = find_address(carrier, wanted_.ip);
    const int prefix = own != nullptr ? own->prefix : prefix_;
    out_.push_back(
        Proposal("ip.missing", Severity::kFail, job_.name)
            .confidence(0.9)
            .see(job_.name, key(),
                 fmt::format("{} is on {} ({}), not on {}, which leads to the peers", wanted_.ip,
                             carrier.name, carrier.kind, place->name))
            .remedy(Remedy(remedy_delete_address(host_.system, wanted_.ip, prefix, carrier.name))
                        .run(add(*place)))
            .breaks(pairs())
            .take(checks_));
  }

  // It carries an address that the file gives to another host: that is a duplicate (host_ip_rules).
  bool taken_from_another() const {
    for (const JobHost& other : evidence_.job.hosts) {
      if (other.name == job_.name) continue;
      for (const Cidr& theirs : data_of(other)) {
        const InterfaceEvidence* here = interface_of(host_, theirs.ip);
        const bool mine =
            any_of(job_.data, [&](const auto& text) { return parse_cidr(text).ip == theirs.ip; });
        if (here != nullptr && is_wired(*here) && !mine && !is_loopback_ip(theirs.ip)) return true;
      }
    }
    return false;
  }

  // The file's address is in nobody's subnet, while the host has one in that of its peers.
  bool judge_file_subnet() {
    const auto all = data_addresses(evidence_);
    const bool near = any_of(all, [&](const DataAddress& peer) {
      return same_subnet(peer.ip, wanted_.ip, peer.prefix);
    });
    if (near || job_.data.size() != 1) return false;
    for (const DataAddress& peer : all) {
      if (peer.at.job->name == job_.name) continue;
      for (const InterfaceEvidence& interface : host_.interfaces) {
        for (const AddressEvidence& own : interface.addresses) {
          if (!interface.up || own.ip == peer.ip) continue;
          if (!same_subnet(own.ip, peer.ip, peer.prefix)) continue;
          out_.push_back(
              Proposal("ip.wrong_subnet", Severity::kFail, job_.name)
                  .see(job_.name, key(),
                       fmt::format("{} says {}, which lies outside the subnet of the peers and is "
                                   "not on this host; {} has {}/{}",
                                   job_.where, wanted_.ip, interface.name, own.ip, own.prefix))
                  .remedy(fmt::format("write {}/{} for {} at {}", own.ip, own.prefix, job_.name,
                                      job_.where))
                  .breaks(pairs())
                  .take(checks_));
          return true;
        }
      }
    }
    return false;
  }

  // An interface that is switched off loses its IPv6 addresses.
  bool judge_lost_with_link(const InterfaceEvidence* place) {
    const auto down = places_.switched_off();
    if (!is_v6(wanted_.ip) || down.size() != 1) return false;
    if (place != nullptr && places_.leads_to_peers(*place)) return false;
    out_.push_back(
        Proposal("link.down", Severity::kFail, job_.name)
            .confidence(0.8)
            .see(job_.name, key_of({"link", job_.name, {}, {}, down[0]->name}),
                 describe_interface(*down[0]))
            .see(job_.name, key(),
                 fmt::format("{} is gone with it, as IPv6 addresses go", wanted_.ip))
            .remedy(Remedy(remedy_link_up(host_.system, down[0]->name)).run(add(*down[0])))
            .breaks(pairs())
            .take(checks_));
    return true;
  }

  // Interfaces are up, but all belong to networks of their own: the card may be gone, or it was one
  // of them that had the address.
  bool judge_only_shared() {
    std::vector<std::string> up;
    for (const InterfaceEvidence& interface : host_.interfaces) {
      const bool could = interface.up && interface.kind != "loopback" && interface.master.empty() &&
                         !places_.carries_data(interface);
      if (could) up.push_back(interface.name);
    }
    if (up.empty()) return false;
    out_.push_back(
        Proposal("ip.missing", Severity::kFail, job_.name)
            .confidence(0.7)
            .see(job_.name, key(),
                 fmt::format("{} is not on this host; {} carry addresses of other networks",
                             wanted_.ip, join_words(up)))
            .remedy(fmt::format(
                "connect the card that carried {}, or add the address to the one "
                "that leads to the peers: {}",
                wanted_.ip,
                shell_text(remedy_add_address(host_.system, wanted_.ip, prefix_, "INTERFACE"))))
            .breaks(pairs())
            .take(checks_));
    return true;
  }

  void judge_no_interface() {
    if (judge_only_shared()) return;
    const auto down = places_.switched_off();
    out_.push_back(
        Proposal("link.missing", Severity::kFail, job_.name)
            .confidence(0.9)
            .see(job_.name, key_of({"link", job_.name, {}, {}, wanted_.ip}),
                 fmt::format("no interface is left that could carry {}; there are {}", wanted_.ip,
                             places_.list_nics()))
            .remedy(down.empty()
                        ? Remedy(fmt::format("connect the network card that carries {}: `ip link` "
                                             "or `ifconfig -a` lists what there is",
                                             wanted_.ip))
                        : Remedy(remedy_link_up(host_.system, down[0]->name)).run(add(*down[0])))
            .breaks(pairs())
            .take(checks_));
  }

  void judge_place(const InterfaceEvidence& place) {
    std::vector<std::string> found;
    Remedy remove;
    bool outside = false, any = false, self_assigned = false;
    for (const AddressEvidence& address : place.addresses) {
      if (!same_family(address.ip, wanted_.ip)) continue;
      const bool local = is_link_local_ip(address.ip);
      if (local && is_v6(address.ip)) continue;  // every IPv6 interface has one
      found.push_back(fmt::format("{}/{}", address.ip, address.prefix));
      any = any || !local;
      self_assigned = self_assigned || local;
      const bool foreign = local || (!same_subnet(address.ip, wanted_.ip, prefix_) &&
                                     !places_.is_shared_network(address));
      outside = outside || (foreign && !local);
      if (foreign) {
        remove.run(remedy_delete_address(host_.system, address.ip, address.prefix, place.name));
      }
    }
    const char* cause = outside                 ? "ip.wrong_subnet"
                        : self_assigned && !any ? "ip.link_local_only"
                                                : "ip.missing";
    const std::string seen = found.empty() ? "no address of this family" : join_words(found);
    Remedy remedy = Remedy(add(place)).then(remove);
    if (is_link_local_ip(wanted_.ip) && !is_v6(wanted_.ip)) remedy.say(kChanges);
    out_.push_back(
        Proposal(cause, Severity::kFail, job_.name)
            .confidence(job_.interface.empty() ? 0.9 : 1.0)
            .see(job_.name, key(),
                 fmt::format("{} is not on this host; {} has {}", wanted_.ip, place.name, seen))
            .remedy(remedy)
            .breaks(pairs())
            .take(checks_));
  }

  const EvidenceSet& evidence_;
  const Checks& checks_;
  const JobHost& job_;
  const HostEvidence& host_;
  const Cidr& wanted_;
  std::vector<Candidate>& out_;
  AddressPlaces places_;
  int prefix_;
};

}  // namespace

Candidates propose_absent(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    for (const Cidr& wanted : data_of(*view.job)) {
      if (is_loopback_ip(wanted.ip)) continue;
      AbsentAddress(evidence, checks, view, wanted, out).judge();
    }
    // Named on purpose, so worth a word and no more.
    for (const Cidr& wanted : data_of(*view.job)) {
      const InterfaceEvidence* carrier = interface_of(*view.host, wanted.ip);
      if (carrier == nullptr || !is_link_local_ip(wanted.ip)) continue;
      out.push_back(
          Proposal("ip.link_local_only", Severity::kNote, view.job->name)
              .see(view.job->name, key_of({"ip", view.job->name, {}, {}, wanted.ip}),
                   fmt::format("{} on {} is an address that may change at the next start",
                               wanted.ip, carrier->name))
              .remedy(fmt::format("fine where the host file means it; an address that lasts: {}",
                                  shell_text(remedy_add_address(view.host->system, "10.10.0.1", 24,
                                                                carrier->name))))
              .proven()
              .take(checks));
    }
  }
  return out;
}

}  // namespace plumbline
