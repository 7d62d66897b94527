// The records that a report works on, in bounded memory however many there are. Up to kMost.records
// (and kMost.bytes) they are kept as they are. Beyond that, all records of one cell with the same
// outcome become one that stands for so many launches: their histograms are added up, the median is
// the median of the launches' medians with its confidence interval over launches (launches differ
// by more than the samples within one do). About 24 bytes per record remain. A Record like any
// other comes out, with `launches` above 1, so tables and plots need not know. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.h"

namespace plumbline {

class RecordSet {
 public:
  struct Limits {
    size_t records = 20'000;            // kept as they are, or kept merged
    size_t bytes = size_t{256} << 20;   // of them, about
    size_t samples = size_t{16} << 20;  // single samples of all; then only histograms
  };

  RecordSet() = default;
  explicit RecordSet(const Limits& limits) : limits_(limits) {}

  void take(const Record& record);
  // A record that replaces the earlier one of the same run and cell: the rounds of a soak, where
  // the last one counts.
  void take_round(const Record& record);

  bool merged() const { return merged_; }
  // What was merged or left out, in words. Then the records; the set is empty afterwards.
  std::vector<std::string> notes() const;
  std::vector<Record> release();

 private:
  // Records of one cell that have everything in common but their numbers.
  struct Launches {
    Record record;  // the first; its histogram is that of all
    std::vector<double> p50, ops_per_s;
  };

  void keep(const Record& record);
  void merge_all();
  void merge(const Record& record);
  void add(const Record& record, Launches& launches);
  bool seen_before(const std::string& cell, const Record& record);
  static void finish(Launches& launches);

  Limits limits_;
  bool merged_ = false;
  std::vector<Record> kept_;                        // until merged; rounds of soaks always
  std::unordered_map<std::string, size_t> rounds_;  // by run and cell: where in kept_
  size_t bytes_ = 0, samples_ = 0, without_samples_ = 0;
  size_t taken_ = 0;

  CellIds ids_;
  std::vector<Launches> launches_;
  std::unordered_map<std::string, size_t> place_;  // by cell and outcome: where in launches_
  std::map<std::string, Record> errors_;           // by cell: a later record replaces them
  std::vector<uint64_t> seen_;                     // open hash table of (run, cell)
  size_t seen_count_ = 0;
  size_t repeated_ = 0, retried_ = 0;
  std::map<std::string, size_t> left_out_;  // by outcome: records of cells beyond the limit
};

}  // namespace plumbline
