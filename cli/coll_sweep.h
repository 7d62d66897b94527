// What `coll` was asked for, as values: nccl-tests' letters parsed and checked, and the sweep that
// they mean. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "core/op.h"
#include "core/record/cell.h"
#include "scenarios/plan.h"

namespace plumbline {

struct CollSweep {
  Op op = Op::kAllreduce;
  uint64_t min_bytes = 32u << 20, max_bytes = 32u << 20;
  uint64_t step_bytes = 0;  // 0 = use the factor
  double factor = 1;        // > 1 when given
  FixedCount count;         // of each cell's operations
  int cycles = 1;
  bool iterations_given = false;
  int average = 1;  // -a
  std::string cache = "hot";
  std::string sync = "none";
  std::string engine = kNativeEngine;
  bool ranks_in_process = false;  // ranks are threads of one process
  std::string format;             // "nccl", "table"; empty = by where it is printed
  std::vector<RedOp> redops;
  std::vector<DType> dtypes;
  std::vector<int> roots;
  std::vector<int> arrays = {1};  // --arrays: numbers of arrays of one operation
  std::string split;              // Cell::split
  int ranks = 2;
  bool ranks_given = false;        // --ranks
  std::vector<std::string> notes;  // letters that were accepted without effect, one line each

  // One of several combinations of types and reductions (`all`) that means nothing. What is asked
  // for alone is refused instead.
  bool leaves_out(DType dtype, RedOp redop) const;
  // The sizes, ascending.
  std::vector<uint64_t> sizes() const;
};

tl::expected<CollSweep, std::vector<Error>> parse_coll(const Args& args);

}  // namespace plumbline
