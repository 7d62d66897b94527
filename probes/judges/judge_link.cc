// Judges interfaces and addresses of every host by what the host says of itself.
#include <fmt/format.h>

#include <algorithm>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/judges/judges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_signal.h"
#include "probes/thresholds.h"

namespace plumbline {

using enum Standing;

namespace {

// Says the same of every host: judges it, or why it is not judged.
template <typename Judge>
std::vector<Check> each_host(const EvidenceSet& evidence, const char* id, const Judge& judge) {
  std::vector<Check> checks;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr) continue;
    const std::string earlier = same_as_earlier(evidence, job);
    if (!earlier.empty()) {
      checks.push_back(
          make_check({id, job.name}, kSkipped, "same machine and addresses as " + earlier));
    } else if (!has_facts(*host)) {
      checks.push_back(make_check({id, job.name}, kUnknown, lack_of_facts(*host)));
    } else {
      judge(job, *host, checks);
    }
  }
  return checks;
}

class LinkJudge {
 public:
  LinkJudge(const JobHost& job, const HostEvidence& host, std::vector<Check>& checks)
      : job_(job), host_(host), checks_(checks) {}

  void judge() {
    for (const InterfaceEvidence& interface : host_.interfaces) {
      const bool needed = is_needed(interface);
      judge_state(interface, needed);
      if (!needed || interface.kind == "loopback") continue;
      if (is_usable(interface)) {
        judge_health(interface);
      } else if (signal_changes(interface).flaps()) {
        judge_flapping(interface);
      }
    }
    if (!job_.interface.empty() && find_interface(host_, job_.interface) == nullptr) {
      const bool carried = any_of(job_.data, [&](const std::string& text) {
        return interface_of(host_, parse_cidr(text).ip) != nullptr;
      });
      say(job_.interface, carried ? kWarn : kFail,
          fmt::format("{}, which the host file names, does not exist", job_.interface));
    }
  }

 private:
  void say(const std::string& detail, CheckOutcome outcome, const std::string& reason) {
    checks_.push_back(make_check({"link", job_.name, {}, {}, detail}, outcome, reason));
  }

  bool is_needed(const InterfaceEvidence& interface) const {
    if (interface.name == job_.interface) return true;
    // A loopback interface that is down has lost its addresses.
    if (interface.kind == "loopback" && !interface.up && only_loopback(job_)) return true;
    return any_of(job_.data, [&](const std::string& text) {
      return interface_of(host_, parse_cidr(text).ip) == &interface;
    });
  }

  void judge_state(const InterfaceEvidence& interface, bool needed) {
    const std::string text = describe_interface(interface);
    if (is_usable(interface)) {
      const bool seen = interface.carrier.has_value() || interface.kind == "loopback";
      return say(interface.name, seen || !needed ? kPass : kUnknown,
                 seen || !needed ? text : text + "; whether it has a signal cannot be seen");
    }
    if (interface.kind == "loopback") return say(interface.name, kWarn, text);
    if (!needed) {
      return say(interface.name, kSkipped, text + "; carries no data address");
    }
    if (signal_changes(interface).flaps()) {
      return say(interface.name, kWarn, text + " when it was looked at; it flaps");
    }
    say(interface.name, kFail, text);
  }

  void judge_health(const InterfaceEvidence& interface) {
    judge_flapping(interface);
    judge_speed(interface);
    judge_errors(interface);
  }

  void judge_flapping(const InterfaceEvidence& interface) {
    const std::string detail = interface.name + " flapping";
    if (!interface.carrier_changes) {
      return say(detail, kUnknown, "this system counts no changes of the signal");
    }
    const SignalChanges changes = signal_changes(interface);
    const bool flaps = changes.flaps() || changes.flapped_often();
    say(detail, flaps ? kWarn : kPass,
        fmt::format("the signal came or went {} times, {} of them during the check",
                    changes.before + changes.during, changes.during));
  }

  void judge_speed(const InterfaceEvidence& interface) {
    const std::string detail = interface.name + " speed";
    if (interface.duplex == "half" && interface.kind != "wifi") {
      say(interface.name + " duplex", kWarn, "works in half duplex");
    }
    if (!interface.speed_bps) {
      return say(detail, kSkipped,
                 fmt::format("an interface of kind {} reports no speed", interface.kind));
    }
    const std::string speed = describe_bit_rate(*interface.speed_bps);
    if (interface.kind == "wifi") {
      return say(detail, kSkipped, speed + ", which changes from packet to packet");
    }
    if (!interface.speed_max_bps) return say(detail, kPass, "negotiated " + speed);
    const bool slow =
        static_cast<double>(*interface.speed_bps) <
        threshold(Threshold::kSpeedShare) * static_cast<double>(*interface.speed_max_bps);
    say(detail, slow ? kWarn : kPass,
        fmt::format("negotiated {} of {}", speed, describe_bit_rate(*interface.speed_max_bps)));
  }

