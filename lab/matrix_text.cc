// The matrix for people on a terminal, and for programs.
#include <fmt/format.h>

#include "core/json.h"
#include "lab/matrix_words.h"

namespace plumbline {
namespace {

std::string outcome_word(const CellResult& cell) {
  if (!cell.skipped.empty()) return "skipped";
  if (!cell.error.empty()) return "ERROR";
  if (!cell.right) return "WRONG";
  if (cell.remedy_tried && !cell.healed) return "right, not healed";
  return cell.remedy_tried ? "right, healed" : "right";
}

std::string details(const CellResult& cell) {
  std::string out;
  const auto line = [&](const std::string& text) { out += "    " + text + "\n"; };
  if (!cell.skipped.empty()) return "    " + cell.skipped + "\n";
  line("network: " + cell.lab);
  for (const Injected& injected : cell.injected) line("done: " + injected.how);
  if (!cell.error.empty()) line("error: " + cell.error);
  line("expected: " + expected_words(cell));
  for (const std::string& text : cell.judgement.because) line("near: " + text);
  for (const SaidFinding& finding : cell.diagnosis.findings) out += finding_text(finding);
  for (const std::string& text : cell.changed_elsewhere) line("changed elsewhere: " + text);
  for (const std::string& text : cell.after_remedy) line("after the remedy: " + text);
  std::string command = fmt::format("plumbline lab matrix --only {} --seed {} --seeds 1 -v",
                                    cell.cell.name, cell.cell.seed);
  line("again: " + command);
  return out;
}

nlohmann::json proportion_json(const Proportion& p) {
  return {{"hits", p.hits}, {"n", p.all}, {"value", p.value()}, {"ci95", {p.low(), p.high()}}};
}

nlohmann::json cell_json(const CellResult& cell) {
  nlohmann::json faults = nlohmann::json::array();
  for (const Injected& injected : cell.injected) {
    faults.push_back({{"fault", injected.fault},
                      {"how", injected.how},
                      {"causes", injected.causes},
                      {"host", injected.expect_host},
                      {"peer", injected.expect_peer}});
  }
  nlohmann::json said = nlohmann::json::array();
  for (const SaidFinding& finding : cell.diagnosis.findings) {
    said.push_back({{"cause", finding.cause},
                    {"outcome", finding.outcome},
                    {"host", finding.host},
                    {"peer", finding.peer},
                    {"remedy", finding.remedy}});
  }
  return {{"kind", to_string(cell.cell.kind)},
          {"name", cell.cell.name},
          {"seed", cell.cell.seed},
          {"network", cell.lab},
          {"skipped", cell.skipped},
          {"error", cell.error},
          {"faults", faults},
          {"findings", said},
          {"right", cell.right},
          {"wrong", cell.judgement.wrong},
          {"missed", cell.judgement.missed},
          {"doctor_ns", cell.diagnosis.took_ns},
          {"remedy_tried", cell.remedy_tried},
          {"healed", cell.healed},
          {"changed_elsewhere", cell.changed_elsewhere},
          {"after_remedy", cell.after_remedy}};
}

}  // namespace

std::string finding_text(const SaidFinding& finding) {
  std::string out = fmt::format("    said: {} ({}) on {}{}\n", finding.cause, finding.outcome,
                                finding.host, finding.peer.empty() ? "" : ">" + finding.peer);
  for (const std::string& text : finding.evidence) out += "          " + text + "\n";
  if (!finding.remedy.empty()) out += "          remedy: " + finding.remedy + "\n";
  return out;
}

std::string matrix_text(const MatrixResult& result, bool verbose) {
  std::string out;
  for (const CellResult& cell : result.cells) {
    out += fmt::format("{:<7}{:<30} seed {:<4} {:<18} {:>6.1f} s\n", to_string(cell.cell.kind),
                       cell.cell.name, cell.cell.seed, outcome_word(cell),
                       static_cast<double>(cell.diagnosis.took_ns) / 1e9);
    const bool trouble = cell.skipped.empty() && cell.error.empty() &&
                         (!cell.right || (cell.remedy_tried && !cell.healed));
    if (verbose || trouble || !cell.error.empty()) out += details(cell);
  }
  const MatrixSummary summary = summarise(result);
  out += "\n";
  if (result.interrupted) {
    out += fmt::format("interrupted: only these {} cells were looked at\n", result.cells.size());
  }
  out += summary_lines(summary, "");
  if (!summary.confusions.empty()) out += "confusions:\n";
  for (const std::string& line : summary.confusions) out += "  " + line + "\n";
  return out;
}

std::string matrix_json(const MatrixResult& result) {
  const MatrixSummary summary = summarise(result);
  nlohmann::json cells = nlohmann::json::array();
  for (const CellResult& cell : result.cells) cells.push_back(cell_json(cell));
  const nlohmann::json json = {{"schema", 1},
                               {"suite_version", PLUMBLINE_VERSION},
                               {"seed", result.options.seed},
                               {"seeds", result.options.seeds},
                               {"unprivileged", result.options.unprivileged},
                               {"reduced", result.options.reduced},
                               {"single", proportion_json(summary.singles)},
                               {"recall", proportion_json(summary.recall)},
                               {"precision", proportion_json(summary.precision)},
                               {"pairs", proportion_json(summary.pairs)},
                               {"zoo", proportion_json(summary.zoo)},
                               {"remedies", proportion_json(summary.remedies)},
                               {"median_s", summary.median_s},
                               {"max_s", summary.max_s},
                               {"median_zoo_s", summary.median_zoo_s},
                               {"skipped", summary.skipped},
                               {"errors", summary.errors},
                               {"confusions", summary.confusions},
                               {"cells", cells}};
  return json_text(json);
}

}  // namespace plumbline
