// The page's first section: how the run ended in one sentence, the numbers that people ask for
// first as tiles, causes with remedies, rules, and the scenario's checklist.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnosis/finding.h"
#include "core/record/tally.h"
#include "core/units.h"
#include "reports/alike.h"
#include "reports/content.h"
#include "reports/doctor.h"
#include "reports/html/page.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

void tile(const std::string& what, const std::string& figure, const std::string& detail,
          HtmlWriter& html) {
  const auto box = html.in("div");
  html.element("dt", what);
  html.element("dd", figure, {{"class", "figure"}});
  if (!detail.empty()) html.element("dd", detail, {{"class", "detail"}});
}

// "19 pass", and below it "1 warn, 23 skipped".
void tally_tile(const std::string& what, const Tally& tally, HtmlWriter& html) {
  const Tally others = tally.without(Standing::kPass);
  tile(what, fmt::format("{} pass", tally.of(Standing::kPass)),
       others.total() > 0 ? others.text() : "", html);
}

std::string short_name(const Item& item) {
  const Cell& cell = item.record->cell;
  std::string text =
      clean(cell.op) + ", " + plural(static_cast<size_t>(std::max(0, cell.ranks)), "rank");
  if (cell.bytes > 0) text += ", " + format_bytes(cell.bytes);
  return text;
}

// "Lowest latency (median)"; with the tool where it is not ours: "..., osu (mean)".
std::string headline_of(const Best& best, const std::string& what, const std::string& own,
                        Quantity quantity) {
  return what + (best.item().imported() ? ", " + source_of(best.item(), quantity) : own);
}

void measured_tiles(const View& view, HtmlWriter& html) {
  Best fastest(Best::Wanted::kLowest), widest(Best::Wanted::kHighest),
      busiest(Best::Wanted::kHighest);
  for (const Item& item : view.items) {
    const Headline headline = row(item.record->cell.kind).headline;
    if (headline == Headline::kTime) fastest.offer(item, item.typical_ns);
    if (headline == Headline::kBusBandwidth) widest.offer(item, item.busbw_Bps);
    if (headline == Headline::kOperationRate) {
      busiest.offer(item, item.record->measurement.ops_per_s);
    }
  }
  if (fastest) {
    tile(headline_of(fastest, "Lowest latency", " (median)", Quantity::kTime),
         format_duration(fastest.value()), short_name(fastest.item()) + fastest.remark(), html);
  }
  if (widest) {
    std::string detail = short_name(widest.item());
    const std::optional<double>& share = widest.item().of_bandwidth;
    if (!widest.item().no_roof.empty()) {
      detail += "; above its roof, which was measured at a bad moment";
    } else if (share) {
      detail += fmt::format("; {} % of the roof", percent_text(share));
    }
    tile(headline_of(widest, "Highest bus bandwidth", "", Quantity::kRate),
         format_rate(widest.value()), detail + widest.remark(), html);
  }
  if (busiest) {
    tile(headline_of(busiest, "Most operations", "", Quantity::kRate),
         fmt::format("{:.0f}/s", busiest.value()), short_name(busiest.item()) + busiest.remark(),
         html);
  }
}

void link_tiles(const Page& page, HtmlWriter& html) {
  for (const LinkWorld& world : page.worlds) {
    const LinkGrid* rates = rate_grid(world);
    if (rates == nullptr) continue;
    std::optional<double> low, high;
    for (const auto& value : rates->values) {
      if (!value) continue;
      low = std::min(low.value_or(*value), *value);
      high = std::max(high.value_or(*value), *value);
    }
    if (!low) continue;
    const bool noisy =
        std::any_of(world.records.begin(), world.records.end(), [&](const Record* record) {
          return record->cell.measure == rates->measure && verdict_of(*record) == Verdict::kNoisy;
        });
    tile("Slowest link", grid_text(LinkUnit::kRate, low),
         "fastest " + grid_text(LinkUnit::kRate, high) + "; " + rates->title +
             (noisy ? "; noisy" : ""),
         html);
    return;
  }
}

