#include "probes/tcp_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/units.h"
#include "probes/checks.h"
#include "probes/port_list.h"
#include "probes/remedy.h"

namespace plumbline {
namespace {

constexpr const char* kId = "tcp.connect";

// Which cause a blocked port points to. Without captures at both ends the word of the socket is
// the only evidence, hence the modest confidence.
struct CauseRow {
  AttemptOutcome outcome;
  const char* cause;
  double confidence;
};
constexpr CauseRow kCauses[] = {
    {AttemptOutcome::kTimeout, "firewall.drop_inbound", 0.5},
    {AttemptOutcome::kRefused, "firewall.reject_rst", 0.6},
    {AttemptOutcome::kUnreachable, "firewall.reject_icmp", 0.8},
    {AttemptOutcome::kReset, "firewall.reject_rst", 0.5},
};

const CauseRow* cause_of(AttemptOutcome outcome) {
  const auto* row = std::find_if(std::begin(kCauses), std::end(kCauses),
                                 [&](const CauseRow& r) { return r.outcome == outcome; });
  return row == std::end(kCauses) ? nullptr : row;
}

bool no_route(const PortAttempt& attempt) {
  return attempt.outcome == AttemptOutcome::kUnreachable && attempt.error.cause == "route.missing";
}

std::pair<CheckOutcome, std::string> verdict(const PortAttempt& attempt) {
  const std::string after = format_duration(static_cast<double>(attempt.time_ns));
  switch (attempt.outcome) {
    case AttemptOutcome::kOpen:
      return {CheckOutcome::kPass, "connected in " + after};
    case AttemptOutcome::kHeld:
      return {CheckOutcome::kFail,
              "not tried: the port is held by " +
                  (attempt.owner.empty() ? std::string("somebody unseen") : attempt.owner)};
    case AttemptOutcome::kNoListener:
      return {CheckOutcome::kUnknown, "not tried: " + attempt.error.message()};
    case AttemptOutcome::kRefused:
      return {CheckOutcome::kFail, "refused, though plumbline was listening there"};
    case AttemptOutcome::kTimeout:
      return {CheckOutcome::kFail, fmt::format("no answer within {}", after)};
    case AttemptOutcome::kUnreachable:
      return {CheckOutcome::kFail, attempt.error.message()};
    case AttemptOutcome::kReset:
      return {CheckOutcome::kFail, "connected, then reset"};
    case AttemptOutcome::kNoTime:
      return {CheckOutcome::kUnknown, "no time was left to wait for an answer"};
    case AttemptOutcome::kWrongService:
      break;
  }
  return {CheckOutcome::kFail,
          "somebody accepted the connection, but plumbline's listener never saw it"};
}

class PairJudge {
 public:
  PairJudge(const PairAttempt& pair, const std::string& suggestion)
      : pair_(pair), suggestion_(suggestion) {}

  ProbeResult judge() {
    for (const PortAttempt& attempt : pair_.ports) {
      const auto [outcome, reason] = verdict(attempt);
      result_.checks.push_back(
          make_check({kId, pair_.from, pair_.to, attempt.port}, outcome, reason));
    }
    held_ports();
    for (size_t i = 0; i < pair_.ports.size(); ++i) {
      if (no_route(pair_.ports[i])) no_route_from(i);
      if (pair_.ports[i].outcome == AttemptOutcome::kWrongService) wrong_service(i);
    }
    blocked_ports();
    return std::move(result_);
  }

 private:
  void held_ports() {
    std::vector<PortState> states;
    for (const PortAttempt& attempt : pair_.ports) {
      PortState state;
      state.port = attempt.port;
      state.free = attempt.outcome != AttemptOutcome::kHeld;
      state.owner = attempt.owner;
      state.error.code = ErrorCode::kBusy;
      states.push_back(std::move(state));
    }
    for (Finding& finding : held_port_findings(states, result_.checks, suggestion_)) {
      // Hosts that are one machine share its ports: one finding, as the probe `ports` gives it.
      finding.host = pair_.machine;
      finding.peer.clear();
      result_.findings.push_back(std::move(finding));
    }
  }

  // The remedy belongs to the host that listens; the check names the one that connects.
  void at_receiver(Finding& finding) const {
    finding.host = pair_.to;
    finding.peer = pair_.from;
  }

  void no_route_from(size_t i) {
    result_.findings.push_back(
        make_finding("route.missing", Severity::kFail, result_.checks[i],
                     fmt::format("give {} an address in the subnet of {}, or a route to it",
                                 pair_.from, pair_.to_ip)));
    result_.findings.back().port.reset();
    result_.findings.back().ports.clear();
  }

  void wrong_service(size_t i) {
    Finding finding =
        make_finding("tcp.wrong_service", Severity::kFail, result_.checks[i],
                     fmt::format("find who redirects port {}: {}", pair_.ports[i].port,
                                 remedy_show_listener(pair_.ports[i].port)));
    at_receiver(finding);
    result_.findings.push_back(std::move(finding));
  }

  // One finding for all blocked ports: the plain cause when no port of the job is open, otherwise
  // that a part of the window is blocked.
  void blocked_ports() {
    std::map<std::string, std::vector<size_t>> by_cause;
    bool some_open = false;
    double confidence = 0;
    std::vector<size_t> blocked;
    for (size_t i = 0; i < pair_.ports.size(); ++i) {
      const PortAttempt& attempt = pair_.ports[i];
      some_open = some_open || (attempt.of_job && attempt.outcome == AttemptOutcome::kOpen);
      const CauseRow* row = no_route(attempt) ? nullptr : cause_of(attempt.outcome);
      if (row == nullptr) continue;
      blocked.push_back(i);
      by_cause[row->cause].push_back(i);
      confidence = std::max(confidence, row->confidence);
    }
    if (blocked.empty()) return;
    if (some_open) {
      // Open neighbours rule out every cause but a filter on ports.
      add_blocked("firewall.partial_range", 0.9, blocked);
      return;
    }
    for (const auto& [cause, members] : by_cause) add_blocked(cause.c_str(), confidence, members);
  }

  void add_blocked(const char* cause, double confidence, const std::vector<size_t>& members) {
    Finding finding = make_finding(cause, Severity::kFail, result_.checks[members[0]], "");
    at_receiver(finding);
    finding.confidence = confidence;
    finding.ports.clear();
    finding.evidence.clear();
    finding.explains.clear();
    for (const size_t i : members) {
      const Check& check = result_.checks[i];
      finding.ports.push_back(pair_.ports[i].port);
      finding.evidence.push_back({check.host, check.key, check.reason});
      finding.explains.push_back(check.key);
    }
    if (members.size() > 1) finding.port.reset();
    finding.remedy =
        remedy_allow_ports(pair_.from_ip, pair_.to_ip, format_port_list(finding.ports));
    result_.findings.push_back(std::move(finding));
  }

  const PairAttempt& pair_;
  const std::string& suggestion_;
  ProbeResult result_;
};

}  // namespace

ProbeResult judge_pair(const PairAttempt& pair, const std::string& suggestion) {
  return PairJudge(pair, suggestion).judge();
}

}  // namespace plumbline
