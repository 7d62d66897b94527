// A scenario's checklist: every item with what was seen of it. An item is only as good as the worst
// check or cell that decides it, and one that nothing decided is never ticked.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.h"
#include "reports/content.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// How an item stands, worst last.
enum class State { kNothing, kSkipped, kOk, kWarn, kFail };

struct StateRow {
  State state;
  const char* mark;
  Tone tone;
};
constexpr StateRow kStates[] = {{State::kNothing, "[ -- ]", Tone::kWarn},
                                {State::kSkipped, "[skip]", Tone::kPlain},
                                {State::kOk, "[ ok ]", Tone::kGood},
                                {State::kWarn, "[warn]", Tone::kWarn},
                                {State::kFail, "[FAIL]", Tone::kBad}};

State state_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPass:
      return State::kOk;
    case CheckOutcome::kWarn:
      return State::kWarn;
    case CheckOutcome::kFail:
      return State::kFail;
    case CheckOutcome::kSkipped:
      return State::kSkipped;
    case CheckOutcome::kUnknown:
      break;
  }
  return State::kNothing;
}

State state_of(const Item& item) {
  switch (item.record->measurement.outcome) {
    case Outcome::kPassed:
      return item.valid() ? State::kOk : State::kWarn;
    case Outcome::kSkipped:
      return State::kSkipped;
    case Outcome::kFailed:
    case Outcome::kError:
      break;
  }
  return State::kFail;
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

Answer by_checks(const ChecklistItem& item, const ReportInput& input) {
  Answer answer;
  const Check* worst = nullptr;
  std::map<State, size_t> counts;
  for (const Check& check : input.checks) {
    if (std::find(item.probes.begin(), item.probes.end(), check.id) == item.probes.end()) continue;
    const State state = state_of(check.outcome);
    ++counts[state];
    if (worst != nullptr && state <= answer.state) continue;
    worst = &check;
    answer.state = state;
  }
  if (worst == nullptr && !input.checks.empty()) {
    return {State::kSkipped, "these probes found nothing to look at on these hosts"};
  }
  if (worst == nullptr) {
    answer.text = "not probed";
  } else if (answer.state == State::kOk) {
    answer.text = fmt::format("{} checks passed", counts[State::kOk]);
    if (counts[State::kSkipped] > 0)
      answer.text += fmt::format(", {} skipped", counts[State::kSkipped]);
    if (counts[State::kNothing] > 0)
      answer.text += fmt::format(", {} unknown", counts[State::kNothing]);
  } else {
    answer.text = words_of(*worst, input.findings);
  }
  return answer;
}

// "28.1 us", "peak 3.2 GB/s (25.6 Gb/s) at 16 MiB", over all valid cells.
std::string numbers_of(const std::vector<const Item*>& items) {
  std::string text;
  const Item *fastest = nullptr, *widest = nullptr;
  for (const Item* item : items) {
    const std::string& kind = item->record->cell.kind;
    if (!item->valid()) continue;
    if (kind == "latency" && item->time.p50 &&
        (fastest == nullptr || *item->time.p50 < *fastest->time.p50)) {
      fastest = item;
    }
    if (kind == "bandwidth" && item->busbw_Bps &&
        (widest == nullptr || *item->busbw_Bps > *widest->busbw_Bps)) {
      widest = item;
    }
  }
  if (fastest != nullptr) {
    text += fmt::format(", median {} at {}", format_duration(*fastest->time.p50),
                        format_bytes(fastest->record->cell.bytes));
  }
  if (widest != nullptr) {
    constexpr double kGiga = 1e9;
    text +=
        fmt::format(", bus bandwidth up to {} ({:.1f} Gb/s) at {}", format_rate(*widest->busbw_Bps),
                    *widest->busbw_Bps * 8 / kGiga, format_bytes(widest->record->cell.bytes));
  }
  return text;
}

Answer by_cells(const ChecklistItem& item, const View& view) {
  Answer answer;
  std::vector<const Item*> items;
  const Item* worst = nullptr;
  std::vector<std::string> transports;
  size_t passed = 0;
  for (const Item& each : view.items) {
    if (item.cells.count(cell_id(each.record->cell)) == 0) continue;
    items.push_back(&each);
    const State state = state_of(each);
    const std::string& transport = transport_of(*each.record);
    const bool passes = each.record->measurement.outcome == Outcome::kPassed;
    passed += passes ? 1 : 0;
    if (passes && std::find(transports.begin(), transports.end(), transport) == transports.end()) {
      transports.push_back(transport);
    }
    if (worst != nullptr && state <= answer.state) continue;
    worst = &each;
    answer.state = state;
  }
  if (worst == nullptr) {
    answer.text = "not measured";
    return answer;
  }
  answer.text = fmt::format("{} of {} cells passed", passed, item.cells.size());
  if (!transports.empty()) answer.text += " over " + join(transports, ", ");
  answer.text += numbers_of(items);
  // Cells that no record speaks of were not reached.
  if (items.size() < item.cells.size()) answer.state = std::max(answer.state, State::kWarn);
  const Measurement& measured = worst->record->measurement;
  if (answer.state != State::kOk && !measured.reason.empty()) answer.text += "; " + measured.reason;
  return answer;
}

}  // namespace

void add_checklist(const ReportInput& input, const View& view, Document& document) {
  if (input.checklist.empty()) return;
  document.heading(1, "Checklist");
  for (const ChecklistItem& item : input.checklist) {
    const Answer answer = item.probes.empty() ? by_cells(item, view) : by_checks(item, input);
    const auto* row =
        std::find_if(std::begin(kStates), std::end(kStates),
                     [&](const StateRow& each) { return each.state == answer.state; });
    document.paragraph(fmt::format("{} {}: {}", row->mark, item.item, answer.text), row->tone);
  }
}

}  // namespace plumbline