  void judge_errors(const InterfaceEvidence& interface) {
    const std::string detail = interface.name + " errors";
    int64_t grown = 0;
    bool seen = false;
    for (const auto& [counter, later] : interface.counters_later) {
      const auto before = interface.counters.find(counter);
      if (counter.find("error") == std::string::npos || before == interface.counters.end()) {
        continue;
      }
      seen = true;
      grown += std::max<int64_t>(0, later - before->second);
    }
    if (!seen) {
      return say(detail, kUnknown, "its error counters were not read twice");
    }
    const bool many = static_cast<double>(grown) >= threshold(Threshold::kErrorsDuringCheck);
    say(detail, many && interface.kind != "wifi" ? kWarn : kPass,
        fmt::format("{} errors counted during the check", grown));
  }

  const JobHost& job_;
  const HostEvidence& host_;
  std::vector<Check>& checks_;
};

class AddressJudge {
 public:
  AddressJudge(const EvidenceSet& evidence, const JobHost& job, const HostEvidence& host,
               std::vector<Check>& checks)
      : evidence_(evidence), job_(job), host_(host), checks_(checks) {}

  void judge() {
    if (job_.data.empty()) {
      checks_.push_back(make_check({"ip", job_.name}, kUnknown,
                                   "the host file names no data address of this host"));
    }
    for (const Cidr& wanted : data_of(job_)) judge_address(wanted);
  }

 private:
  void say(const std::string& detail, CheckOutcome outcome, const std::string& reason) {
    checks_.push_back(make_check({"ip", job_.name, {}, {}, detail}, outcome, reason));
  }

  void judge_address(const Cidr& wanted) {
    const InterfaceEvidence* carrier = interface_of(host_, wanted.ip);
    if (carrier == nullptr) {
      return say(wanted.ip, kFail,
                 fmt::format("{} is not on this host; found: {}", wanted.ip, list_addresses()));
    }
    const AddressEvidence* own = find_address(*carrier, wanted.ip);
    if (own == nullptr) {  // 127.0.0.2: there by the subnet of the loopback interface
      return say(wanted.ip, kPass, fmt::format("{} belongs to {}", wanted.ip, carrier->name));
    }
    const std::string text = fmt::format("{}/{} on {}", own->ip, own->prefix, carrier->name);
    if (is_in(own->flags, "dadfailed")) {
      say(wanted.ip, kFail, text + ", not in use: the system found it on another machine as well");
    } else if (is_in(own->flags, "tentative")) {
      say(wanted.ip, kUnknown, text + ", not yet in use");
    } else if (is_hidden(wanted.ip, *carrier)) {
      say(wanted.ip, kWarn, text + ", which leads to no other machine by itself");
    } else {
      say(wanted.ip, kPass, text);
    }
    if (is_loopback_ip(wanted.ip)) return;
    judge_mask(wanted, *own, *carrier);
    judge_duplicate(wanted.ip);
    judge_overlap(*own, *carrier);
  }

  // On loopback or a dummy, and not because the network is routed to such addresses.
  bool is_hidden(const std::string& ip, const InterfaceEvidence& carrier) const {
    if (is_loopback_ip(ip) || is_wired(carrier) || carrier.kind == "tunnel") return false;
    return any_of(evidence_.pairs, [&](const PairEvidence& pair) {
      return own_ip(pair, job_.name) == ip && !reaches(pair).value_or(false);
    });
  }

  void judge_mask(const Cidr& wanted, const AddressEvidence& own, const InterfaceEvidence& nic) {
    const std::string detail = wanted.ip + " mask";
    std::vector<std::string> others;
    for (const DataAddress& peer : data_addresses(evidence_)) {
      const bool near = peer.at.job != &job_ && peer.prefix != own.prefix &&
                        same_subnet(peer.ip, own.ip, std::min(peer.prefix, own.prefix));
      if (near) others.push_back(fmt::format("{}/{}", peer.ip, peer.prefix));
    }
    if (wanted.prefix > 0 && own.prefix != wanted.prefix) {
      return say(detail, kWarn,
                 fmt::format("{} has {}/{}, the host file says /{}", nic.name, own.ip, own.prefix,
                             wanted.prefix));
    }
    if (!others.empty()) {
      return say(detail, kWarn,
                 fmt::format("{} has {}/{}, peers have {}", nic.name, own.ip, own.prefix,
                             join_words(others)));
    }
    if (wanted.prefix == 0) {
      return say(detail, kSkipped, "the host file gives no prefix length to compare");
    }
    say(detail, kPass, fmt::format("/{} as in the host file", own.prefix));
  }

