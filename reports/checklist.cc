// What a run came to: in one word, by the rules of `expect`, and item by item of a scenario's
// checklist. An item is only as good as the worst check or cell that decides it, and only what was
// looked at is ticked: the rest is "not checked", with why, and how to check it.
#include <fmt/format.h>

#include <algorithm>

#include "core/diagnosis/finding.h"
#include "core/record/tally.h"
#include "core/units.h"
#include "reports/content.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

void judge_links(const std::vector<LinkWorld>& worlds, RunAnswer& answer) {
  for (const LinkWorld& world : worlds) {
    const LinkVerdicts verdicts = judge_world(world);
    answer.outliers += verdicts.list.size();
    answer.unknown_links += verdicts.unknown.size();
    answer.link_fails = answer.link_fails || verdicts.fails();
  }
}

// How an item stands, worst last.
enum class State { kNothing, kSkipped, kOk, kNote, kPart, kWarn, kFail };

struct StateRow {
  const char* mark;
  Tone tone;
};
constexpr StateRow kStates[] = {{"[ -- ]", Tone::kWarn}, {"[skip]", Tone::kPlain},
                                {"[ ok ]", Tone::kGood}, {"[note]", Tone::kGood},
                                {"[part]", Tone::kWarn}, {"[warn]", Tone::kWarn},
                                {"[FAIL]", Tone::kBad}};

State state_of(Standing standing) {
  constexpr State kOf[] = {State::kOk,   State::kNote,    State::kWarn,
                           State::kFail, State::kSkipped, State::kNothing};
  return kOf[static_cast<size_t>(standing)];
}

State state_of(const Item& item) {
  const Outcome outcome = item.record->measurement.outcome;
  if (outcome == Outcome::kPassed) return item.valid() ? State::kOk : State::kWarn;
  return outcome == Outcome::kSkipped ? State::kSkipped : State::kFail;
}

struct Answer {
  State state = State::kNothing;
  std::string text;
};

// What to say of checks in the worst state: the first one's reason, and the cause and remedy of the
// finding that it led to.
std::string words_of(const Check& check, const std::vector<Finding>& findings) {
  std::string text = check.key + ": " + check.reason;
  for (const Finding& finding : findings) {
    const bool seen = std::any_of(finding.evidence.begin(), finding.evidence.end(),
                                  [&](const Evidence& e) { return e.check == check.key; });
    const bool explained = std::find(finding.explains.begin(), finding.explains.end(), check.key) !=
                           finding.explains.end();
    if (!seen && !explained) continue;
    text += fmt::format("; {}: {}", finding.cause, finding.remedy.text());
    break;
  }
  return text;
}

// What the checks of one probe come to.
struct Looked {
  std::string probe;
  State state = State::kNothing;
  const Check* worst = nullptr;  // nullptr: there was no such check
  Tally tally;
  bool at_all() const { return worst != nullptr && state >= State::kOk; }
};

Looked look(const std::string& probe, const ReportInput& input, const Standings& standings) {
  Looked out{probe, State::kNothing, nullptr, {}};
  for (const Check& check : input.checks) {
    if (check.id != probe) continue;
    const Standing standing = standings.of(check);
    const State state = state_of(standing);
    out.tally.add(standing);
    if (out.worst != nullptr && state <= out.state) continue;
    out.worst = &check;
    out.state = state;
  }
  if (out.worst == nullptr && !input.checks.empty()) out.state = State::kSkipped;
  return out;
}

// "not checked: ssh (local0 is reached without ssh); plumbline doctor --hosts HOSTS.json --only ssh
// checks it".
std::string not_checked(const std::vector<Looked>& probes, bool anything_probed) {
  std::vector<std::string> why;
  std::string command = "plumbline doctor --hosts HOSTS.json";
  for (const Looked& probe : probes) {
    if (probe.at_all()) continue;
    command += " --only " + probe.probe;
    if (probe.probe == "artifact") command += " --model PATH";
    why.push_back(probe.probe + " (" +
                  (!anything_probed ? "nothing was probed"
                   : probe.worst == nullptr
                       ? "it was not asked, or found nothing to look at on these hosts"
                       : probe.worst->key + ": " + reason_text(probe.worst->reason)) +
                  ")");
  }
  return "not checked: " + join(why, ", ") + "; " + command + " checks it";
}

std::string checks_text(const std::vector<Looked>& probes) {
  Tally tally;
  for (const Looked& probe : probes) tally.add(probe.tally);
  return tally.text("check");
}

Answer by_checks(const ChecklistItem& item, const ReportInput& input) {
  const Standings standings(input.findings);
  std::vector<Looked> probes;
  for (const std::string& probe : item.probes) probes.push_back(look(probe, input, standings));
  const auto worst =
      std::max_element(probes.begin(), probes.end(),
                       [](const Looked& a, const Looked& b) { return a.state < b.state; });
  const auto seen = std::count_if(probes.begin(), probes.end(),
                                  [](const Looked& probe) { return probe.at_all(); });
  const bool all_seen = static_cast<size_t>(seen) == probes.size();
  if (seen == 0) return {worst->state, not_checked(probes, !input.checks.empty())};
  Answer answer{worst->state, {}};
  if (worst->state > State::kPart) {
    answer.text = words_of(*worst->worst, input.findings);
  } else {
    if (!all_seen) answer.state = State::kPart;
    answer.text = checks_text(probes);
  }
  if (!all_seen) answer.text += "; " + not_checked(probes, true);
  return answer;
}

