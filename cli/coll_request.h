// `coll` as the request that it makes: the cells of its sweep, one by one and in the order in which
// its rows are printed, and nothing that is kept. Pure.
#pragma once

#include <vector>

#include "cli/coll_sweep.h"
#include "core/options/options.h"
#include "runs/run_request.h"

namespace plumbline {

enum class CollOutput {
  kNccl,     // nccl-tests' columns, for programs
  kTable,    // with columns of ours, for people
  kRecords,  // --json
};

// Does each row take another look at its operation for the in-place columns, which it has not?
// nccl-tests fills them with times that it does not check (src/alltoall.cu, src/sendrecv.cu), and
// programs leave rows without numbers out.
bool measures_again(const CollSweep& sweep, CollOutput output);

// Of the cells, "fp16"; empty = none.
std::string compression_of(const OptionSet& options);

// One row after the other, each of one cell, or of two: out of place, then in place or again. An
// Error: these hosts have no places for the ranks, or the algorithm cannot do it.
tl::expected<std::vector<PlanCell>, std::vector<Error>> coll_cells(
    const std::vector<ScenarioHost>& hosts, const CollSweep& sweep, const OptionSet& options,
    CollOutput output);

// Refuses what cannot be measured wherever it runs.
Status check_aggregates(const CollSweep& sweep, const OptionSet& options);

}  // namespace plumbline
