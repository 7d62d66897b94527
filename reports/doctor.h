// What `doctor` prints: the findings first, because they say what to do, then every check that was
// made. As text for people, or as one JSON object for scripts. Strings that came from hosts are
// cleaned, so that they cannot move the cursor. Pure functions, thread-safe.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "reports/doctor_job.h"

namespace plumbline {

struct DoctorReport {
  std::vector<std::string> hosts;
  std::vector<Check> checks;      // in the order in which they were made
  std::vector<Finding> findings;  // root causes, worst first
  // Failures and warnings of probes that were not asked for, "link.down on h1"; see only_asked.
  std::vector<std::string> left_out = {};
  // What each probe asks, by its name; shown beside its counts.
  std::map<std::string, std::string> probes = {};
  // Keys of checks that were skipped because all hosts are one machine.
  std::set<std::string> one_machine = {};
  // What a library of the user's own would take (doctor --stack): lines for people, and the same
  // as JSON; empty and null where nobody asked.
  std::vector<std::string> plan = {};
  std::shared_ptr<const nlohmann::json> stack = {};
  std::optional<DoctorJob> job = {};  // what `doctor --job` is about
};

// What was asked with `doctor --only`: of the findings those that belong to one of these probes
// (by their name, or decided by a check of it), or that explain what a check of it saw. The others
// leave the report, its verdict with them, and are named in `left_out`. Nothing changes when
// `probes` is empty.
DoctorReport only_asked(DoctorReport report, const std::vector<std::string>& probes);

// health_of() (core/diagnosis/finding.h) in a word: "ok", "warn", "fail". Skipped and unknown
// checks do not count, and are counted beside the verdict in the text.
const char* doctor_verdict(const DoctorReport& report);

// The fixed form for scripts: schema, verdict, hosts, findings, checks, job (null without one);
// indented, with a newline at the end.
std::string doctor_json(const DoctorReport& report);
// For a terminal of `width` columns (0 = no wrapping): a line per probe with its counts, below it
// the checks that are not fine, and in a sentence what was skipped; or `all` checks, one by one.
std::string doctor_text(const DoctorReport& report, int width, bool colour, bool all = false);
// The remedies as a POSIX shell script that is given to every host and runs only the section of the
// host that its one argument names; without one it prints its usage with the hosts, and changes
// nothing. It shows each command before it executes it and ends at the first one that fails; advice
// is printed. A command stands only in the section of the host that it is for. To be read and run
// by a person.
std::string doctor_fix_plan(const DoctorReport& report);

}  // namespace plumbline
