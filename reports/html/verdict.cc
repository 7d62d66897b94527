// The page's first section: how the run ended in one sentence, the numbers that people ask for
// first, causes with remedies, rules, and the scenario's checklist.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnosis/health.h"
#include "core/record/tally.h"
#include "reports/answer.h"
#include "reports/content.h"
#include "reports/doctor.h"
#include "reports/html/page.h"
#include "reports/roofs.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostEvidence = 5;

size_t unexplained(const ReportInput& input) {
  return unexplained_failures(input.checks, input.findings).size();
}

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
  const size_t bare = unexplained(input);
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

std::string noise_text(const Counts& counts) {
  if (counts.noisy == 0) return {};
  return "something other than the network influenced the noisy ones (see Noise)";
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
  if (!finding.evidence.empty()) {
    const auto list = html.in("ul");
    for (size_t i = 0; i < std::min(kMostEvidence, finding.evidence.size()); ++i) {
      const Evidence& evidence = finding.evidence[i];
      html.element("li",
                   evidence.text + (evidence.check.empty() ? "" : " (" + evidence.check + ")"));
    }
    if (finding.evidence.size() > kMostEvidence) {
      html.element("li", fmt::format("... and {} more in doctor.json",
                                     finding.evidence.size() - kMostEvidence));
    }
  }
  if (finding.remedy.empty()) return;
  html.element("p", "To do:");
  write_remedy(finding.remedy, html);
}

void write_findings(const Page& page, HtmlWriter& html) {
  const std::vector<Finding>& findings = page.input->findings;
  if (findings.empty()) return;
  html.element("h3", "Causes and remedies");
  for (size_t i = 0; i < std::min(findings.size(), page.limits.listed); ++i) {
    write_finding(findings[i], html);
  }
  if (findings.size() > page.limits.listed) {
    html.element(
        "p", fmt::format("... and {} more in doctor.json", findings.size() - page.limits.listed),
        {{"class", "note"}});
  }
}

void write_remarks(const Page& page, HtmlWriter& html) {
  std::vector<std::string> remarks = page.input->notes;
  for (std::string& note : no_roof_notes(*page.view)) remarks.push_back(std::move(note));
  if (remarks.empty()) return;
  html.element("h3", "Remarks");
  const auto list = html.in("ul");
  for (size_t i = 0; i < std::min(remarks.size(), page.limits.listed); ++i) {
    html.element("li", remarks[i]);
  }
  if (remarks.size() > page.limits.listed) {
    html.element("li", fmt::format("... and {} more", remarks.size() - page.limits.listed));
  }
}

void write_rules(Page& page, HtmlWriter& html) {
  if (page.input->rules.empty()) return;
  html.element("h3", "Rules");
  for (const std::string& source : page.input->rule_sources) {
    html.element("p", source + ".", {{"class", "note"}});
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
  const std::string noise = noise_text(counts);
  if (!noise.empty()) parts.push_back(noise);
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
