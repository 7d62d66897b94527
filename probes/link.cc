#include "probes/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "probes/checks.h"
#include "probes/remedy.h"
#include "probes/subnet.h"

namespace plumbline {
namespace {

constexpr const char* kId = "link";

Check nic_check(const ProbeHost& host, const Nic& nic, CheckOutcome outcome, std::string reason) {
  return make_check({kId, host.name, {}, {}, nic.name}, outcome, std::move(reason));
}

bool carries_data(const Nic& nic, const ProbeHost& host, const std::vector<Nic>& nics) {
  return std::any_of(host.data.begin(), host.data.end(),
                     [&](const NicAddress& address) { return carrier_of(address, nics) == &nic; });
}

// A loopback interface that is down has lost its addresses, so nobody carries 127.0.0.1 then.
bool is_silent_loopback(const Nic& nic, const ProbeHost& host) {
  return nic.kind == "loopback" && !nic.up &&
         std::any_of(host.data.begin(), host.data.end(),
                     [](const NicAddress& address) { return address.loopback; });
}

void judge_nic(const ProbeHost& host, const Nic& nic, bool needed, ProbeResult& result) {
  const std::string text = describe_nic(nic);
  if (nic.up && nic.carrier) {
    result.checks.push_back(nic_check(host, nic, CheckOutcome::kPass, text));
    return;
  }
  if (!needed) {
    result.checks.push_back(
        nic_check(host, nic, CheckOutcome::kSkipped, text + "; carries no data address"));
    return;
  }
  const bool loopback = nic.kind == "loopback";
  const auto outcome = loopback ? CheckOutcome::kWarn : CheckOutcome::kFail;
  const auto severity = loopback ? Severity::kWarn : Severity::kFail;
  result.checks.push_back(nic_check(host, nic, outcome, text));
  if (!nic.up) {
    result.findings.push_back(
        make_finding("link.down", severity, result.checks.back(), remedy_link_up(nic.name)));
  } else {
    result.findings.push_back(make_finding(
        "link.no_carrier", severity, result.checks.back(),
        fmt::format("plug in the cable of {}, and check the port at its other end", nic.name)));
  }
}

// A data address that nobody carries, on a host without any interface that could: the interface is
// what is missing.
void judge_absent(const ProbeHost& host, const std::vector<Nic>& nics, ProbeResult& result) {
  for (const NicAddress& address : host.data) {
    if (address.loopback || carrier_of(address, nics) != nullptr) continue;
    const bool candidate = std::any_of(
        nics.begin(), nics.end(), [](const Nic& nic) { return nic.up && nic.kind != "loopback"; });
    if (candidate) continue;
    const Check check =
        make_check({kId, host.name, {}, {}, address.ip}, CheckOutcome::kFail,
                   fmt::format("no interface but loopback is up that could carry {}", address.ip));
    result.findings.push_back(
        make_finding("link.missing", Severity::kFail, check,
                     fmt::format("connect the network card that carries {}, or switch it on: `ip "
                                 "link` or `ifconfig -a` lists what there is",
                                 address.ip)));
    result.checks.push_back(check);
  }
}

std::string describe_speed(uint64_t bits_per_second) {
  if (bits_per_second % 1'000'000'000 == 0) {
    return fmt::format("{} Gbit/s", bits_per_second / 1'000'000'000);
  }
  return fmt::format("{} Mbit/s", bits_per_second / 1'000'000);
}

}  // namespace

const Nic* carrier_of(const NicAddress& address, const std::vector<Nic>& nics) {
  for (const Nic& nic : nics) {
    for (const NicAddress& own : nic.addresses) {
      if (own.ip == address.ip) return &nic;
    }
  }
  for (const Nic& nic : nics) {
    if (nic.kind != "loopback" || !nic.up) continue;
    for (const NicAddress& own : nic.addresses) {
      if (own.prefix > 0 && same_subnet(own.ip, address.ip, own.prefix)) return &nic;
    }
  }
  return nullptr;
}

std::string describe_nic(const Nic& nic) {
  std::string text = fmt::format("{}: {}, {}", nic.name, nic.kind,
                                 !nic.up        ? "down"
                                 : !nic.carrier ? "up, no carrier"
                                                : "up");
  if (nic.speed_bps) text += ", " + describe_speed(*nic.speed_bps);
  if (nic.mtu > 0) text += fmt::format(", MTU {}", nic.mtu);
  if (!nic.master.empty()) text += ", member of " + nic.master;
  for (const NicAddress& address : nic.addresses) {
    text += fmt::format(", {}/{}", address.ip, address.prefix);
  }
  return text;
}

ProbeResult judge_links(const ProbeHost& host, const std::vector<Nic>& nics) {
  ProbeResult result;
  for (const Nic& nic : nics) {
    judge_nic(host, nic, carries_data(nic, host, nics) || is_silent_loopback(nic, host), result);
  }
  judge_absent(host, nics, result);
  return result;
}

ProbeResult probe_link(const ProbeContext& context) {
  return judge_each_host(
      context, kId, [&](const ProbeHost& host) { return judge_links(host, context.facts.nics); });
}

}  // namespace plumbline
