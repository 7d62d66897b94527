// The matrix counted (proportions with their intervals, times, confusions), for people on a
// terminal, and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/stats/stats.h"
#include "lab/matrix.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

constexpr double kZ = 1.959964;  // normal quantile of a 95 % interval

double wilson(const Proportion& p, double sign) {
  if (p.all == 0) return sign < 0 ? 0 : 1;
  const double n = p.all, share = p.hits / n, z2 = kZ * kZ;
  const double middle = share + z2 / (2 * n);
  const double half = kZ * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return std::clamp((middle + sign * half) / (1 + z2 / n), 0.0, 1.0);
}

std::string share_text(const Proportion& p) {
  if (p.all == 0) return "none tried";
  return fmt::format("{} of {} ({:.1f} %, 95 % interval {:.1f} to {:.1f} %)", p.hits, p.all,
                     100 * p.value(), 100 * p.low(), 100 * p.high());
}

bool counts(const CellResult& cell) { return cell.skipped.empty() && cell.error.empty(); }

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

// What doctor said instead, in a few words.
std::string said_words(const CellResult& cell) {
  std::vector<std::string> said;
  for (const SaidFinding& finding : cell.diagnosis.findings) {
    if (finding.outcome == "note") continue;
    said.push_back(finding.cause + " on " + finding.host +
                   (finding.peer.empty() ? "" : ">" + finding.peer));
  }
  return said.empty() ? "nothing" : joined(said);
}

std::string expected_words(const CellResult& cell) {
  std::vector<std::string> out;
  for (const Injected& injected : cell.injected) {
    out.push_back(injected.causes.front() + " on " + injected.expect_host +
                  (injected.expect_peer.empty() ? "" : ">" + injected.expect_peer));
  }
  return out.empty() ? "nothing" : joined(out);
}

double Proportion::value() const { return all == 0 ? 0 : static_cast<double>(hits) / all; }
double Proportion::low() const { return wilson(*this, -1); }
double Proportion::high() const { return wilson(*this, 1); }

bool MatrixSummary::all_right() const {
  return singles.hits == singles.all && pairs.hits == pairs.all && zoo.hits == zoo.all &&
         errors == 0;
}

MatrixSummary summarise(const MatrixResult& result) {
  MatrixSummary summary;
  std::vector<double> faulty, healthy;
  for (const CellResult& cell : result.cells) {
    summary.skipped += cell.skipped.empty() ? 0 : 1;
    summary.errors += cell.error.empty() ? 0 : 1;
    if (!cell.skipped.empty()) continue;
    const bool zoo = cell.cell.kind == MatrixCellKind::kZoo;
    Proportion& own = zoo                                       ? summary.zoo
                      : cell.cell.kind == MatrixCellKind::kPair ? summary.pairs
                                                                : summary.singles;
    ++own.all;
    own.hits += cell.right ? 1 : 0;
    if (!cell.right && counts(cell)) {
      summary.confusions.push_back(fmt::format("{} (seed {}): expected {}, got {}", cell.cell.name,
                                               cell.cell.seed, expected_words(cell),
                                               said_words(cell)));
    }
    if (!counts(cell)) continue;
    (zoo ? healthy : faulty).push_back(static_cast<double>(cell.diagnosis.took_ns) / 1e9);
    const int found = static_cast<int>(cell.judgement.found.size());
    const int missed = static_cast<int>(cell.judgement.missed.size());
    summary.recall.all += found + missed;
    summary.recall.hits += found;
    summary.precision.all += cell.judgement.named;
    summary.precision.hits += cell.judgement.named - static_cast<int>(cell.judgement.wrong.size());
    if (cell.cell.kind == MatrixCellKind::kPair) {
      summary.pair_faults.all += found + missed;
      summary.pair_faults.hits += found;
    }
    if (cell.remedy_tried) {
      ++summary.remedies.all;
      summary.remedies.hits += cell.healed ? 1 : 0;
    }
  }
  summary.median_s = faulty.empty() ? 0 : median(faulty);
  summary.max_s = faulty.empty() ? 0 : *std::max_element(faulty.begin(), faulty.end());
  summary.median_zoo_s = healthy.empty() ? 0 : median(healthy);
  return summary;
}

std::string summary_lines(const MatrixSummary& summary, const char* bullet) {
  std::string out;
  const auto add = [&](const std::string& what, const std::string& text) {
    out += bullet + what + ": " + text + "\n";
  };
  if (summary.singles.all > 0) {
    add("single faults, right cause first and nothing wrong", share_text(summary.singles));
  }
  if (summary.recall.all > 0) add("recall", share_text(summary.recall));
  if (summary.precision.all > 0) add("precision", share_text(summary.precision));
  if (summary.pairs.all > 0) {
    add("pairs of faults, both found and nothing wrong", share_text(summary.pairs));
  }
  if (summary.zoo.all > 0) {
    add("healthy networks without warn or fail", share_text(summary.zoo));
  }
  if (summary.remedies.all > 0) add("local remedies that healed", share_text(summary.remedies));
  std::string times =
      fmt::format("median {:.1f} s, longest {:.1f} s", summary.median_s, summary.max_s);
  if (summary.zoo.all > 0) times += fmt::format("; healthy: median {:.1f} s", summary.median_zoo_s);
  add("time to verdict", times);
  if (summary.skipped > 0) add("cells that cannot be made here", std::to_string(summary.skipped));
  if (summary.errors > 0) add("cells that failed to run", std::to_string(summary.errors));
  return out;
}

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
