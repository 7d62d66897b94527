#include "probes/tcp_connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/units.h"
#include "probes/checks.h"
#include "probes/dial.h"
#include "probes/link.h"
#include "probes/port_list.h"
#include "probes/thresholds.h"
#include "transport/address.h"

namespace plumbline {
namespace {

constexpr const char* kId = "tcp.connect";

// The two addresses that a pair of ranks on these hosts would use.
Expected<AddressPair> addresses_of(const ProbeHost& from, const ProbeHost& to,
                                   const std::vector<Nic>& nics) {
  const auto endpoint = [&](const ProbeHost& host) {
    RankEndpoint out;
    out.host = host.name;
    for (const NicAddress& address : host.data) {
      const Nic* nic = carrier_of(address, nics);
      out.addresses.push_back(
          {address.ip, address.prefix > 0 ? address.prefix : -1, nic == nullptr ? "" : nic->name});
    }
    return out;
  };
  const auto pairs = address_pairs(endpoint(from), endpoint(to));
  if (!pairs) return fail(pairs.error());
  return pairs->front();
}

struct Plan {
  std::vector<int> job_ports, ports;  // ports = those of the job and those asked for
  int64_t timeout_ms = 0;
};

Expected<Plan> make_plan(const ProbeContext& context) {
  Plan plan;
  plan.job_ports = plan_of(context).all_ports();
  plan.ports = plan.job_ports;
  plan.timeout_ms = static_cast<int64_t>(threshold(Threshold::kConnectMs));
  if (const auto it = context.params.find("ports"); it != context.params.end()) {
    const auto extra = parse_port_list(it->second);
    if (!extra) return fail(extra.error());
    plan.ports.insert(plan.ports.end(), extra->begin(), extra->end());
    std::sort(plan.ports.begin(), plan.ports.end());
    plan.ports.erase(std::unique(plan.ports.begin(), plan.ports.end()), plan.ports.end());
  }
  if (const auto it = context.params.find("timeout"); it != context.params.end()) {
    const auto ns = parse_duration(it->second);
    if (!ns) return fail(ns.error());
    plan.timeout_ms = std::max<int64_t>(1, *ns / kMillisecond);
  }
  return plan;
}

class PairProbe {
 public:
  PairProbe(const ProbeContext& context, const Plan& plan) : context_(context), plan_(plan) {}

  // `a` connects to `b`; indices of hosts.
  void run(size_t a, size_t b) {
    const ProbeHost& from = context_.hosts[a];
    const ProbeHost& to = context_.hosts[b];
    const auto skip = [&](CheckOutcome outcome, const std::string& reason) {
      result_.checks.push_back(make_check({kId, from.name, to.name}, outcome, reason));
    };
    const auto addresses = addresses_of(from, to, context_.facts.nics);
    if (!addresses) return skip(CheckOutcome::kUnknown, addresses.error().message());
    const auto& [local, remote, shared] = *addresses;
    if (!tried_.insert({local.ip, remote.ip}).second) {
      return skip(CheckOutcome::kSkipped,
                  fmt::format("{} to {} was tried already", local.ip, remote.ip));
    }
    if (context_.deadline.passed()) return skip(CheckOutcome::kUnknown, "no time was left");
    const std::string machine = same_addresses(context_, b).value_or(to.name);
    PairAttempt pair = {from.name, to.name, machine, local.ip, remote.ip, {}};
    pair.ports = try_connect({local.ip, local.interface}, {remote.ip, remote.interface},
                             plan_.ports, plan_.timeout_ms, context_.deadline);
    append(result_, judge_pair(pair, complete(pair, to)));
  }

  ProbeResult take() { return std::move(result_); }

 private:
  // Says which ports belong to the job, and gives free ports when some are held.
  std::string complete(PairAttempt& pair, const ProbeHost& to) const {
    bool held = false, master_held = false;
    for (PortAttempt& attempt : pair.ports) {
      attempt.of_job =
          std::binary_search(plan_.job_ports.begin(), plan_.job_ports.end(), attempt.port);
      const bool busy = attempt.of_job && attempt.outcome == AttemptOutcome::kHeld;
      held = held || busy;
      master_held = master_held || (busy && attempt.port == context_.master_port);
    }
    return held ? suggest_ports(context_, to.data, master_held) : std::string();
  }

  const ProbeContext& context_;
  const Plan& plan_;
  std::set<std::pair<std::string, std::string>> tried_;
  ProbeResult result_;
};

}  // namespace

ProbeResult probe_tcp_connect(const ProbeContext& context) {
  const auto plan = make_plan(context);
  if (!plan) {
    ProbeResult result;
    for (const ProbeHost& host : context.hosts) {
      result.checks.push_back(
          make_check({kId, host.name}, CheckOutcome::kUnknown, plan.error().message()));
    }
    return result;
  }
  PairProbe probe(context, *plan);
  for (size_t from = 0; from < context.hosts.size(); ++from) {
    for (size_t to = 0; to < context.hosts.size(); ++to) {
      if (from != to) probe.run(from, to);
    }
  }
  return probe.take();
}

}  // namespace plumbline
