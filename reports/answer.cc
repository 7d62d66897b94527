#include "reports/answer.h"

#include "core/diagnosis/health.h"
#include "core/record/tally.h"
#include "reports/roofs.h"

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

}  // namespace plumbline
