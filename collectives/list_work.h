// Cells of several arrays: their operation is an allreduce of a list, as the buckets of a training
// step are. Which arrays are packed together, and in how many operations the list ends, is what
// Communicator::allreduce_coalesced does with it (collectives/communicator_list.h); here it is
// prepared once and run again and again by the engine `native`. The arrays are as equal as whole
// elements allow and lie one behind the other, so that they are filled and verified as one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "core/error.h"
#include "core/record/cell.h"
#include "plumbline/types.h"

namespace plumbline {

// So many elements as that many arrays, the longer ones first; `data` is null. At least one array.
std::vector<Buffer> equal_arrays(DType dtype, uint64_t elements, int arrays);

// Equal operations of which the one of a cell consists.
struct ListShare {
  uint64_t elements = 0;
  bool packed = false;
  uint64_t times = 0;
};
// Of a cell with one array: one share, and one operation. Each kind of share once, however many
// arrays there are.
std::vector<ListShare> list_shares(DType dtype, uint64_t elements, int arrays);

// Why such a cell's list means nothing, and what would work; empty = it does, or is one array.
std::string arrays_unsupported(const Cell& cell);

// What the engine `native` does with spec.arrays > 1. Collective, as Engine::prepare.
Expected<std::unique_ptr<EngineWork>> prepare_list(const EngineContext& context,
                                                   const OperationSpec& spec, size_t slots,
                                                   size_t lanes);

}  // namespace plumbline
