#include "reports/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnosis/finding.h"
#include "core/json.h"
#include "core/record/tally.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "reports/alike.h"
#include "reports/doctor_writer.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kSchema = 1;

constexpr size_t kMostEvidence = 5;  // lines for a terminal; --json has all

// The other end of `doctor --peer ADDRESS`, whose two hosts are "here" and "peer".
constexpr const char* kThere = "peer";

Finding as_said(Finding finding) {
  for (std::string* host : {&finding.host, &finding.peer}) {
    if (*host == kThere) *host = "the peer";
  }
  return finding;
}

void write_finding(DoctorWriter& writer, const Finding& finding, bool all) {
  std::string title = clean(title_of(finding));
  if (finding.confidence < 1)
    title += fmt::format(", confidence {:.0f} %", 100 * finding.confidence);
  writer.headline(style_of(finding.outcome), "", title);
  const size_t shown =
      all ? finding.evidence.size() : std::min(finding.evidence.size(), kMostEvidence);
  for (size_t i = 0; i < shown; ++i) {
    const Evidence& evidence = finding.evidence[i];
    const std::string check = evidence.check.empty() ? "" : " (" + evidence.check + ")";
    writer.line("      seen: ", evidence.text + check);
  }
  if (shown < finding.evidence.size()) {
    writer.line("            ",
                fmt::format("... and {} more (--verbose)", finding.evidence.size() - shown));
  }
  const char* label = "      do:   ";
  for (const RemedyStep& step : finding.remedy.steps()) {
    if (step.is_code) {
      writer.whole_line(label, step.text);
    } else {
      writer.advice(label, step.text);
    }
    label = "            ";
  }
}

std::string count_text(const DoctorReport& report) {
  if (report.checks.empty()) return "0 checks: there was nothing to ask";
  const Tally tally = tally_of(report.checks, report.findings);
  const bool nothing = tally.of(Standing::kSkipped) + tally.of(Standing::kUnknown) == tally.total();
  return tally.text("check") + (nothing ? "; nothing could be looked at" : "");
}

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

DoctorReport only_asked(DoctorReport report, const std::vector<std::string>& probes) {
  if (probes.empty()) return report;
  // "tcp.port_in_use" is a matter of tcp.connect, "firewall.drop_inbound" one of firewall.
  const auto family = [](const std::string& name) { return name.substr(0, name.find('.')); };
  const auto belongs = [&](const Finding& finding) {
    const auto checked = [&](const std::string& key) {
      return std::any_of(probes.begin(), probes.end(),
                         [&](const std::string& id) { return is_of_probe(key, id); });
    };
    return std::any_of(probes.begin(), probes.end(),
                       [&](const std::string& p) { return family(p) == family(finding.cause); }) ||
           std::any_of(finding.explains.begin(), finding.explains.end(), checked) ||
           std::any_of(finding.evidence.begin(), finding.evidence.end(),
                       [&](const Evidence& evidence) { return checked(evidence.check); });
  };
  std::vector<Finding> kept;
  for (Finding& finding : report.findings) {
    if (belongs(finding)) {
      kept.push_back(std::move(finding));
    } else if (finding.outcome != Severity::kNote) {
      Finding alone;
      alone.cause = finding.cause;
      alone.host = finding.host;
      report.left_out.push_back(clean(title_of(as_said(alone))));
    }
  }
  report.findings = std::move(kept);
  return report;
}

const char* doctor_verdict(const DoctorReport& report) {
  return to_string(health_of(report.checks, report.findings));
}

std::string doctor_json(const DoctorReport& report) {
  const nlohmann::json json = {
      {"schema", kSchema},       {"verdict", doctor_verdict(report)},
      {"hosts", report.hosts},   {"findings", report.findings},
      {"checks", report.checks}, {"stack", report.stack ? *report.stack : nlohmann::json()},
      {"job", report.job}};
  return printable_json(json_text(json, 2));
}

std::string doctor_text(const DoctorReport& report, int width, bool colour, bool all) {
  DoctorWriter writer(width, colour);
  for (const std::string& line : report.plan) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    writer.line(std::string(indent, ' '), clean(line.substr(indent)));
  }
  if (!report.plan.empty()) writer.blank();
  if (report.job) {
    const char* before = "";
    for (const std::string& line : job_lines(*report.job)) {
      writer.line(before, line);
      before = "  ";
    }
    writer.blank();
  }
  std::vector<Finding> said;
  said.reserve(report.findings.size());
  for (const Finding& finding : report.findings) said.push_back(as_said(finding));
  for (const Finding& finding : alike_as_one(said)) {
    write_finding(writer, finding, all);
    writer.blank();
  }
  if (all) {
    write_all_checks(writer, report);
  } else {
    write_probes(writer, report);
  }
  writer.blank();
  writer.line("", fmt::format("verdict: {} ({})", doctor_verdict(report), count_text(report)));
  if (!report.left_out.empty()) {
    writer.line("", fmt::format("not asked for, and not in this verdict: {}; without --only doctor "
                                "says more",
                                join(report.left_out, ", ")));
  }
  return writer.take();
}

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
