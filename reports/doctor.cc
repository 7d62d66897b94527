#include "reports/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/health.h"
#include "core/json.h"
#include "core/printable.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kSchema = 1;
constexpr const char* kReset = "\x1b[0m";
constexpr size_t kIndent = 6;      // columns before what belongs to a headline
constexpr size_t kWidestKey = 44;  // columns of the keys in the list of checks

struct Style {
  const char* word;
  const char* colour;  // of the word, SGR sequence
};
Style style_of(Standing standing) {
  switch (standing) {
    case Standing::kPass:
      return {"pass", "\x1b[32m"};
    case Standing::kNote:
      return {"note", "\x1b[36m"};
    case Standing::kWarn:
      return {"warn", "\x1b[33m"};
    case Standing::kFail:
      return {"FAIL", "\x1b[31m"};
    case Standing::kSkipped:
      return {"skip", "\x1b[2m"};
    case Standing::kUnknown:
      break;
  }
  return {"????", "\x1b[35m"};
}
Style style_of(Severity severity) {
  switch (severity) {
    case Severity::kFail:
      return style_of(Standing::kFail);
    case Severity::kWarn:
      return style_of(Standing::kWarn);
    case Severity::kNote:
      break;
  }
  return style_of(Standing::kNote);
}

class Writer {
 public:
  Writer(int width, bool colour)
      : width_(width > 0 ? static_cast<size_t>(width) : 0), colour_(colour) {}

  // A coloured word, a label, and text wrapped beside the label, or below it where a narrow
  // terminal leaves too little room.
  void headline(const Style& style, const std::string& label, const std::string& text) {
    const std::string first = std::string(style.word) + "  " + label;
    const bool narrow = width_ != 0 && 2 * display_width(first) > width_ + kIndent;
    std::vector<std::string> lines =
        wrap(clean(text), width_, narrow ? std::string(kIndent, ' ') : first);
    if (narrow) lines.insert(lines.begin(), first.substr(0, first.find_last_not_of(' ') + 1));
    for (const std::string& line : lines) {
      const bool coloured = colour_ && &line == &lines.front();
      const size_t word = coloured ? std::string_view(style.word).size() : 0;
      if (coloured) out_ += style.colour + std::string(style.word) + kReset;
      out_ += line.substr(word) + "\n";
    }
  }
  void line(const std::string& label, const std::string& text) {
    for (const std::string& line : wrap(clean(text), width_, label)) out_ += line + "\n";
  }
  // A command must stay in one piece, so that it can be copied: never wrapped.
  void whole_line(const std::string& label, const std::string& text) {
    out_ += label + clean(text) + "\n";
  }
  void blank() { out_ += "\n"; }
  std::string take() { return std::move(out_); }

 private:
  size_t width_;
  bool colour_;
  std::string out_;
};

std::string ports_text(const Finding& finding) {
  std::string text;
  for (const int port : finding.ports) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", port);
  }
  if (text.empty()) return text;
  return (finding.ports.size() == 1 ? ", port " : ", ports ") + text;
}

constexpr size_t kMostEvidence = 5;  // lines for a terminal; --json has all

// The other end of `doctor --peer ADDRESS`, whose two hosts are "here" and "peer".
constexpr const char* kThere = "peer";
std::string spoken(const std::string& host) { return host == kThere ? "the peer" : clean(host); }

void write_finding(Writer& writer, const Finding& finding, bool all) {
  std::string title = clean(finding.cause) + " on " + spoken(finding.host);
  if (!finding.peer.empty()) {
    const bool one_sided = finding.host == kThere || finding.peer == kThere;
    title += (one_sided ? ", towards " : ", peer ") + spoken(finding.peer);
  }
  title += ports_text(finding);
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
    writer.whole_line(label, step.text);
    label = "            ";
  }
}

void write_one_by_one(Writer& writer, const std::vector<const Check*>& checks, size_t widest,
                      const Standings& standings) {
  for (const Check* check : checks) {
    const std::string key = clean(check->key);
    // A key that is too long is shown whole all the same: scripts and people search for it.
    const std::string shown = display_width(key) <= widest ? fit(key, widest, true) : key;
    writer.headline(style_of(standings.of(*check)), shown + "  ", check->reason);
  }
}

