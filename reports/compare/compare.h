// Did something get slower? Two sides, each measured by several launches (fresh processes and
// connections, `run --repeat`), cell by cell: the medians of the launches are what is compared,
// because how long an operation takes differs more from launch to launch than within one. Filled
// record by record, so that files of any length can be read. docs/comparing.md has the method.
//
// Everything is compared as time: of an operation, or, where a rate is measured, per operation or
// per byte (a rate that falls by a tenth takes 11 % more time). Plain values; no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/stats/two_sample.h"
#include "reports/document.h"

namespace plumbline {

struct CompareRule {
  double least_effect = 0.02;    // changes below it are of no use to anybody: 0.02 = 2 %
  double alpha = 0.05;           // chance, at most, of one false alarm among all cells together
  std::set<std::string> ignore;  // fields of Cell that may differ between the sides: "algorithm"
};

// A change must be this many times what the same side differs from itself, see self_distance().
inline constexpr double kFloorFactor = 3;
// Two sides are not called the same where the noise leaves room for more than this.
inline constexpr double kMostSame = 0.10;

// From what to worry about most to what to worry about least.
enum class Change { kBroken, kRegress, kInconclusive, kImprove, kSame };
// "broken", "regress", "inconclusive", "improve", "same".
const char* to_string(Change change);

enum class CompareUnit { kTime, kOperations, kBytes };  // ns; ns per operation; ns per byte

// What one side has of a cell.
struct CompareSample {
  std::vector<double> launches;   // median of each; see CompareUnit
  size_t records = 0, noisy = 0;  // that were used
  size_t unusable = 0;            // errors, wrong data, invalid
  size_t wrong = 0;               // of those, with wrong data
  std::string reason;             // of the first unusable one
  // Of the launches, in the unit; absent = none.
  std::optional<double> middle() const;
};

struct CompareRow {
  std::string what;        // the cell in words, as describe() has it
  std::string part;        // of a link cell: "node1 > node2 round trip"; else empty
  Cell cell;               // as the first record has it
  std::string id_a, id_b;  // cell ids, which differ where fields are ignored; empty = not there
  CompareUnit unit = CompareUnit::kTime;
  CompareSample a, b;
  bool paired = false;          // the launches took turns: a.launches[i], b.launches[i] are a pair
  bool judged = true;           // false: a roof, which only tells what the path itself did
  int64_t series = 1;           // 2: measured again, and judged by that series alone
  std::optional<Shift> shift;   // absent where a side has nothing to compare
  double p_corrected = 1;       // for all cells that were judged in this series
  std::optional<double> floor;  // how far a side lies from itself, see self_distance()
  double threshold = 0;         // the larger of least_effect and kFloorFactor x floor
  Change change = Change::kInconclusive;
  std::string why;  // one sentence
};

struct Comparison {
  CompareRule rule;
  std::string name_a = "a", name_b = "b";
  std::vector<CompareRow> rows;       // in the order of the first records
  std::vector<std::string> notes;     // what else differs; how the launches took turns
  size_t count(Change change) const;  // judged rows
  bool anything_common() const;       // a row that both sides have
  bool undecided() const;             // of the judged rows, if there are any, not a single one is
  // regress: something got slower, or broke (see wrong_data()); inconclusive: not all is known.
  Change verdict() const;
  bool wrong_data() const;  // side b has wrong elements
  // Launches a side at which a difference could be found at all among so many cells.
  size_t launches_needed() const;
};

// Launches a side with which a difference could be found at all in one of so many cells, corrected
// for having asked about all of them. Pairs are launches that took turns.
size_t launches_needed(size_t cells, bool pairs, double alpha);

// Ids of the cells of one side (0 = a, 1 = b) that b may have made slower: those to measure again
// before anybody is alarmed.
std::set<std::string> suspects(const Comparison& comparison, size_t side);

class CompareCollector {
 public:
  explicit CompareCollector(CompareRule rule) : rule_(std::move(rule)) {}
  // side: 0 = a, 1 = b.
  void take(size_t side, const Record& record);
  size_t records(size_t side) const { return sides_[side].records; }
  Comparison finish() const;

 private:
  struct Part {  // one number of a cell
    std::string name;
    CompareUnit unit = CompareUnit::kTime;
    // By series and launch.
    std::map<std::pair<int64_t, size_t>, std::vector<double>> values[2];
    struct Tally {
      size_t records = 0, noisy = 0, unusable = 0, wrong = 0;
      std::string reason;
    };
    std::map<int64_t, Tally> tallies[2];  // by series
  };
  struct Entry {
    std::string what;
    Cell cell;
    std::string ids[2];  // of each side
    std::vector<Part> parts;
  };
  struct Side {
    size_t records = 0;
    std::map<std::string, std::set<std::string>> facts;  // what else was the case
    std::set<size_t> launches;
    std::string first, last;  // times
  };

  Entry& entry_of(size_t side, const Record& record);
  static Part& part_of(Entry& entry, const std::string& name, CompareUnit unit);
  size_t launch_of(size_t side, const Record& record);
  CompareRow row_of(const Entry& entry, const Part& part) const;
  void add_notes(Comparison& comparison) const;

  CompareRule rule_;
  std::vector<Entry> entries_;
  // By run id, series and number; the two launches of a pair have the same.
  std::map<std::string, size_t> launches_;
  std::map<std::string, size_t> index_;  // by the cell's text without what is ignored
  Side sides_[2];
};

// A comparison as people and programs read it: the document (console, Markdown), JSON, and a
// picture with the confidence interval of every row.

Document compare_document(const Comparison& comparison);
// One object; docs/comparing.md describes it.
std::string compare_json(const Comparison& comparison);

// For draw_files(): the rows with an interval, those that changed first, at most kMostCompareBars.
inline constexpr size_t kMostCompareBars = 40;
std::string compare_plot_data(const Comparison& comparison);
std::string compare_plot_script(const Comparison& comparison, const std::string& name);

}  // namespace plumbline