// "28.1 us", "peak 3.2 GB/s (25.6 Gb/s) at 16 MiB", over all valid cells.
std::string numbers_of(const std::vector<const Item*>& items) {
  std::string text;
  Best fastest(Best::Wanted::kLowest), widest(Best::Wanted::kHighest);
  for (const Item* item : items) {
    const Headline headline = row(item->record->cell.kind).headline;
    if (headline == Headline::kTime) fastest.offer(*item, item->time.p50);
    if (headline == Headline::kBusBandwidth) widest.offer(*item, item->busbw_Bps);
  }
  if (fastest) {
    text += fmt::format(", median {} at {}{}", format_duration(fastest.value()),
                        format_bytes(fastest.item().record->cell.bytes), fastest.remark());
  }
  if (widest) {
    constexpr double kGiga = 1e9;
    text += fmt::format(", bus bandwidth up to {} ({:.1f} Gb/s) at {}{}",
                        format_rate(widest.value()), widest.value() * 8 / kGiga,
                        format_bytes(widest.item().record->cell.bytes), widest.remark());
  }
  return text;
}

Answer by_cells(const ChecklistItem& item, const View& view) {
  Answer answer;
  std::vector<const Item*> items;
  const Item* worst = nullptr;
  std::vector<std::string> transports;
  Tally tally;
  for (const Item& each : view.items) {
    if (item.cells.count(cell_id(each.record->cell)) == 0) continue;
    items.push_back(&each);
    const State state = state_of(each);
    const std::string& transport = transport_of(*each.record);
    const Outcome outcome = each.record->measurement.outcome;
    const bool passes = outcome == Outcome::kPassed;
    tally.add(outcome);
    if (passes && std::find(transports.begin(), transports.end(), transport) == transports.end()) {
      transports.push_back(transport);
    }
    if (worst != nullptr && state <= answer.state) continue;
    worst = &each;
    answer.state = state;
  }
  if (worst == nullptr) {
    answer.text =
        "not measured, so not checked; plumbline run SCENARIO --out FOLDER --resume measures it";
    return answer;
  }
  answer.text = tally.text("cell");
  if (items.size() < item.cells.size()) {
    answer.text += fmt::format("; {} not measured", item.cells.size() - items.size());
  }
  if (!transports.empty()) answer.text += " over " + join(transports, ", ");
  if (answer.state == State::kSkipped) answer.text += ": not checked";
  answer.text += numbers_of(items);
  // Cells that no record speaks of were not reached.
  if (items.size() < item.cells.size()) answer.state = std::max(answer.state, State::kWarn);
  const Measurement& measured = worst->record->measurement;
  if (answer.state != State::kOk && !measured.reason.empty()) answer.text += "; " + measured.reason;
  return answer;
}

}  // namespace

RunAnswer answer_of(const ReportInput& input, const View& view,
                    const std::vector<LinkWorld>& worlds) {
  RunAnswer answer;
  judge_links(worlds, answer);
  const Counts& counts = view.counts;
  const Health health = health_of(input.checks, input.findings);
  const size_t missed = tally_of(input.rules).of(Standing::kFail);
  const bool bad = answer.link_fails || health == Health::kFail ||
                   missed + counts.failed + counts.errors + counts.invalid > 0;
  const bool nothing = counts.total() == counts.skipped && input.checks.empty();
  const bool incomplete = !input.incomplete.empty();
  const size_t noted = counts.noisy + counts.skipped + answer.outliers + input.notes.size() +
                       no_roof_notes(view).size();
  const bool remarks = health == Health::kWarn || noted > 0;
  const bool unsure = nothing || incomplete || remarks || answer.unknown_links > 0;
  answer.tone = bad ? Tone::kBad : unsure ? Tone::kWarn : Tone::kGood;
  answer.word = bad                        ? "Not sound"
                : nothing                  ? "Nothing measured"
                : incomplete               ? "Incomplete"
                : answer.unknown_links > 0 ? "Not known whether sound"
                : remarks                  ? "Sound, with remarks"
                                           : "Sound";
  return answer;
}

void add_rules(const ReportInput& input, Document& document) {
  if (input.rules.empty()) return;
  document.heading(1, "Rules");
  document.list(input.rule_sources);
  for (const RuleVerdict& rule : input.rules) {
    const std::string of = rule.records.empty() ? "" : "records of " + rule.records + ": ";
    document.paragraph((rule.passed ? "[ ok ] " : "[FAIL] ") + of + rule.rule + ": " + rule.message,
                       rule.passed ? Tone::kGood : Tone::kBad);
  }
}

void add_checklist(const ReportInput& input, const View& view, Document& document) {
  if (input.checklist.empty()) return;
  document.heading(1, "Checklist");
  for (const ChecklistItem& item : input.checklist) {
    const Answer answer = item.probes.empty() ? by_cells(item, view) : by_checks(item, input);
    const StateRow& row = kStates[static_cast<size_t>(answer.state)];
    document.paragraph(fmt::format("{} {}: {}", row.mark, item.item, answer.text), row.tone);
  }
}

}  // namespace plumbline
