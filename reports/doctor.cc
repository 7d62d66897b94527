#include "reports/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnosis/health.h"
#include "core/json.h"
#include "core/printable.h"
#include "core/record/tally.h"
#include "reports/doctor_checks.h"
#include "reports/doctor_writer.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kSchema = 1;

constexpr size_t kMostEvidence = 5;  // lines for a terminal; --json has all

// The other end of `doctor --peer ADDRESS`, whose two hosts are "here" and "peer".
constexpr const char* kThere = "peer";

std::string said_title(Finding finding) {
  for (std::string* host : {&finding.host, &finding.peer}) {
    if (*host == kThere) *host = "the peer";
  }
  return clean(title_of(finding));
}

void write_finding(DoctorWriter& writer, const Finding& finding, bool all) {
  std::string title = said_title(finding);
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
  return tally_of(report.checks, report.findings).text("check");
}

}  // namespace

DoctorReport only_asked(DoctorReport report, const std::vector<std::string>& probes) {
  if (probes.empty()) return report;
  const auto asked = [&](const std::string& id) {
    return std::find(probes.begin(), probes.end(), id) != probes.end();
  };
  // "tcp.port_in_use" is a matter of tcp.connect, "firewall.drop_inbound" one of firewall.
  const auto family = [](const std::string& name) { return name.substr(0, name.find('.')); };
  const auto belongs = [&](const Finding& finding) {
    const auto checked = [&](const std::string& key) {
      return asked(key.substr(0, key.find('/')));
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
      report.left_out.push_back(said_title(alone));
    }
  }
  report.findings = std::move(kept);
  return report;
}

const char* doctor_verdict(const DoctorReport& report) {
  return to_string(health_of(report.checks, report.findings));
}

std::string doctor_json(const DoctorReport& report) {
  const nlohmann::json json = {{"schema", kSchema},
                               {"verdict", doctor_verdict(report)},
                               {"hosts", report.hosts},
                               {"findings", report.findings},
                               {"checks", report.checks}};
  return printable_json(json_text(json, 2));
}

std::string doctor_text(const DoctorReport& report, int width, bool colour, bool all) {
  DoctorWriter writer(width, colour);
  for (const Finding& finding : report.findings) {
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

}  // namespace plumbline
