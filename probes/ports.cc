#include "probes/ports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "probes/checks.h"
#include "probes/port_list.h"
#include "probes/remedy.h"
#include "probes/reserved_ports.h"
#include "transport/port_owner.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

constexpr const char* kId = "ports";
constexpr int kLastPort = 65535;
// Where windows of `--port-base auto` may lie: above the well-known services, below the usual
// ephemeral ranges.
constexpr int kFirstWindow = 20000, kLastWindow = 32000;

bool in_range(int port, std::pair<int, int> range) {
  return port >= range.first && port <= range.second;
}

Check plan_check(const std::string& host, CheckOutcome outcome, std::string reason) {
  return make_check({kId, host, {}, {}, "plan"}, outcome, std::move(reason));
}

// What is wrong with the plan itself, and what to type instead; empty = nothing.
std::pair<std::string, std::string> collision(const PortPlan& plan) {
  const int last = plan.base + plan.ranks - 1;
  const std::string window = fmt::format("{}-{}", plan.base, last);
  if (plan.base < 1 || last > kLastPort) {
    return {
        fmt::format("the window {} of {} ranks leaves the port range 1-65535", window, plan.ranks),
        fmt::format("--port-base {}", std::max(1, std::min(29600, kLastPort + 1 - plan.ranks)))};
  }
  if (plan.master < 1 || plan.master > kLastPort) {
    return {fmt::format("master port {} is outside the port range 1-65535", plan.master),
            "--master-port 29500"};
  }
  if (plan.master < plan.base || plan.master > last) return {};
  const int above = plan.master + 100;
  const int free_base = above + plan.ranks - 1 <= kLastPort ? above : plan.master - plan.ranks;
  return {
      fmt::format("master port {} lies in the window {} where ranks listen", plan.master, window),
      fmt::format("--port-base {}", std::max(1, free_base))};
}

Check judge_ephemeral(const std::string& host, const PortPlan& plan, std::pair<int, int> ephemeral,
                      const std::vector<int>& reserved) {
  const Subject subject = {kId, host, {}, {}, "ephemeral"};
  if (ephemeral.second == 0) {
    return make_check(subject, CheckOutcome::kSkipped,
                      "this system does not show its ephemeral port range");
  }
  std::vector<int> inside;
  for (const int port : plan.all_ports()) {
    const bool kept = std::find(reserved.begin(), reserved.end(), port) != reserved.end();
    if (in_range(port, ephemeral) && !kept) inside.push_back(port);
  }
  const std::string range = fmt::format("{}-{}", ephemeral.first, ephemeral.second);
  if (inside.empty()) {
    return make_check(subject, CheckOutcome::kPass,
                      fmt::format("no port may be taken from the ephemeral range {}", range));
  }
  const std::string list = format_port_list(inside);
  return make_check(subject, CheckOutcome::kWarn,
                    fmt::format("{} in the ephemeral range {}: any outgoing connection may take "
                                "them at any moment; {}",
                                list, range, remedy_reserve_ports(list)));
}

// The first state that is not free on any of the addresses decides about a port.
PortState try_port(const std::vector<NicAddress>& addresses, int port) {
  PortState state;
  state.port = port;
  state.free = true;
  for (const NicAddress& address : addresses) {
    auto where = make_socket_address(address.ip, static_cast<uint16_t>(port));
    if (where) {
      auto listener = listen_on(*where, {});
      if (listener) continue;
      state.error = listener.error();
    } else {
      state.error = where.error();
    }
    state.free = false;
    if (state.error.code == ErrorCode::kBusy) {
      state.owner = port_owner(static_cast<uint16_t>(port));
      return state;
    }
  }
  return state;
}

Check judge_port(const std::string& host, const PortState& state) {
  const Subject subject = {kId, host, {}, state.port, {}};
  if (state.free) return make_check(subject, CheckOutcome::kPass, "free");
  if (state.error.code != ErrorCode::kBusy) {
    return make_check(subject, CheckOutcome::kUnknown, state.error.message());
  }
  if (state.owner.empty()) {
    return make_check(subject, CheckOutcome::kFail,
                      "in use, though no listening process can be seen: perhaps an outgoing "
                      "connection has taken it");
  }
  return make_check(subject, CheckOutcome::kFail, "held by " + state.owner);
}

bool is_free(const std::vector<NicAddress>& addresses, const std::vector<int>& ports) {
  const auto states = try_ports(addresses, ports);
  return std::all_of(states.begin(), states.end(), [](const PortState& s) { return s.free; });
}

}  // namespace

std::vector<int> PortPlan::window() const {
  std::vector<int> ports;
  for (int port = std::max(base, 1); port < base + ranks && port <= kLastPort; ++port) {
    ports.push_back(port);
  }
  return ports;
}

