#include "probes/checks.h"

namespace plumbline {

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
                     Remedy remedy) {
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

}  // namespace plumbline
