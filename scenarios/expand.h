// One matrix block expanded to cells: the cross product of its lists, where an axis that means
// nothing for an operation (the root of an allreduce) collapses to one value; of a block of kind
// "link" one cell per measure, number of ranks and the parameters that this measure has (message
// sizes, numbers of streams, rates). Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/json_text.h"
#include "scenarios/plan.h"

namespace plumbline {

struct ExpandContext {
  const std::vector<ScenarioHost>* hosts =
      nullptr;  // ranks: their places, where a block names none
  const Vocabulary* vocabulary = nullptr;
};

// The combinations of a block of operations, as many as there are (block_kinds.h).
std::vector<Cell> operation_cells(const MatrixBlock& block, const ExpandContext& context);
// How many combinations the block asks for; more than kMaxPlanCells = too many, no longer counted.
size_t count_cells(const MatrixBlock& block, const ExpandContext& context);
// In the order of the axes; equal cells (sizes that round to the same) once. Stops soon beyond
// kMaxPlanCells. Estimates are not filled in.
std::vector<PlanCell> expand_block(const MatrixBlock& block, const ExpandContext& context);

// Skips the cells whose ranks would be on hosts that are not supposed to talk, once the hosts'
// addresses are known: a file of MLX does not say which of them share a subnet.
void skip_what_is_apart(std::vector<PlanCell>& cells, const std::vector<ScenarioHost>& hosts);

// What the key `hosts` of a block makes of these hosts: texts of Cell::hosts, each once, "" for
// all. An Error for a name or a number of hosts that is not there.
Expected<std::vector<std::string>> host_sets(const std::vector<HostChoice>& choices,
                                             const std::vector<ScenarioHost>& hosts);
// The cells of these hosts, one for each number of ranks that the block names.
std::vector<Cell> with_worlds(const Cell& cell, const MatrixBlock& block,
                              const ExpandContext& context);

// Which axis of a cell asks for something that cannot be, and why.
struct Impossible {
  // Key of the block: "engine", "compression", "arrays", "split", "algorithm", "ranks", "root";
  // empty = it can be done.
  std::string axis;
  std::string reason;  // in words
};
Impossible why_impossible(const Cell& cell, const Vocabulary& vocabulary);
// Why a cell's reduction means nothing for its elements, and what would work; empty = it does.
std::string cell_reduction_unsupported(const Cell& cell);
// Why a cell's compression means nothing there, and what would work; empty = it does.
std::string compression_unsupported(const Cell& cell);

inline constexpr const char* kLinkOp = "link";  // the operation of such cells

std::vector<Cell> link_cells(const MatrixBlock& block, const ExpandContext& context);
// Which keys of such a block make no sense, beyond their shapes. Always enough of it to be
// expanded.
bool check_link_block(const MatrixBlock& block, const Scenario& scenario,
                      const Vocabulary& vocabulary, Problems& problems);

// ---- cells of servers of language models: expand_endpoint.cc ----

inline constexpr const char* kEndpointOp = "endpoint";

std::vector<Cell> endpoint_cells(const MatrixBlock& block, const ExpandContext& context);
bool check_endpoint_block(const MatrixBlock& block, const Scenario& scenario,
                          const Vocabulary& vocabulary, Problems& problems);

}  // namespace plumbline