std::vector<int> PortPlan::all_ports() const {
  std::vector<int> ports = window();
  if (master >= 1 && master <= kLastPort) ports.push_back(master);
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

PortPlan plan_of(const ProbeContext& context) {
  return {context.port_base, context.ranks, context.master_port};
}

ProbeResult judge_port_plan(const std::string& host, const PortPlan& plan,
                            std::pair<int, int> ephemeral, const std::vector<int>& reserved) {
  ProbeResult result;
  if (const auto [wrong, remedy] = collision(plan); !wrong.empty()) {
    const Check check = plan_check(host, CheckOutcome::kFail, wrong);
    Finding finding = make_finding("tcp.port_collision", Severity::kFail, check, remedy);
    finding.ports = plan.all_ports();
    result.findings.push_back(std::move(finding));
    result.checks.push_back(check);
  } else {
    result.checks.push_back(plan_check(
        host, CheckOutcome::kPass,
        fmt::format("ranks on {}, master port {}", format_port_list(plan.window()), plan.master)));
  }
  result.checks.push_back(judge_ephemeral(host, plan, ephemeral, reserved));
  return result;
}

std::vector<PortState> try_ports(const std::vector<NicAddress>& addresses,
                                 const std::vector<int>& ports) {
  std::vector<PortState> states;
  for (const int port : ports) states.push_back(try_port(addresses, port));
  return states;
}

std::vector<Finding> held_port_findings(const std::vector<PortState>& states,
                                        const std::vector<Check>& checks,
                                        const std::string& suggestion) {
  std::map<std::string, Finding> by_owner;
  for (size_t i = 0; i < states.size(); ++i) {
    const PortState& state = states[i];
    if (state.free || state.error.code != ErrorCode::kBusy) continue;
    const auto [it, first] = by_owner.try_emplace(state.owner);
    Finding next = make_finding("tcp.port_in_use", Severity::kFail, checks[i], "");
    if (first) {
      const std::string look = remedy_show_listener(state.port);
      next.remedy = suggestion.empty()
                        ? fmt::format("end that process; `{}` shows it", look)
                        : fmt::format("choose free ports: {} (or end that process; `{}` shows it)",
                                      suggestion, look);
      it->second = std::move(next);
      continue;
    }
    it->second.port.reset();
    it->second.ports.push_back(state.port);
    it->second.evidence.push_back(next.evidence[0]);
    it->second.explains.push_back(next.explains[0]);
  }
  std::vector<Finding> out;
  for (auto& [owner, finding] : by_owner) out.push_back(std::move(finding));
  return out;
}

ProbeResult judge_ports(const std::string& host, const std::vector<PortState>& states,
                        const std::string& suggestion) {
  ProbeResult result;
  for (const PortState& state : states) result.checks.push_back(judge_port(host, state));
  result.findings = held_port_findings(states, result.checks, suggestion);
  return result;
}

Expected<int> find_free_window(const std::vector<NicAddress>& addresses, int ranks, int master_port,
                               std::pair<int, int> ephemeral) {
  const int places = ranks > 0 ? (kLastWindow - kFirstWindow) / ranks : 0;
  for (int i = 0; i < places; ++i) {
    const int place = static_cast<int>((getpid() + int64_t{i}) % places);
    const PortPlan plan = {kFirstWindow + place * ranks, ranks, master_port};
    const std::vector<int> window = plan.window();
    const bool apart = std::none_of(window.begin(), window.end(), [&](int port) {
      return port == master_port || in_range(port, ephemeral);
    });
    if (apart && is_free(addresses, window)) return plan.base;
  }
  return fail(ErrorCode::kBusy,
              fmt::format("find {} free ports in a row between {} and {}", ranks, kFirstWindow,
                          kLastWindow),
              "choose a window with --port-base, or end what holds the ports");
}

std::string suggest_ports(const ProbeContext& context, const std::vector<NicAddress>& addresses,
                          bool master_too) {
  const int extra = master_too ? 1 : 0;
  const auto base = find_free_window(addresses, context.ranks + extra, context.master_port,
                                     context.facts.ephemeral_ports);
  if (!base) return {};
  if (!master_too) return fmt::format("--port-base {}", *base);
  return fmt::format("--port-base {} --master-port {}", *base, *base + context.ranks);
}

ProbeResult probe_ports(const ProbeContext& context) {
  ProbeResult result;
  const PortPlan plan = plan_of(context);
  const std::vector<int> reserved = reserved_ports();
  for (size_t i = 0; i < context.hosts.size(); ++i) {
    const ProbeHost& host = context.hosts[i];
    if (const auto earlier = same_addresses(context, i)) {
      result.checks.push_back(plan_check(host.name, CheckOutcome::kSkipped,
                                         "same machine and addresses as " + *earlier));
      continue;
    }
    append(result, judge_port_plan(host.name, plan, context.facts.ephemeral_ports, reserved));
    const auto states = try_ports(host.data, plan.all_ports());
    std::string suggestion;
    bool master_held = false, held = false;
    for (const PortState& state : states) {
      const bool busy = !state.free && state.error.code == ErrorCode::kBusy;
      held = held || busy;
      master_held = master_held || (busy && state.port == plan.master);
    }
    if (held) suggestion = suggest_ports(context, host.data, master_held);
    append(result, judge_ports(host.name, states, suggestion));
  }
  return result;
}

}  // namespace plumbline
