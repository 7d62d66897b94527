// The matrix counted: proportions with their intervals, times, confusions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/stats/stats.h"
#include "lab/matrix_words.h"

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

}  // namespace

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

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

}  // namespace plumbline
