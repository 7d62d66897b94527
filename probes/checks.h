// Small helpers with which all judges and rules build their checks and findings. Pure functions,
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/diagnosis/finding.h"

namespace plumbline {

// What a check is about. Its key is "ID/HOST[>PEER][:PORT][#DETAIL]".
struct Subject {
  std::string id, host, peer = {};
  std::optional<int> port = {};
  std::string detail = {};
};
std::string key_of(const Subject& subject);
Check make_check(const Subject& subject, CheckOutcome outcome, std::string reason);

// A finding about the host of this check, with the check's reason as evidence and its key among
// what is explained.
Finding make_finding(const std::string& cause, Severity severity, const Check& check,
                     Remedy remedy);

}  // namespace plumbline
