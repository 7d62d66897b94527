#include "reports/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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
Style style_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPass:
      return {"pass", "\x1b[32m"};
    case CheckOutcome::kWarn:
      return {"warn", "\x1b[33m"};
    case CheckOutcome::kFail:
      return {"FAIL", "\x1b[31m"};
    case CheckOutcome::kSkipped:
      return {"skip", "\x1b[2m"};
    case CheckOutcome::kUnknown:
      break;
  }
  return {"????", "\x1b[35m"};
}
Style style_of(Severity severity) {
  switch (severity) {
    case Severity::kFail:
      return {"FAIL", "\x1b[31m"};
    case Severity::kWarn:
      return {"warn", "\x1b[33m"};
    case Severity::kNote:
      break;
  }
  return {"note", "\x1b[36m"};
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

bool is_command(const std::string& line) {
  static const std::set<std::string> kPrograms = {"sudo",
                                                  "ip",
                                                  "nft",
                                                  "iptables",
                                                  "iptables-legacy",
                                                  "ip6tables",
                                                  "ip6tables-legacy",
                                                  "ebtables",
                                                  "tc",
                                                  "bridge",
                                                  "ethtool",
                                                  "sysctl",
                                                  "kill",
                                                  "ufw",
                                                  "firewall-cmd",
                                                  "ifconfig",
                                                  "route",
                                                  "networksetup",
                                                  "pfctl",
                                                  "echo",
                                                  "rm",
                                                  "setcap"};
  return kPrograms.count(line.substr(0, line.find(' '))) > 0;
}

// A remedy's lines: commands as they are, advice as comments. Control characters cannot leave a
// comment, because clean() has replaced them.
std::vector<std::string> remedy_lines(const std::string& remedy) {
  std::vector<std::string> out;
  std::istringstream in(remedy);
  for (std::string line; std::getline(in, line);) {
    line = clean(line);
    if (!line.empty()) out.push_back(is_command(line) ? line : "# " + line);
  }
  return out;
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
  std::istringstream remedy(finding.remedy);
  const char* label = "      do:   ";
  for (std::string line; std::getline(remedy, line); label = "            ") {
    writer.whole_line(label, line);
  }
}

void write_one_by_one(Writer& writer, const std::vector<const Check*>& checks, size_t widest) {
  for (const Check* check : checks) {
    const std::string key = clean(check->key);
    // A key that is too long is shown whole all the same: scripts and people search for it.
    const std::string shown = display_width(key) <= widest ? fit(key, widest, true) : key;
    writer.headline(style_of(check->outcome), shown + "  ", check->reason);
  }
}

// The checks of one probe as a line for each outcome, with the first of those that are not fine.
void write_summary(Writer& writer, const std::vector<const Check*>& checks, size_t widest,
                   const std::set<std::string>& explained) {
  constexpr std::pair<CheckOutcome, size_t> kShown[] = {{CheckOutcome::kFail, 3},
                                                        {CheckOutcome::kWarn, 3},
                                                        {CheckOutcome::kPass, 0},
                                                        {CheckOutcome::kUnknown, 0},
                                                        {CheckOutcome::kSkipped, 0}};
  const std::string id = fit(clean(checks[0]->id), widest, true) + "  ";
  for (const auto& [outcome, shown] : kShown) {
    std::vector<const Check*> these;
    for (const Check* check : checks) {
      if (check->outcome == outcome) these.push_back(check);
    }
    if (these.empty()) continue;
    const bool known = std::all_of(these.begin(), these.end(), [&](const Check* check) {
      return explained.count(check->key) != 0;
    });
    const bool alone = these.size() == 1 && shown > 0 && !known;
    if (!alone) {
      std::string text = fmt::format("{} of {} checks", these.size(), checks.size());
      if (shown == 0 && outcome != CheckOutcome::kPass) text += ": " + these[0]->reason;
      if (shown == 0 && outcome != CheckOutcome::kPass && these.size() > 1) text += " ...";
      if (known) text += ", explained above";
      writer.headline(style_of(outcome), id, text);
    }
    these.resize(known ? 0 : std::min(these.size(), shown));
    write_one_by_one(writer, these, widest);
  }
}

// In ladder order. Probes with many checks are summed up unless all are wanted.
void write_checks(Writer& writer, const DoctorReport& report, bool all) {
  constexpr size_t kMany = 6;
  const std::vector<Check>& checks = report.checks;
  std::set<std::string> explained;
  for (const Finding& finding : report.findings) {
    explained.insert(finding.explains.begin(), finding.explains.end());
  }
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
      write_one_by_one(writer, by_id[id], widest);
    } else {
      write_summary(writer, by_id[id], widest, explained);
    }
  }
}

std::string count_text(const std::vector<Check>& checks) {
  std::map<CheckOutcome, int> count;
  for (const Check& check : checks) ++count[check.outcome];
  std::string text = fmt::format("{} checks", checks.size());
  for (const auto& [outcome, n] : count) text += fmt::format(", {} {}", n, to_string(outcome));
  return text;
}

}  // namespace

const char* doctor_verdict(const DoctorReport& report) {
  std::set<std::string> explained;
  bool fails = false, warns = false;
  for (const Finding& finding : report.findings) {
    explained.insert(finding.explains.begin(), finding.explains.end());
    fails = fails || finding.outcome == Severity::kFail;
    warns = warns || finding.outcome == Severity::kWarn;
  }
  for (const Check& check : report.checks) {
    if (explained.count(check.key) != 0) continue;
    fails = fails || check.outcome == CheckOutcome::kFail;
    warns = warns || check.outcome == CheckOutcome::kWarn;
  }
  return fails ? "fail" : warns ? "warn" : "ok";
}

std::string doctor_json(const DoctorReport& report) {
  const nlohmann::json json = {{"schema", kSchema},
                               {"verdict", doctor_verdict(report)},
                               {"hosts", report.hosts},
                               {"findings", report.findings},
                               {"checks", report.checks}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string doctor_fix_plan(const DoctorReport& report) {
  std::vector<std::string> hosts;
  for (const Finding& finding : report.findings) {
    const bool known = std::find(hosts.begin(), hosts.end(), finding.host) != hosts.end();
    if (!finding.remedy.empty() && !known) hosts.push_back(finding.host);
  }
  std::string out =
      "#!/bin/sh\n# What plumbline doctor would do. Read it, then run each part on its host.\n";
  if (hosts.empty()) out += "# Nothing to heal was found.\n";
  for (const std::string& host : hosts) {
    out += "\n# ---- on " + clean(host) + "\n";
    for (const Finding& finding : report.findings) {
      if (finding.host != host || finding.remedy.empty()) continue;
      out += fmt::format("# {}: {}{}{}\n", to_string(finding.outcome), clean(finding.cause),
                         finding.peer.empty() ? "" : ", peer " + clean(finding.peer),
                         ports_text(finding));
      for (const std::string& line : remedy_lines(finding.remedy)) out += line + "\n";
    }
  }
  return out;
}

std::string doctor_text(const DoctorReport& report, int width, bool colour, bool all) {
  Writer writer(width, colour);
  for (const Finding& finding : report.findings) {
    write_finding(writer, finding, all);
    writer.blank();
  }
  write_checks(writer, report, all);
  writer.blank();
  writer.line("",
              fmt::format("verdict: {} ({})", doctor_verdict(report), count_text(report.checks)));
  return writer.take();
}

}  // namespace plumbline