constexpr size_t kMostEvidence = 5;

size_t findings_of(const ReportInput& input, Severity severity) {
  return static_cast<size_t>(
      std::count_if(input.findings.begin(), input.findings.end(),
                    [&](const Finding& finding) { return finding.outcome == severity; }));
}

std::string probes_text(const ReportInput& input) {
  if (input.checks.empty() && input.findings.empty()) return "nothing was probed before";
  const Standings standings(input.findings);
  const auto bare_warnings = static_cast<size_t>(
      std::count_if(input.checks.begin(), input.checks.end(), [&](const Check& check) {
        return standings.of(check) == Standing::kWarn && !standings.explained(check);
      }));
  const size_t failing = findings_of(input, Severity::kFail),
               warning = findings_of(input, Severity::kWarn) + bare_warnings;
  const size_t bare = unexplained_failures(input.checks, input.findings).size();
  std::vector<std::string> parts;
  if (failing > 0) parts.push_back(plural(failing, "cause") + " that must be healed");
  if (bare > 0) parts.push_back(plural(bare, "failed check") + " without a known cause");
  if (warning > 0) parts.push_back(plural(warning, "warning"));
  if (parts.empty())
    return fmt::format("the probes found no fault in {}", plural(input.checks.size(), "check"));
  return "the probes found " + join(parts, ", ");
}

std::string scenarios_text(const View& view) {
  std::set<std::string> names;
  for (const Item& item : view.items) names.insert(clean(item.record->scenario));
  names.erase("");
  if (names.empty()) return "This run";
  std::vector<std::string> list(names.begin(), names.end());
  constexpr size_t kMost = 3;
  if (list.size() > kMost) return plural(list.size(), "scenario");
  return join(list, " and ");
}

// Commands to copy stand in blocks of their own, advice is text.
void write_remedy(const Remedy& remedy, HtmlWriter& html) {
  constexpr size_t kLongestRemedy = 8000;
  size_t left = kLongestRemedy;
  std::string block;
  const auto finish = [&] {
    if (!block.empty()) html.preformatted(block, kLongestRemedy);
    block.clear();
  };
  for (const RemedyStep& step : remedy.steps()) {
    const std::string line = step.text.substr(0, left);
    left -= line.size();
    if (step.is_code) {
      block += (block.empty() ? "" : "\n") + line;
    } else if (line.find_first_not_of(" #\t\r") != std::string::npos) {
      finish();
      html.element("p", line.substr(line.find_first_not_of(" #\t")));
    }
  }
  finish();
}

void write_finding(const Finding& finding, HtmlWriter& html) {
  const char* severity = to_string(finding.outcome);
  const auto box = html.in("div", {{"class", std::string("finding ") + severity}});
  {
    const auto heading = html.in("h4");
    html.element("span", severity, {{"class", std::string("badge ") + severity}});
    html.text(" " + title_of(finding));
    if (finding.confidence < 1)
      html.text(fmt::format(", confidence {:.0f} %", 100 * finding.confidence));
  }
  std::vector<std::string> seen;
  for (const Evidence& evidence : finding.evidence) {
    seen.push_back(evidence.text + (evidence.check.empty() ? "" : " (" + evidence.check + ")"));
  }
  if (!seen.empty()) write_list(seen, kMostEvidence, html, " in doctor.json");
  if (finding.remedy.empty()) return;
  html.element("p", "To do:");
  write_remedy(finding.remedy, html);
}

void write_findings(const Page& page, HtmlWriter& html) {
  const std::vector<Finding> findings = alike_as_one(page.input->findings);
  if (findings.empty()) return;
  html.element("h3", "Causes and remedies");
  for (size_t i = 0; i < std::min(findings.size(), page.limits.listed); ++i) {
    write_finding(findings[i], html);
  }
  if (findings.size() > page.limits.listed) {
    write_note(fmt::format("... and {} more in doctor.json", findings.size() - page.limits.listed),
               html);
  }
}

