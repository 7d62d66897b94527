// The table of `coll` for people: what all rows share stands above it, columns that could not fill
// are not there, and every line fits the terminal. Each row is flushed as soon as it is there. Not
// thread-safe.
#pragma once

#include <vector>

#include "reports/export/nccl.h"
#include "reports/tables.h"

namespace plumbline {

// What is known of the rows before the first of them.
struct CollTableSpec {
  std::string op;
  int ranks = 0;
  // Those of the sweep; empty = it has none.
  std::vector<std::string> types, redops, roots, arrays;
  std::string time;        // whose time the column `time` is: "mean over the ranks"
  bool in_place = false;   // the operation has such a form
  bool moves_data = true;  // else there is no bandwidth
  bool checked = true;
  bool enough_for_ci = false, enough_for_p99 = false;  // operations per size
  int width = 0;                                       // columns of the terminal, 0 = unlimited
  bool colour = false;
};

class CollTable : public CollWriter {
 public:
  CollTable(std::ostream& out, CollTableSpec spec) : out_(out), spec_(std::move(spec)) {}

  void preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) override;
  void header() override;
  void row(const NcclRow& row) override;
  void comment(const std::string& text) override;
  void spoiled() override { ++wrong_; }
  void verified(uint64_t verified, uint64_t operations) override;
  void footer() override;

  struct ColumnSpec {
    std::string group, name, unit;
    int width, least, priority;  // as columns_for() wants them
    std::string (*text)(const NcclRow& row);
    bool left = false;
  };

 private:
  void choose_columns();
  void line(const std::string& text, Tone tone = Tone::kPlain);
  std::string group_line() const;

  std::ostream& out_;
  CollTableSpec spec_;
  std::vector<ColumnSpec> columns_;
  uint64_t max_bytes_ = 0;
  std::string verified_;   // "verified 72 of 336 operations"
  int wrong_ = 0;          // placements
  uint64_t measured_ = 0;  // placements
  double busbw_sum_ = 0, busbw_most_ = 0;
};

}  // namespace plumbline
