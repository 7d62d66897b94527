// The remedies of a diagnosis as a script: doctor_fix_plan().
#include <fmt/format.h>

#include <algorithm>

#include "core/shell_words.h"
#include "reports/doctor.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// Advice is printed, so that whoever runs the section meets it.
std::string say(const std::string& text) {
  return "printf '%s\\n' " + shell_quoted(clean(text)) + "\n";
}

// Shows the command as a shell would read it, does it, and ends the plan when it fails.
constexpr const char* kRunShell = R"(show() { shown=$1; printf '+ %s\n' "$shown" >&2; }
run() {
  "$@" && return
  status=$?
  printf '%s\n' "plan: this command failed with exit status $status: $shown" \
    "plan: the commands after it were not run; fix what it reports, then run doctor again" >&2
  exit 1
}
)";

std::string step_text(const RemedyStep& step) {
  if (step.command) {
    const std::string shown = shell_text(*step.command);
    return "show " + shell_quoted(shown) + "\nrun " + shell_line(step.command->argv()) + "\n";
  }
  const size_t begin = step.text.find_first_not_of("# ");
  return begin == std::string::npos ? "" : say("# " + step.text.substr(begin));
}

std::string about(const Finding& finding) {
  return fmt::format("# {}: {}\n", to_string(finding.outcome), clean(title_of(finding)));
}

// What of a finding is to be done or said on this host: its own commands, and advice where the
// finding is.
std::string headline(const Finding& finding, const std::string& host) {
  std::string out;
  Remedy remedy = finding.remedy;
  for (const RemedyStep& step : remedy.on(finding.host).steps()) {
    if (host == (step.command ? step.command->host() : finding.host)) out += step_text(step);
  }
  return out.empty() ? out : about(finding) + out;
}

// The branch of one host.
std::string section(const DoctorReport& report, const std::string& host) {
  std::string text;
  for (const Finding& finding : report.findings) text += headline(finding, host);
  if (text.empty()) text = say("nothing to do on " + host);
  return "\n# ---- on " + clean(host) + "\n(" + shell_quoted(clean(host)) + ")\n" + text + ";;\n";
}

}  // namespace

std::string doctor_fix_plan(const DoctorReport& report) {
  std::string out =
      "#!/bin/sh\n# What plumbline doctor would do; nothing of it was executed. Read it, then run "
      "it as root on\n# each host, with the name of that host: sh plan.sh HOST\n# Each command is "
      "shown before it is executed; the first one that fails ends the plan.\n";
  const auto to_do = [](const Finding& finding) { return !finding.remedy.empty(); };
  if (std::none_of(report.findings.begin(), report.findings.end(), to_do)) {
    return out + "# Nothing to heal was found.\n";
  }
  // Hosts with something to do first, worst first.
  std::vector<std::string> hosts;
  const auto add = [&](const std::string& host) {
    const bool known = std::find(hosts.begin(), hosts.end(), host) != hosts.end();
    if (!host.empty() && !known) hosts.push_back(host);
  };
  for (const Finding& finding : report.findings) {
    if (to_do(finding)) add(finding.host);
  }
  for (const std::string& host : report.hosts) add(host);
  std::string names;
  for (const std::string& host : hosts) names += " " + clean(host);
  out += "usage() {\n  printf '%s\\n' " +
         shell_quoted("usage: sh plan.sh HOST, as root on that host; one of:" + names) +
         " >&2\n  exit 2\n}\n" + kRunShell + "[ $# -eq 1 ] || usage\ncase \"$1\" in\n";
  for (const std::string& host : hosts) out += section(report, host);
  return out + "\n(*) usage ;;\nesac\n";
}

}  // namespace plumbline
