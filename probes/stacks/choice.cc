#include "probes/stacks/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"

namespace plumbline {
namespace {

// IPv4, global IPv6, link-local IPv6.
int family_order(const AddressEvidence& address) {
  if (!is_v6(address.ip)) return 0;
  return is_link_local_ip(address.ip) ? 2 : 1;
}

bool has(const InterfaceEvidence& interface, Wants wants) {
  return interface.up && (wants == Wants::kUp || interface.carrier.value_or(true));
}

const HostEvidence& nothing_known() {
  static const HostEvidence kNone;
  return kNone;
}

}  // namespace

std::string shown(const StackAddress& at) { return at.interface->name + " " + at.address->ip; }

std::vector<StackAddress> addresses_in_order(const HostEvidence& host, Wants wants) {
  std::vector<StackAddress> out;
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (!has(interface, wants)) continue;
    for (const AddressEvidence& address : interface.addresses)
      out.push_back({&interface, &address});
  }
  std::stable_sort(out.begin(), out.end(), [](const StackAddress& a, const StackAddress& b) {
    if (a.interface->index != b.interface->index) return a.interface->index < b.interface->index;
    return family_order(*a.address) < family_order(*b.address);
  });
  return out;
}

std::optional<StackAddress> first_address(const HostEvidence& host,
                                          const std::function<bool(const StackAddress&)>& holds,
                                          Wants wants) {
  for (const StackAddress& at : addresses_in_order(host, wants)) {
    if (holds(at)) return at;
  }
  return std::nullopt;
}

std::optional<StackAddress> carrier_on(const HostEvidence& host, const std::string& ip) {
  const auto exact = [&](const StackAddress& at) { return at.address->ip == ip; };
  if (auto found = first_address(host, exact)) return found;
  if (!is_loopback_ip(ip)) return std::nullopt;
  return first_address(host, [](const StackAddress& at) { return is_loopback(at); });
}

bool shares_subnet(const StackAddress& at, const std::string& ip) {
  return is_v6(at.address->ip) == is_v6(ip) && same_subnet(ip, at.address->ip, at.address->prefix);
}

bool is_loopback(const StackAddress& at) {
  return at.interface->kind == "loopback" || is_loopback_ip(at.address->ip);
}

PlannedRank::PlannedRank(const StackQuestion& question, StackPlan& plan, size_t rank)
    : plan_(plan),
      rank_(plan.ranks[rank]),
      host_(find_host(*question.evidence, rank_.host)),
      environment_(question.environment[rank]) {
  if (host_ == nullptr) host_ = &nothing_known();
}

bool PlannedRank::known() const { return !host_->interfaces.empty(); }

std::string PlannedRank::variable(const std::string& name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? std::string() : found->second;
}

bool PlannedRank::is_set(const std::string& name) const { return environment_.count(name) != 0; }

int PlannedRank::port(const std::string& name, int fallback) {
  if (!is_set(name)) return fallback;
  const auto port = parse_port(variable(name));
  if (port) return *port;
  trap("config.mismatch", "fail",
       fmt::format("{}={} of rank {} is no port", name, variable(name), rank_.rank),
       fmt::format("give {} a number from 1 to 65535", name));
  return 0;
}

void PlannedRank::choose(const StackAddress& at, const std::string& why) {
  rank_.interface = at.interface->name;
  rank_.ip = at.address->ip;
  rank_.reason = why;
}

void PlannedRank::choose(const std::string& ip, const std::string& why) {
  rank_.ip = ip;
  rank_.reason = why;
  if (const auto carrier = carrier_on(*host_, ip)) rank_.interface = carrier->interface->name;
}

void PlannedRank::cannot(const std::string& why) { rank_.cannot = why; }

void PlannedRank::fixed(const std::string& purpose, const std::string& ip, int port) {
  if (port > 0) rank_.listeners.push_back({purpose, ip, "fixed", port, port});
}

void PlannedRank::window(const std::string& purpose, const std::string& ip, int first, int last) {
  rank_.listeners.push_back({purpose, ip, "window", first, last});
}

void PlannedRank::ephemeral(const std::string& purpose, const std::string& ip) {
  const auto range = ephemeral_range(*host_);
  rank_.listeners.push_back({purpose, ip, "ephemeral", range.first, range.second});
}

void PlannedRank::trap(const char* cause, const char* severity, const std::string& text,
                       const std::string& remedy, std::vector<int> ports) {
  plan_.traps.push_back({cause, severity, rank_.host, {}, std::move(ports), text, remedy});
}

std::string meant_interface(const StackPlan& plan, const HostEvidence& host) {
  const auto meant = plan.meant.find(host.name);
  if (meant != plan.meant.end()) {
    for (const std::string& text : meant->second) {
      const auto carrier = carrier_on(host, parse_cidr(text).ip);
      if (carrier && !is_loopback(*carrier)) return carrier->interface->name;
    }
  }
  const auto other = first_address(
      host, [](const StackAddress& at) { return !is_loopback(at) && is_wired(*at.interface); });
  return other ? other->interface->name : std::string();
}

std::string set_interface(const StackPlan& plan, const HostEvidence& host) {
  const std::string interface = meant_interface(plan, host);
  if (plan.interface_variable.empty() || interface.empty()) return {};
  return fmt::format("set {}={} for the ranks on {}", plan.interface_variable, interface,
                     host.name);
}

}  // namespace plumbline
