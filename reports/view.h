// What all reports share: the records of a run with their statistics recomputed, in-place and
// out-of-place measurements of the same cell side by side, grouped by kind of matrix and by
// operation, algorithm, ranks and transport, in a stable order; and how much of the measured roofs
// was attained. A View points into the records it was made from. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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
  std::string no_roof;  // why that roof is none (see RoofShare); empty = it may be one
  // By its schedule's cost and the roofs of its path; and the largest term of it, or `sync` where
  // ranks lost more time than that by waiting for one another.
  std::optional<double> predicted_ns;
  std::optional<Term> limit;
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

  bool imported() const { return !rows.empty() && rows.front().any().imported(); }
};

struct Counts {
  size_t passed = 0, failed = 0, skipped = 0, errors = 0;  // launches of cells, roofs included
  size_t noisy = 0, invalid = 0;                           // of those, by verdict
  uint64_t wrong = 0;                                      // wrong elements

  void add(const Item& item);
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
// What the records of one world of ranks have in common, and it in words: "4 ranks, tcp".
using WorldKey = std::tuple<int, std::string, std::string, std::string>;
WorldKey world_key(const Record& record);
std::string world_title(const Record& record);

// The best result of a kind, for whoever shows one number of many: a clean one before a noisy one,
// ours before those of other tools, whose statistic differs, and only then the better number.

class Best {
 public:
  enum class Wanted { kLowest, kHighest };
  explicit Best(Wanted wanted) : wanted_(wanted) {}

  // A result that means nothing, or has no such number, is passed over.
  void offer(const Item& item, std::optional<double> value) {
    if (!item.valid() || !value || (item_ != nullptr && !better(item, *value))) return;
    item_ = &item;
    value_ = *value;
  }
  explicit operator bool() const { return item_ != nullptr; }
  const Item& item() const { return *item_; }
  double value() const { return value_; }
  bool noisy() const { return item_->verdict == Verdict::kNoisy; }
  // To stand behind the number: what nobody may overlook about it, or nothing.
  std::string remark() const { return noisy() ? "; noisy, as there is no clean result" : ""; }

 private:
  bool better(const Item& item, double value) const {
    const bool clean = item.verdict != Verdict::kNoisy;
    if (clean == noisy()) return clean;
    if (item.imported() != item_->imported()) return item_->imported();
    return wanted_ == Wanted::kLowest ? value < value_ : value > value_;
  }

  Wanted wanted_;
  const Item* item_ = nullptr;
  double value_ = 0;
};

// Measured roofs: what bare sockets did between ranks 0 and 1 before the cells of their world were
// measured, and which share of it a result attained. A roof is a measurement like any other and can
// be taken at a bad moment; results far above one show it. Then the roof is too low to count: the
// share is still a quotient, but nothing can be judged by it.

// Roofs of this name that were measured on the record's path: those of its own number of ranks, in
// its own run or, when that has none (it resumed another), in one of the same plan; else those of
// other numbers of ranks.
std::vector<const Item*> roofs_for(const View& view, const Record& record, std::string_view op);
// Bytes per second in one direction that a roof record stands for.
std::optional<double> roof_rate_Bps(const Item& roof);
// True when every rank sends and receives at once, so that the two-way roof is its bound.
bool is_two_way(std::string_view op);
// What the bare path takes for the bytes that bound this operation from below, sent in the manner
// in which it must send them (core/stats/floor.h); nothing where just that was not measured.
std::optional<double> latency_floor_ns(const View& view, const Record& record);
// The streams on the record's path, two-way or one-way as the operation needs them, whatever their
// size; each has a rate. Those of arrays, as cold or hot as the record's, where there are some.
std::vector<const Item*> bandwidth_roofs(const View& view, const Record& record);
// The roof that bounds an operation's bus bandwidth, or null: the stream of arrays of the record's
// size, else the fastest stream of one buffer.
const Item* bandwidth_roof(const View& view, const Record& record);

// From here on a result is further above its roof than noise explains. Medians of a quiet machine
// differ by a few percent; nothing that was in order came above 107 % of one connection's rate.
// One message is timed less exactly: 113 % were seen over loopback (docs/rules.md).
inline constexpr double kMostOfRate = 1.1, kMostOfLatency = 1.25;

struct RoofShare {
  double share = 0;  // 1 = the roof
  // Why the roof does not count, in words, the same for all results above it; empty = it may be
  // one.
  std::string no_roof;
};
// Of the bus bandwidth; nothing without a roof or a bandwidth. The roof is of one connection: where
// a rank has several busy at once (direct algorithms of more than two ranks: a gather, links of a
// mesh), so many times the roof are possible, and only what is above that shows a bad one.
std::optional<RoofShare> bandwidth_share(const View& view, const Item& item);
// The floor over the median time, so that 1 is the least that the bare path takes; nothing without
// a floor of just this size and manner. Operations that follow one another without a common start
// (sync none) overlap: their times are no latencies, and show nothing about the roof.
std::optional<RoofShare> latency_share(const View& view, const Item& item);

// What the roofs on the record's path say of the speeds that its schedule's cost is multiplied with
// (core/stats/prediction.h).
Speeds speeds_for(const View& view, const Record& record);
// Fills in the item's prediction and limit, where its record tells what its schedule costs.
void foresee(const View& view, Item& item);

// Means over the ranks of a record, where they told.
std::optional<TimeSplit> mean_split(const Measurement& measurement);
// Of all ranks together; nothing where one of them did not count.
std::optional<RankCounters> sum_counters(const Measurement& measurement);
// Processor time of all ranks over the bytes that they sent and received, ns.
std::optional<double> cpu_ns_per_byte(const Measurement& measurement);
// The mean time of one operation, ns; and the most bytes per second of a single one: S over the
// shortest time (of a round trip both ways).
std::optional<double> mean_ns(const Item& item);
std::optional<double> peak_Bps(const Item& item);

// For lists of remarks: a line for each roof of the view that is none; of many, those with the most
// results above them, and a line that counts the others.
std::vector<std::string> no_roof_notes(const View& view);

// How the ranks of a world compare: in every cell where all ranks do the same work (allreduce,
// barrier ...) each rank's own median time over that of the rank in the middle. A rank that is late
// makes the others wait for it: then its own times are the short ones. Pure.

struct RankStanding {
  int rank = 0;
  std::string host;
  std::vector<double> p50_ratios, p99_ratios, mean_ratios;  // one per cell, to the middle; sorted
  size_t slowest_in = 0, fastest_in = 0;                    // cells
  int64_t cpu_ns = 0, context_switches = 0;                 // sums over all cells
  uint64_t wire_bytes = 0, retransmits = 0;
  std::optional<RankCounters> counters;                          // of the cells that have some
  std::optional<uint64_t> send_buffer_bytes, recv_buffer_bytes;  // the smallest
};

struct RankWorld {
  std::string title;  // "4 ranks, tcp"
  int ranks = 0;
  size_t cells = 0;                     // that were compared
  std::vector<RankStanding> standings;  // by rank
};

// Worlds of at least two ranks with something to compare, in the order of the view.
std::vector<RankWorld> rank_worlds(const View& view);

// A ratio with decimals that stay the same around 1: "0.992", "1.000", "12.3".
std::string ratio_text(double ratio);
// The value at share `q` (0 to 1) of sorted values, between neighbours where it falls there; 0 when
// there are none.
double sorted_quantile(const std::vector<double>& sorted, double q);

}  // namespace plumbline
