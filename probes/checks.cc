#include "probes/checks.h"

namespace plumbline {

std::string key_of(const Subject& subject) {
  std::string key = subject.id + "/" + subject.host;
  if (!subject.peer.empty()) key += ">" + subject.peer;
  if (subject.port) key += ":" + std::to_string(*subject.port);
  if (!subject.detail.empty()) key += "#" + subject.detail;
  return key;
}

Check make_check(const Subject& subject, CheckOutcome outcome, std::string reason) {
  Check check;
  check.key = key_of(subject);
  check.id = subject.id;
  check.host = subject.host;
  check.peer = subject.peer;
  check.port = subject.port;
  check.detail = subject.detail;
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
