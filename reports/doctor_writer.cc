#include "reports/doctor_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/record/tally.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kWidestKey = 44;  // columns of the keys in the list of checks
constexpr size_t kMostBad = 10;    // checks of one probe that are shown one by one
constexpr size_t kMostReasons = 6;
constexpr const char* kInside = "  ";  // before what belongs to a probe's line

using Checks = std::vector<const Check*>;

size_t widest_key(const Checks& checks) {
  size_t widest = 0;
  for (const Check* check : checks) widest = std::max(widest, display_width(clean(check->key)));
  return std::min(widest, kWidestKey);
}

void write_one_by_one(DoctorWriter& writer, const Checks& checks, size_t widest,
                      const Standings& standings, const std::string& before) {
  for (const Check* check : checks) {
    const std::string key = clean(check->key);
    // A key that is too long is shown whole all the same: scripts and people search for it.
    const std::string shown = display_width(key) <= widest ? fit(key, widest, true) : key;
    writer.headline(style_of(standings.of(*check)), shown + "  ", check->reason, before);
  }
}

// Checks that say the same.
struct Reason {
  std::string text;
  size_t count = 0;
  const Check* first = nullptr;
};

// The most frequent first.
std::vector<Reason> by_reason(const Checks& checks) {
  std::map<std::string, Reason> reasons;
  for (const Check* check : checks) {
    Reason& reason = reasons[check->reason];
    if (++reason.count > 1) continue;
    reason.text = reason_text(check->reason);
    reason.first = check;
  }
  std::vector<Reason> out;
  for (const auto& [text, reason] : reasons) out.push_back(reason);
  std::stable_sort(out.begin(), out.end(),
                   [](const Reason& a, const Reason& b) { return a.count > b.count; });
  return out;
}

// As much of it as there is room for: whole, or up to a comma, colon or semicolon.
std::string clause_that_fits(const std::string& text, size_t room) {
  if (display_width(text) <= room) return text;
  std::string fits;
  for (size_t at = text.find_first_of(",:;"); at != std::string::npos;
       at = text.find_first_of(",:;", at + 1)) {
    if (display_width(text.substr(0, at)) <= room) fits = text.substr(0, at);
  }
  return fits;
}

// What one probe came to.
struct Probe {
  std::string id;
  Tally tally;
  Checks bad, unknown;   // failed, warned or noted ones; what nobody explains comes first
  size_t explained = 0;  // of the bad ones
  Standing colour = Standing::kSkipped;
};

Standing colour_of(const Tally& tally) {
  for (const Standing standing :
       {Standing::kFail, Standing::kWarn, Standing::kUnknown, Standing::kNote, Standing::kPass}) {
    if (tally.of(standing) > 0) return standing;
  }
  return Standing::kSkipped;
}

// In ladder order.
std::vector<Probe> probes_of(const std::vector<Check>& checks, const Standings& standings) {
  std::vector<Probe> probes;
  std::map<std::string, size_t> index;
  for (const Check& check : checks) {
    const auto [at, fresh] = index.emplace(check.id, probes.size());
    if (fresh) probes.push_back({check.id, {}, {}, {}, 0, Standing::kSkipped});
    Probe& probe = probes[at->second];
    const Standing standing = standings.of(check);
    probe.tally.add(standing);
    if (standing == Standing::kUnknown) probe.unknown.push_back(&check);
    const bool bad =
        standing == Standing::kFail || standing == Standing::kWarn || standing == Standing::kNote;
    if (!bad) continue;
    probe.bad.push_back(&check);
    probe.explained += standings.explained(check) ? 1 : 0;
  }
  for (Probe& probe : probes) {
    probe.colour = colour_of(probe.tally);
    const auto rank = [&](const Check* check) {
      return std::pair(standings.explained(*check), -static_cast<int>(standings.of(*check)));
    };
    std::stable_sort(probe.bad.begin(), probe.bad.end(),
                     [&](const Check* a, const Check* b) { return rank(a) < rank(b); });
  }
  return probes;
}

void write_bad(DoctorWriter& writer, const Probe& probe, size_t widest,
               const Standings& standings) {
  Checks shown = probe.bad;
  shown.resize(std::min(shown.size(), kMostBad));
  write_one_by_one(writer, shown, widest, standings, kInside);
  const size_t more = probe.bad.size() - shown.size();
  if (more == 0) return;
  const bool known = more <= probe.explained;
  writer.line(std::string(kInside) + std::string(DoctorWriter::kIndent, ' '),
              fmt::format("... and {} more{} (--verbose)", more, known ? ", explained above" : ""));
}

// "h1>h2 and 11 more: the filters can be read by root only": a line per reason.
void write_unknown(DoctorWriter& writer, const Probe& probe) {
  const auto reasons = by_reason(probe.unknown);
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    std::string whose = place_of(*reasons[i].first);
    if (reasons[i].count > 1) whose += fmt::format(" and {} more", reasons[i].count - 1);
    writer.headline(style_of(Standing::kUnknown), "", whose + ": " + reasons[i].text, kInside);
  }
  if (reasons.size() > kMostReasons) {
    writer.line(std::string(kInside) + std::string(DoctorWriter::kIndent, ' '),
                fmt::format("... and {} more reasons (--verbose)", reasons.size() - kMostReasons));
  }
}

