// What probes say: a Check is one question with its outcome (pass, warn, fail, skipped, unknown:
// never is "unknown" a pass); a Finding is a root cause with evidence and the exact remedy. The
// JSON of `doctor --json` is written from these. From both follows whether something is broken: the
// one answer to that for everybody who says it (doctor, a run, its page, JUnit, checklists), so
// that what is shown as FAIL, the verdict and the exit code never disagree. Plain values, pure
// functions.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/remedy.h"

namespace plumbline {

// How something stands, for checks and findings alike: what may be wrong from the mildest on, then
// what was not looked at.
enum class Standing { kPass, kNote, kWarn, kFail, kSkipped, kUnknown };
// "pass", "note", "warn", "fail", "skipped", "unknown".
const char* to_string(Standing standing);
using CheckOutcome = Standing;  // as it came out: anything but kNote
using Severity = Standing;      // of a finding: kNote, kWarn, kFail

struct Check {
  std::string key;         // unique in one run, id/place: "tcp.connect/local0>local1:29600"
  std::string id;          // probe id: "tcp.connect"
  std::string host, peer;  // peer empty when none
  std::optional<int> port;
  std::string detail;  // which part of it: "plan", "mask"; known to judges and rules alone
  CheckOutcome outcome = CheckOutcome::kUnknown;
  std::string reason;  // one line: what was seen, or why it was skipped
};

// "local0>local1:29600": the key without the id.
std::string place_of(const Check& check);
// Whether it is the key of a check of this probe.
bool is_of_probe(std::string_view key, std::string_view id);

struct Evidence {
  std::string host, check, text;
};

struct Finding {
  std::string cause;  // cause id, "tcp.port_in_use"
  Severity outcome = Severity::kFail;
  std::string host, peer;
  std::optional<int> port;
  std::vector<int> ports;
  double confidence = 1.0;
  std::vector<Evidence> evidence;
  Remedy remedy;
  std::vector<std::string> explains;  // keys of checks that this makes redundant
};

// What it is and where, in the one form that everybody shows: "tcp.port_in_use on a, towards b,
// ports 29600, 29601".
std::string title_of(const Finding& finding);
// What decided it and what to do, on one line: "PID 7 holds it; remedy: kill 7"; may be empty.
std::string gist_of(const Finding& finding);

void to_json(nlohmann::json& json, const Check& check);
void to_json(nlohmann::json& json, const Finding& finding);
// What to_json() wrote, but for the commands of the remedy: they come back as text to be shown,
// never as something to execute. Unknown keys are ignored, missing ones keep their default, words
// that are not known become "unknown" and "note"; a value of the wrong type or out of range throws
// nlohmann::json::exception: whoever reads a file catches it.
void from_json(const nlohmann::json& json, Check& check);
void from_json(const nlohmann::json& json, Finding& finding);

// ---- is something broken? ----

// A check that findings explain is only as bad as the worst of these: where all that is behind it
// is a warning or a note, it is a warning or a note. One that nothing explains stands as it came
// out.
class Standings {
 public:
  explicit Standings(const std::vector<Finding>& findings);
  Standing of(const Check& check) const;
  bool explained(const Check& check) const { return worst_.count(check.key) != 0; }

 private:
  std::map<std::string, Severity> worst_;  // by the key of the check
};

enum class Health { kOk, kWarn, kFail };
// "ok", "warn", "fail": the verdict.
const char* to_string(Health health);

// kFail: something is broken, and whoever asked ends with exit code 2. That is so when a finding
// fails, or a check stands as failed; kWarn likewise. Notes, skipped and unknown checks break
// nothing.
Health health_of(const std::vector<Check>& checks, const std::vector<Finding>& findings);

// Failed checks that no finding explains, in their order: broken, and nobody knows why.
std::vector<const Check*> unexplained_failures(const std::vector<Check>& checks,
                                               const std::vector<Finding>& findings);

}  // namespace plumbline
