#include "probes/checks.h"

#include <algorithm>
#include <iterator>

namespace plumbline {
namespace {

bool subset(const std::vector<int>& small, const std::vector<int>& large) {
  return std::all_of(small.begin(), small.end(), [&](int port) {
    return std::find(large.begin(), large.end(), port) != large.end();
  });
}

bool same_subject(const Finding& a, const Finding& b) {
  if (a.cause != b.cause || a.outcome != b.outcome || a.host != b.host) return false;
  if (a.ports.empty() && b.ports.empty()) return a.remedy == b.remedy;
  return subset(a.ports, b.ports) || subset(b.ports, a.ports);
}

void join(Finding& into, Finding&& from) {
  if (from.ports.size() > into.ports.size()) {
    into.ports = from.ports;
    into.port = from.port;
    into.remedy = from.remedy;
  }
  if (into.peer != from.peer) into.peer.clear();
  into.confidence = std::max(into.confidence, from.confidence);
  std::move(from.evidence.begin(), from.evidence.end(), std::back_inserter(into.evidence));
  std::move(from.explains.begin(), from.explains.end(), std::back_inserter(into.explains));
}

}  // namespace

Check make_check(const Subject& subject, CheckOutcome outcome, std::string reason) {
  Check check;
  check.key = subject.id + "/" + subject.host;
  if (!subject.peer.empty()) check.key += ">" + subject.peer;
  if (subject.port) check.key += ":" + std::to_string(*subject.port);
  if (!subject.detail.empty()) check.key += "#" + subject.detail;
  check.id = subject.id;
  check.host = subject.host;
  check.peer = subject.peer;
  check.port = subject.port;
  check.outcome = outcome;
  check.reason = std::move(reason);
  return check;
}

Finding make_finding(const std::string& cause, Severity severity, const Check& check,
                     std::string remedy) {
  Finding finding;
  finding.cause = cause;
  finding.outcome = severity;
  finding.host = check.host;
  finding.peer = check.peer;
  finding.port = check.port;
  if (check.port) finding.ports = {*check.port};
  finding.evidence = {{check.host, check.key, check.reason}};
  finding.remedy = std::move(remedy);
  finding.explains = {check.key};
  return finding;
}

std::optional<std::string> same_machine(const ProbeContext& context, size_t host) {
  if (host == 0) return std::nullopt;
  return context.hosts[0].name;
}

std::optional<std::string> same_addresses(const ProbeContext& context, size_t host) {
  for (size_t i = 0; i < host; ++i) {
    if (context.hosts[i].data == context.hosts[host].data) return context.hosts[i].name;
  }
  return std::nullopt;
}

void merge_findings(std::vector<Finding>& findings) {
  std::vector<Finding> out;
  for (Finding& finding : findings) {
    const auto same = std::find_if(
        out.begin(), out.end(), [&](const Finding& other) { return same_subject(finding, other); });
    if (same == out.end()) {
      out.push_back(std::move(finding));
    } else {
      join(*same, std::move(finding));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.outcome < b.outcome; });
  findings = std::move(out);
}

void append(ProbeResult& to, ProbeResult from) {
  std::move(from.checks.begin(), from.checks.end(), std::back_inserter(to.checks));
  std::move(from.findings.begin(), from.findings.end(), std::back_inserter(to.findings));
}

ProbeResult judge_each_host(const ProbeContext& context, const std::string& id,
                            const std::function<ProbeResult(const ProbeHost&)>& judge) {
  ProbeResult result;
  for (size_t i = 0; i < context.hosts.size(); ++i) {
    if (const auto earlier = same_addresses(context, i)) {
      result.checks.push_back(make_check({id, context.hosts[i].name}, CheckOutcome::kSkipped,
                                         "same machine and addresses as " + *earlier));
      continue;
    }
    append(result, judge(context.hosts[i]));
  }
  return result;
}

}  // namespace plumbline