// The reason that all of them give; where they differ the first one's, with whose it is.
std::string reasons_text(const std::vector<const Check*>& checks) {
  const auto other = [&](const Check* check) { return check->reason != checks[0]->reason; };
  const auto others = std::count_if(checks.begin(), checks.end(), other);
  if (others == 0) return checks[0]->reason;
  const std::string subject = checks[0]->key.substr(checks[0]->key.find('/') + 1);
  return fmt::format("{}: {}; and {} more (--verbose)", subject, checks[0]->reason,
                     checks.size() - 1);
}

// The checks of one probe as a line for each way in which they stand, with the first of those that
// are not fine.
void write_summary(Writer& writer, const std::vector<const Check*>& checks, size_t widest,
                   const Standings& standings) {
  constexpr std::pair<Standing, size_t> kShown[] = {
      {Standing::kFail, 3}, {Standing::kWarn, 3},    {Standing::kNote, 3},
      {Standing::kPass, 0}, {Standing::kUnknown, 0}, {Standing::kSkipped, 0}};
  const std::string id = fit(clean(checks[0]->id), widest, true) + "  ";
  for (const auto& [standing, shown] : kShown) {
    std::vector<const Check*> these;
    for (const Check* check : checks) {
      if (standings.of(*check) == standing) these.push_back(check);
    }
    if (these.empty()) continue;
    const bool known = std::all_of(these.begin(), these.end(),
                                   [&](const Check* check) { return standings.explained(*check); });
    const bool alone = these.size() == 1 && shown > 0 && !known;
    if (!alone) {
      std::string text = fmt::format("{} of {} checks", these.size(), checks.size());
      if (shown == 0 && standing != Standing::kPass) text += ": " + reasons_text(these);
      if (known) text += ", explained above";
      writer.headline(style_of(standing), id, text);
    }
    const size_t listed = known ? 0 : std::min(these.size(), shown);
    const size_t more = known || shown == 0 ? 0 : these.size() - listed;
    these.resize(listed);
    write_one_by_one(writer, these, widest, standings);
    if (more > 0) {
      writer.line(std::string(kIndent, ' '), fmt::format("... and {} more (--verbose)", more));
    }
  }
}

// In ladder order. Probes with many checks are summed up unless all are wanted.
void write_checks(Writer& writer, const DoctorReport& report, bool all) {
  constexpr size_t kMany = 6;
  const std::vector<Check>& checks = report.checks;
  const Standings standings(report.findings);
  std::vector<std::string> ids;
  std::map<std::string, std::vector<const Check*>> by_id;
  for (const Check& check : checks) {
    if (by_id[check.id].empty()) ids.push_back(check.id);
    by_id[check.id].push_back(&check);
  }
  size_t widest = 0;
  for (const Check& check : checks) {
    const bool summed = !all && by_id[check.id].size() > kMany;
    widest = std::max(widest, display_width(clean(summed ? check.id : check.key)));
  }
  widest = std::min(widest, kWidestKey);
  for (const std::string& id : ids) {
    if (all || by_id[id].size() <= kMany) {
      write_one_by_one(writer, by_id[id], widest, standings);
    } else {
      write_summary(writer, by_id[id], widest, standings);
    }
  }
}

std::string count_text(const DoctorReport& report) {
  if (report.checks.empty()) return "0 checks: there was nothing to ask";
  const Standings standings(report.findings);
  std::map<Standing, int> count;
  for (const Check& check : report.checks) ++count[standings.of(check)];
  std::string text = fmt::format("{} checks", report.checks.size());
  for (const auto& [standing, n] : count) text += fmt::format(", {} {}", n, to_string(standing));
  return text;
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
      report.left_out.push_back(finding.cause + " on " + spoken(finding.host));
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
  Writer writer(width, colour);
  for (const Finding& finding : report.findings) {
    write_finding(writer, finding, all);
    writer.blank();
  }
  write_checks(writer, report, all);
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