void write_remarks(const Page& page, HtmlWriter& html) {
  std::vector<std::string> remarks = page.input->notes;
  for (std::string& note : no_roof_notes(*page.view)) remarks.push_back(std::move(note));
  for (std::string& note : fell_back_notes(*page.view)) remarks.push_back(std::move(note));
  if (remarks.empty()) return;
  html.element("h3", "Remarks");
  write_list(remarks, page.limits.listed, html);
}

void write_rules(Page& page, HtmlWriter& html) {
  if (page.input->rules.empty()) return;
  html.element("h3", "Rules");
  for (const std::string& source : page.input->rule_sources) {
    write_note(source + ".", html);
  }
  Table table;
  table.columns = {{"", "records of", "", true, 0, true},
                   {"", "rule", "", true, 0, false},
                   {"", "what was seen", "", true, 0, false},
                   {"", "where it stands", "", true, 0, true},
                   {"", "verdict", "", true, 0, false}};
  for (const RuleVerdict& rule : page.input->rules) {
    table.rows.push_back(
        {{rule.records, rule.rule, rule.message, rule.where, rule.passed ? "met" : "NOT MET"},
         rule.passed ? Tone::kGood : Tone::kBad});
  }
  write_table(without_empty_columns(table), "Rules and what became of them", page.rows, html);
}

}  // namespace

void write_tiles(const Page& page, HtmlWriter& html) {
  const Counts& counts = page.view->counts;
  const auto list = html.in("dl", {{"class", "tiles"}});
  if (counts.total() > 0) tally_tile("Cells", tally_of(counts), html);
  if (!page.input->checks.empty()) {
    tally_tile("Checks", tally_of(page.input->checks, page.input->findings), html);
  }
  measured_tiles(*page.view, html);
  link_tiles(page, html);
}

PageAnswer answer_of(const Page& page) {
  const ReportInput& input = *page.input;
  const Counts& counts = page.view->counts;
  const Tally rules = tally_of(input.rules);
  const RunAnswer run = answer_of(input, *page.view, page.worlds);
  PageAnswer answer;
  answer.tone = run.tone;
  answer.word = run.word;
  std::vector<std::string> parts = {scenarios_text(*page.view) + (counts.total() == 0
                                                                      ? ": nothing was measured"
                                                                      : ", " + cells_text(counts))};
  parts.insert(parts.end(), input.incomplete.begin(), input.incomplete.end());
  parts.push_back(probes_text(input));
  if (!input.rules.empty()) parts.push_back(rules.text("rule"));
  if (run.outliers > 0) {
    parts.push_back(plural(run.outliers, "link, sender or receiver") + " standing out");
  }
  if (run.link_fails) parts.push_back("a link far below the speed that the host file states");
  if (run.unknown_links > 0) parts.push_back("whether links are slow is not known (see Links)");
  if (counts.noisy > 0) {
    parts.push_back("something other than the network influenced the noisy ones (see Noise)");
  }
  answer.sentence = join(parts, "; ") + ".";
  return answer;
}

void write_verdict(Page& page, HtmlWriter& html) {
  const PageAnswer answer = answer_of(page);
  {
    const char* look = answer.tone == Tone::kGood  ? "good"
                       : answer.tone == Tone::kBad ? "bad"
                                                   : "warn";
    const auto box = html.in("div", {{"class", std::string("answer ") + look}});
    html.element("strong", answer.word);
    html.element("p", answer.sentence);
  }
  write_tiles(page, html);
  write_remarks(page, html);
  write_findings(page, html);
  write_rules(page, html);
  Document checklist;
  add_checklist(*page.input, *page.view, checklist);
  write_document(checklist, page.rows, html);
}

}  // namespace plumbline
