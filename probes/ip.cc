#include "probes/ip.h"

#include <fmt/format.h>

#include <algorithm>

#include "probes/checks.h"
#include "probes/link.h"
#include "probes/remedy.h"
#include "probes/subnet.h"

namespace plumbline {
namespace {

constexpr const char* kId = "ip";

Check address_check(const ProbeHost& host, const NicAddress& address, CheckOutcome outcome,
                    std::string reason, const char* what = "") {
  return make_check({kId, host.name, {}, {}, address.ip + what}, outcome, std::move(reason));
}

// Interfaces that are up and not loopback: one of them should have had the address.
std::vector<const Nic*> candidates(const std::vector<Nic>& nics) {
  std::vector<const Nic*> out;
  for (const Nic& nic : nics) {
    if (nic.up && nic.kind != "loopback" && nic.master.empty()) out.push_back(&nic);
  }
  return out;
}

std::string list_addresses(const std::vector<const Nic*>& nics) {
  std::string text;
  for (const Nic* nic : nics) {
    for (const NicAddress& own : nic->addresses) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} on {}", own.ip, nic->name);
    }
  }
  return text.empty() ? "none" : text;
}

// Only self-assigned IPv4 addresses, the sign of a failed DHCP; an fe80 address says nothing,
// because every IPv6 interface has one.
bool self_assigned_only(const std::vector<const Nic*>& nics) {
  bool any = false;
  for (const Nic* nic : nics) {
    for (const NicAddress& own : nic->addresses) {
      if (own.v6) continue;
      if (!own.link_local) return false;
      any = true;
    }
  }
  return any;
}

void judge_absent(const ProbeHost& host, const NicAddress& address, const std::vector<Nic>& nics,
                  ProbeResult& result) {
  const auto possible = candidates(nics);
  const std::string found = list_addresses(possible);
  result.checks.push_back(
      address_check(host, address, CheckOutcome::kFail,
                    fmt::format("{} is not on this host; found: {}", address.ip, found)));
  const Check& check = result.checks.back();
  // Without any interface that could have it, `link` says what is wrong.
  if (address.loopback || possible.empty()) return;
  const std::string add = remedy_add_address(address.ip, address.prefix, possible.front()->name);
  if (!address.v6 && self_assigned_only(possible)) {
    result.findings.push_back(make_finding("ip.link_local_only", Severity::kFail, check, add));
  } else {
    result.findings.push_back(
        make_finding("ip.missing", Severity::kFail, check,
                     fmt::format("correct `data` of {} in the host file, or: {}", host.name, add)));
  }
}

void judge_mask(const ProbeHost& host, const NicAddress& wanted, const NicAddress& own,
                const Nic& nic, ProbeResult& result) {
  if (wanted.prefix <= 0 || own.prefix == wanted.prefix) return;
  const Check check = address_check(host, wanted, CheckOutcome::kWarn,
                                    fmt::format("{} has {}/{}, the host file says /{}", nic.name,
                                                own.ip, own.prefix, wanted.prefix),
                                    " mask");
  result.findings.push_back(
      make_finding("ip.mask_mismatch", Severity::kWarn, check,
                   fmt::format("write {}/{} in the host file, or give {} the prefix length /{}",
                               own.ip, own.prefix, nic.name, wanted.prefix)));
  result.checks.push_back(check);
}

void judge_overlap(const ProbeHost& host, const NicAddress& own, const Nic& nic,
                   const std::vector<Nic>& nics, ProbeResult& result) {
  if (own.loopback || own.link_local || own.prefix <= 0) return;
  for (const Nic& other : nics) {
    if (&other == &nic || !other.up || other.kind == "loopback") continue;
    for (const NicAddress& second : other.addresses) {
      const int wider = std::min(own.prefix, second.prefix);
      if (wider <= 0 || second.link_local || !same_subnet(own.ip, second.ip, wider)) continue;
      const Check check = address_check(
          host, own, CheckOutcome::kWarn,
          fmt::format("{}/{} on {} and {}/{} on {} cover the same addresses: packets may leave "
                      "through either",
                      own.ip, own.prefix, nic.name, second.ip, second.prefix, other.name),
          (" " + other.name).c_str());
      result.findings.push_back(make_finding(
          "ip.overlap", Severity::kWarn, check,
          fmt::format("give {} or {} an address of another subnet", nic.name, other.name)));
      result.checks.push_back(check);
    }
  }
}

void judge_present(const ProbeHost& host, const NicAddress& wanted, const Nic& nic,
                   const std::vector<Nic>& nics, ProbeResult& result) {
  const auto own = std::find_if(nic.addresses.begin(), nic.addresses.end(),
                                [&](const NicAddress& address) { return address.ip == wanted.ip; });
  if (own == nic.addresses.end()) {  // 127.0.0.2: there by the subnet of the loopback interface
    result.checks.push_back(address_check(host, wanted, CheckOutcome::kPass,
                                          fmt::format("{} belongs to {}", wanted.ip, nic.name)));
    return;
  }
  result.checks.push_back(
      address_check(host, wanted, CheckOutcome::kPass,
                    fmt::format("{}/{} on {}", own->ip, own->prefix, nic.name)));
  if (own->link_local) {
    result.findings.push_back(
        make_finding("ip.link_local_only", Severity::kNote, result.checks.back(),
                     fmt::format("fine where the host file means it; an address that lasts: {}",
                                 remedy_add_address("10.10.0.1", 24, nic.name))));
    result.findings.back().explains.clear();
  }
  judge_mask(host, wanted, *own, nic, result);
  judge_overlap(host, *own, nic, nics, result);
}

}  // namespace

ProbeResult judge_addresses(const ProbeHost& host, const std::vector<Nic>& nics) {
  ProbeResult result;
  if (host.data.empty()) {
    result.checks.push_back(make_check({kId, host.name}, CheckOutcome::kUnknown,
                                       "the host file names no data address of this host"));
  }
  for (const NicAddress& address : host.data) {
    if (const Nic* nic = carrier_of(address, nics); nic != nullptr) {
      judge_present(host, address, *nic, nics, result);
    } else {
      judge_absent(host, address, nics, result);
    }
  }
  return result;
}

ProbeResult probe_ip(const ProbeContext& context) {
  return judge_each_host(context, kId, [&](const ProbeHost& host) {
    return judge_addresses(host, context.facts.nics);
  });
}

}  // namespace plumbline