  void judge_duplicate(const std::string& ip) {
    const std::string detail = ip + " duplicate";
    std::vector<std::string> foreign;
    bool asked = false;
    for (const PairEvidence& pair : evidence_.pairs) {
      if (pair.to != job_.name || pair.to_ip != ip || !pair.neighbour) continue;
      for (const std::string& mac : pair.neighbour->macs) {
        const bool told = pair.neighbour->kernel_state == "PERMANENT" &&
                          pair.neighbour->kernel_mac == mac && pair.neighbour->method != "arp";
        if (told) continue;  // a static entry: nobody has answered
        asked = true;
        if (!has_mac(host_, mac) && !is_in(foreign, mac)) foreign.push_back(mac);
      }
    }
    for (const HostEvidence& other : evidence_.hosts) {
      if (other.name == job_.name) continue;
      const InterfaceEvidence* theirs = interface_of(other, ip);
      const JobHost* entry = find_job_host(evidence_, other.name);
      const bool local =
          entry != nullptr && entry->reached_by == "local" && job_.reached_by == "local";
      if (theirs == nullptr || local) continue;
      return say(detail, kFail,
                 fmt::format("{} is on {} of {} as well", ip, theirs->name, other.name));
    }
    if (!foreign.empty()) {
      return say(detail, kFail, "another machine answers for it too: " + join_words(foreign));
    }
    if (!asked) return say(detail, kUnknown, "no host asked on the link who has it");
    say(detail, kPass, "only this host answers for it");
  }

  void judge_overlap(const AddressEvidence& own, const InterfaceEvidence& carrier) {
    if (is_link_local_ip(own.ip)) return;
    for (const InterfaceEvidence& other : host_.interfaces) {
      if (&other == &carrier || !other.up || other.kind == "loopback") continue;
      for (const AddressEvidence& second : other.addresses) {
        const bool same = !is_link_local_ip(second.ip) && second.prefix >= own.prefix &&
                          second.prefix < address_bits(second.ip) &&
                          overlap({own.ip, own.prefix}, {second.ip, second.prefix});
        if (!same) continue;
        say(own.ip + " " + other.name, kWarn,
            fmt::format("{}/{} on {} lies in the same subnet", second.ip, second.prefix,
                        other.name));
        break;
      }
    }
  }

  std::string list_addresses() const {
    std::vector<std::string> words;
    for (const InterfaceEvidence& interface : host_.interfaces) {
      if (!interface.up || interface.kind == "loopback") continue;
      for (const AddressEvidence& own : interface.addresses) {
        words.push_back(fmt::format("{} on {}", own.ip, interface.name));
      }
    }
    return words.empty() ? "none" : join_words(words);
  }

  const EvidenceSet& evidence_;
  const JobHost& job_;
  const HostEvidence& host_;
  std::vector<Check>& checks_;
};

// Pairs without a subnet in common: does a router join them?
void judge_subnets(const EvidenceSet& evidence, std::vector<Check>& checks) {
  const auto all = data_addresses(evidence);
  for (const PairEvidence& pair : evidence.pairs) {
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (!between_machines(pair) || from == nullptr || to == nullptr) continue;
    if (same_subnet(from->ip, to->ip, std::min(from->prefix, to->prefix))) continue;
    const auto there = reaches(evidence, pair.from, pair.to);
    const std::string text = fmt::format("{}/{} and {}/{} are in different subnets", from->ip,
                                         from->prefix, to->ip, to->prefix);
    const Subject subject = {"ip", pair.from, pair.to};
    if (!there) {
      checks.push_back(make_check(subject, kUnknown, text + "; nothing was tried"));
    } else if (*there) {
      checks.push_back(make_check(subject, kPass, text + ", joined by a router"));
    } else {
      checks.push_back(make_check(subject, kFail, text + ", and nothing comes back"));
    }
  }
}

}  // namespace

std::vector<Check> judge_link(const EvidenceSet& evidence, const ProbeParams&) {
  return each_host(evidence, "link",
                   [](const JobHost& job, const HostEvidence& host, std::vector<Check>& checks) {
                     LinkJudge(job, host, checks).judge();
                   });
}

std::vector<Check> judge_ip(const EvidenceSet& evidence, const ProbeParams&) {
  auto checks = each_host(
      evidence, "ip", [&](const JobHost& job, const HostEvidence& host, std::vector<Check>& out) {
        AddressJudge(evidence, job, host, out).judge();
      });
  judge_subnets(evidence, checks);
  return checks;
}

}  // namespace plumbline