// "23 checks make no sense on one machine"; others by their reasons.
void write_skipped(DoctorWriter& writer, const DoctorReport& report, const Standings& standings) {
  size_t one_machine = 0;
  Checks others;
  for (const Check& check : report.checks) {
    if (standings.of(check) != Standing::kSkipped) continue;
    if (report.one_machine.count(check.key) > 0) {
      ++one_machine;
    } else {
      others.push_back(&check);
    }
  }
  if (one_machine + others.size() > 0) writer.blank();
  const auto checks = [](size_t count, const char* one, const char* many) {
    return fmt::format("{} check{}", count, count == 1 ? one : many);
  };
  constexpr const char* kMore = " (--verbose names them)";
  if (one_machine > 0) {
    writer.line("", checks(one_machine, " makes", "s make") + " no sense on one machine" + kMore);
  }
  if (others.empty()) return;
  const auto reasons = by_reason(others);
  const std::string head = checks(others.size(), " was", "s were") + " skipped";
  if (reasons.size() == 1) return writer.line("", head + ": " + reasons[0].text + kMore);
  writer.line("", head + kMore);
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    writer.line(fmt::format("  {:>4}  ", reasons[i].count), reasons[i].text);
  }
  if (reasons.size() > kMostReasons) {
    size_t rest = 0;
    for (size_t i = kMostReasons; i < reasons.size(); ++i) rest += reasons[i].count;
    writer.line(fmt::format("  {:>4}  ", rest), "for other reasons");
  }
}

}  // namespace

DoctorStyle style_of(Standing standing) {
  constexpr DoctorStyle kStyles[] = {{"pass", "\x1b[32m"}, {"note", "\x1b[36m"},
                                     {"warn", "\x1b[33m"}, {"FAIL", "\x1b[31m"},
                                     {"skip", "\x1b[2m"},  {"unknown", "\x1b[35m"}};
  return kStyles[static_cast<size_t>(standing)];
}

std::string DoctorWriter::coloured(const DoctorStyle& style, const std::string& text) const {
  constexpr const char* kReset = "\x1b[0m";
  return colour_ ? style.colour + text + kReset : text;
}

void DoctorWriter::headline(const DoctorStyle& style, const std::string& label,
                            const std::string& text, const std::string& before) {
  const std::string word = style.word;
  const std::string first = before + word + "  " + label;
  const bool narrow = width_ != 0 && 2 * display_width(first) > width_ + kIndent;
  std::vector<std::string> lines =
      wrap(clean(text), width_, narrow ? std::string(before.size() + kIndent, ' ') : first);
  if (narrow) lines.insert(lines.begin(), first.substr(0, first.find_last_not_of(' ') + 1));
  lines.front().replace(before.size(), word.size(), coloured(style, word));
  for (const std::string& line : lines) out_ += line + "\n";
}

void DoctorWriter::row(const std::string& label, const DoctorStyle& style,
                       const std::string& marked, const std::string& rest) {
  out_ += clean(label) + coloured(style, clean(marked)) + clean(rest) + "\n";
}

void DoctorWriter::line(const std::string& label, const std::string& text) {
  for (const std::string& line : wrap(clean(text), width_, label)) out_ += line + "\n";
}

void DoctorWriter::advice(const std::string& label, const std::string& text) {
  constexpr std::string_view kComment = "# ";
  if (text.rfind(kComment, 0) != 0) return line(label, text);
  const std::string rest = text.substr(kComment.size());
  std::string first = label + std::string(kComment);
  for (std::string& each : wrap(clean(rest), width_, first)) {
    each.replace(label.size(), kComment.size(), kComment);
    out_ += each + "\n";
  }
}

void DoctorWriter::whole_line(const std::string& label, const std::string& text) {
  out_ += label + clean(text) + "\n";
}

void write_all_checks(DoctorWriter& writer, const DoctorReport& report) {
  Checks all;
  for (const Check& check : report.checks) all.push_back(&check);
  write_one_by_one(writer, all, widest_key(all), Standings(report.findings), "");
}

void write_probes(DoctorWriter& writer, const DoctorReport& report) {
  const Standings standings(report.findings);
  const std::vector<Probe> probes = probes_of(report.checks, standings);
  size_t names = 0, counts = 0, keys = 0;
  for (const Probe& probe : probes) {
    names = std::max(names, display_width(clean(probe.id)));
    counts = std::max(counts, display_width(probe.tally.text()));
    keys = std::max(keys, widest_key(probe.bad));
  }
  for (const Probe& probe : probes) {
    std::string count = probe.tally.text(), asked;
    const auto known = report.probes.find(probe.id);
    if (known != report.probes.end()) {
      const size_t used = names + counts + 4;
      const size_t room = writer.width() == 0     ? known->second.size()
                          : writer.width() > used ? writer.width() - used
                                                  : 0;
      asked = clause_that_fits(clean(known->second), room);
    }
    if (!asked.empty()) asked = std::string(counts - display_width(count) + 2, ' ') + asked;
    writer.row(fit(clean(probe.id), names, true) + "  ", style_of(probe.colour), count, asked);
    write_bad(writer, probe, keys, standings);
    write_unknown(writer, probe);
  }
  write_skipped(writer, report, standings);
}

}  // namespace plumbline
