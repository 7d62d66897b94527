#include "reports/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

void write_finding(Writer& writer, const Finding& finding) {
  std::string title = clean(finding.cause) + " on " + clean(finding.host);
  if (!finding.peer.empty()) title += ", peer " + clean(finding.peer);
  title += ports_text(finding);
  if (finding.confidence < 1)
    title += fmt::format(", confidence {:.0f} %", 100 * finding.confidence);
  writer.headline(style_of(finding.outcome), "", title);
  for (const Evidence& evidence : finding.evidence) {
    writer.line("      seen: ", fmt::format("{} ({})", evidence.text, evidence.check));
  }
  if (!finding.remedy.empty()) writer.whole_line("      do:   ", finding.remedy);
}

void write_checks(Writer& writer, const std::vector<Check>& checks) {
  size_t widest = 0;
  for (const Check& check : checks) widest = std::max(widest, display_width(clean(check.key)));
  widest = std::min(widest, kWidestKey);
  for (const Check& check : checks) {
    const std::string key = clean(check.key);
    // A key that is too long is shown whole all the same: scripts and people search for it.
    const std::string shown = display_width(key) <= widest ? fit(key, widest, true) : key;
    writer.headline(style_of(check.outcome), shown + "  ", check.reason);
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

std::string doctor_text(const DoctorReport& report, int width, bool colour) {
  Writer writer(width, colour);
  for (const Finding& finding : report.findings) {
    write_finding(writer, finding);
    writer.blank();
  }
  write_checks(writer, report.checks);
  writer.blank();
  writer.line("",
              fmt::format("verdict: {} ({})", doctor_verdict(report), count_text(report.checks)));
  return writer.take();
}

}  // namespace plumbline
