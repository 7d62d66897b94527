#include "runs/repeat_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/file.h"
#include "reports/compare/compare.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFewestPairs = 6;  // with an interval, so that cells can be called the same

// Rows of the comparison, at least: a link cell may become several. Roofs are not judged, checks
// need no launches, and repetitions within a launch are one row.
size_t compared_cells(const Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.cells.begin(), plan.cells.end(), [&](const PlanCell& planned) {
        const CellKindRow& kind = row(planned.cell.kind);
        const bool timed = kind.asked_for && kind.timing != CellTiming::kNothing;
        return timed && planned.cell.repeat == 0 && planned.skip.empty();
      }));
}

Plan only_cells(const Plan& plan, const std::set<std::string>& ids) {
  Plan out = plan;
  std::erase_if(out.cells, [&](const PlanCell& cell) { return ids.count(cell.id) == 0; });
  return out;
}

}  // namespace

std::string repeat_outline(const Repeats& flags) {
  std::string text =
      fmt::format("{} launch{} of {}", flags.launches, flags.launches == 1 ? "" : "es",
                  flags.two_sides ? "each side, in turns" : "these cells");
  if (flags.again > 0) text += fmt::format("; {} more where b looks slower", flags.again);
  return text + "\n";
}

std::string too_few_launches(const Repeats& flags, const std::vector<const Plan*>& plans) {
  if (!flags.two_sides) return {};
  size_t cells = SIZE_MAX;
  for (const Plan* plan : plans) cells = std::min(cells, compared_cells(*plan));
  if (cells == 0) return {};
  const double alpha = flags.rule.alpha;
  const size_t needed = launches_needed(cells, true, alpha);
  const auto launches = static_cast<size_t>(flags.launches);
  std::string text;
  if (launches < needed) {
    text = fmt::format(
        "{} launch{} a side {} too few to {}: of so many pairs the signed-rank test gives at best "
        "p = {:.2g}, and for one of {} cell{} {:.2g} is needed (--alpha {:g}); --repeat {} is the "
        "least that could find a difference",
        launches, launches == 1 ? "" : "es", launches == 1 ? "is" : "are",
        launches < kFewestPairs ? "decide anything"
                                : "find a difference, only that something is the same",
        smallest_p_of_pairs(launches), cells, cells == 1 ? "" : "s",
        alpha / static_cast<double>(cells), alpha, needed);
  }
  const size_t again_needed = launches_needed(1, true, alpha);
  const auto again = static_cast<size_t>(flags.again);
  if (again > 0 && again < again_needed) {
    text += fmt::format(
        "{}--recheck {} is too few to confirm even one cell: --recheck {} is the least that could",
        text.empty() ? "" : "; ", again, again_needed);
  }
  return text;
}

void RepeatRun::add(RepeatSide side, std::string records_path) {
  side.run.progress = [this](RunProgress state) {
    state.phase = phase_;
    caller_.progress(state);
  };
  sides_.push_back(std::move(side));
  records_.push_back(std::move(records_path));
}

Expected<Comparison> RepeatRun::compare_files(int64_t last_series) const {
  CompareCollector collector(flags_.rule);
  std::vector<std::string> notes;
  for (size_t side = 0; side < 2; ++side) {
    const Status read = read_side(collector, side, records_[side], notes, last_series);
    if (!read) return fail(read.error());
  }
  Comparison comparison = collector.finish();
  for (size_t side = 0; side < 2; ++side) {
    (side == 0 ? comparison.name_a : comparison.name_b) =
        fmt::format("{} ({})", sides_[side].run.scenario->file,
                    fs::path(records_[side]).parent_path().string());
    note_incomplete(records_[side], side == 0 ? "a" : "b", comparison);
  }
  return comparison;
}

Expected<RepeatSummary> RepeatRun::measure_again(const Comparison& first) {
  std::vector<Plan> plans;  // the requests point into it
  plans.reserve(sides_.size());
  RepeatRequest request;
  request.launches = flags_.again;
  request.series = 2;
  request.seed = sides_.front().run.plan->seed + 1;
  request.phase = [this](const std::string& text) { phase_ = text; };
  for (size_t i = 0; i < sides_.size(); ++i) {
    plans.push_back(only_cells(*sides_[i].run.plan, suspects(first, i)));
    request.sides.push_back(sides_[i]);
    request.sides.back().run.plan = &plans.back();
  }
  RunProgress first_is_over;
  first_is_over.over = true;
  caller_.progress(first_is_over);
  if (!quiet_) {
    caller_.say(fmt::format("plumbline: {} cell{} slower in b; measured again, {} launches a side",
                            plans.back().cells.size(),
                            plans.back().cells.size() == 1 ? " looks" : "s look", flags_.again));
  }
  return run_repeated(request);
}

Expected<RepeatSummary> RepeatRun::measure() {
  RepeatRequest request;
  request.sides = sides_;
  request.launches = flags_.launches;
  request.seed = sides_.front().run.plan->seed;
  request.phase = [this](const std::string& text) { phase_ = text; };
  Expected<RepeatSummary> summary = run_repeated(request);
  const bool whole = summary && !summary->counts.interrupted && summary->counts.stopped.empty();
  if (!whole || !flags_.two_sides || flags_.again == 0) return summary;
  // By the first series alone: what a run that was cut off has of the second is too little to judge
  // by, and would keep --resume from measuring the rest of it.
  const Expected<Comparison> first = compare_files(1);
  if (!first || suspects(*first, 1).empty()) return summary;
  const Expected<RepeatSummary> second = measure_again(*first);
  if (!second) return fail(second.error());
  plumbline::add(summary->counts, second->counts);
  summary->counts.stopped = second->counts.stopped;
  return summary;
}

SidesCompared RepeatRun::compare() {
  SidesCompared compared;
  if (!flags_.two_sides) return compared;
  Expected<Comparison> comparison = compare_files();
  if (!comparison) {
    caller_.say("plumbline: not compared: " + comparison.error().message());
    compared.code = 2;
    return compared;
  }
  const fs::path folder = fs::path(records_.front()).parent_path().parent_path();
  const std::string file = (folder / "compare.json").string();
  if (const Status status = write_text_file(file, compare_json(*comparison)); status) {
    compared.files.push_back(file);
  } else {
    caller_.say("plumbline: " + status.error().message());
  }
  const Status drawn = draw_comparison(*comparison, (folder / "compare").string(), compared.files);
  if (!drawn) caller_.say("plumbline: " + drawn.error().message());
  compared.code = compare_exit_code(*comparison, flags_.strict);
  compared.comparison = std::move(*comparison);
  return compared;
}

}  // namespace plumbline
