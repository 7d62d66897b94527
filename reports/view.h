// What all reports share: the records of a run with their statistics recomputed, in-place and
// out-of-place measurements of the same cell side by side, grouped by kind of matrix and by
// operation, algorithm, ranks and transport, in a stable order; and how much of the measured roofs
// was attained. A View points into the records it was made from. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/record/tally.h"

namespace plumbline {

// From best to worst, so that the worse of two is the larger.
enum class Verdict { kClean, kNoisy, kSkipped, kFailed, kInvalid, kError };
// "clean", "noisy", "skipped", "FAILED", "INVALID" (wrong data, or noise that voids the number),
// "ERROR".
const char* to_string(Verdict verdict);
Verdict verdict_of(const Record& record);

// One record, or all launches of one cell (`run --repeat`); everything here is derived from samples
// or counters. Times in ns.
struct Item {
  const Record* record = nullptr;  // of several launches the worst one, or else the last
  // Of several launches: p50 is the median of their medians and p50_ci95 the interval of that, the
  // rest that of all samples together.
  TimeSummary time;
  uint64_t launches = 1;
  std::optional<double> algbw_Bps, busbw_Bps;  // absent where they mean nothing (barrier, no data)
  std::optional<double> of_latency, of_bandwidth;  // fraction of the measured roof
  std::string no_roof;  // why that roof is none (reports/roofs.h); empty = it may be one
  Verdict verdict = Verdict::kClean;
  // The time of one operation that tables and plots show, and what it is: our median ("p50"), or,
  // of an imported result without samples, what its tool printed ("mean" ...).
  std::optional<double> typical_ns;
  std::string statistic;

  bool imported() const { return record->measurement.reported.has_value(); }
  // Numbers may be shown and compared: something was measured and the data were right.
  bool valid() const { return verdict == Verdict::kClean || verdict == Verdict::kNoisy; }
};

// The verdict as a word for people: that of a clean imported result is "imported", because nobody
// watched the machine while another tool measured, and "clean" would be a claim.
std::string verdict_word(const Item& item);

// What of an item a statistic is asked for.
enum class Quantity { kTime, kRate };
// Of an imported result: what its tool says that the number is ("mean over ranks"), "median" where
// we took it from samples, "" where nobody said. Of our own: "median".
std::string statistic_of(const Item& item, Quantity quantity);
// Whose number it is and which statistic: "osu (mean over ranks)", "native (median)".
std::string source_of(const Item& item, Quantity quantity);

// The two placements of one cell; at least one is there.
struct Pair {
  const Item* out = nullptr;
  const Item* in = nullptr;

  const Item& any() const { return out ? *out : *in; }
  Verdict verdict() const;  // the worse one
};

struct ViewGroup {
  CellKind kind = CellKind::kLatency;
  std::string op, engine, algorithm, transport;
  std::string hosts, distribution;  // as in Cell
  int ranks = 0;
  std::vector<Pair> rows;  // by type, redop, size ...
};

struct Counts {
  size_t passed = 0, failed = 0, skipped = 0, errors = 0;  // launches of cells, roofs included
  size_t noisy = 0, invalid = 0;                           // of those, by verdict
  uint64_t wrong = 0;                                      // wrong elements

  size_t total() const { return passed + failed + skipped + errors; }
};
Tally tally_of(const Counts& counts);
// "46 cells: 44 pass, 2 skipped; 3 noisy", with wrong elements where there are any.
std::string cells_text(const Counts& counts);

struct View {
  View() = default;
  View(View&&) = default;  // groups point into items, so a copy would be wrong
  View& operator=(View&&) = default;

  std::vector<Item> items;  // one per record that counts, in file order
  std::vector<ViewGroup> groups;
  std::vector<const Item*> roofs;
  Counts counts;
  size_t superseded = 0;  // records left out because a later one repeats the same cell
};

// A record of the same cell and run that comes later (after --resume) replaces an earlier one.
View make_view(const std::vector<Record>& records);

// One record alone, without the roofs; then the fractions of the view's roofs.
Item make_item(const Record& record);
void attain(const View& view, Item& item);

// What was asked for and, for `auto`, what it became, in a few words: "allreduce ring 4 ranks tcp".
std::string title_of(const ViewGroup& group);
// One cell in words, for lists of failures: "allreduce ring, 4 ranks, tcp, 64 KiB f32 sum, in
// place".
std::string describe(const Record& record);
// Resolved transport, or the one asked for when nothing was resolved.
const std::string& transport_of(const Record& record);
}  // namespace plumbline
