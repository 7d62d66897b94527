// The measuring loop, run by every rank of a group on the same cell at the same time: verify, warm
// up until it has converged, agree on the end, synchronise, sample, keep raw samples, and take the
// slowest rank per iteration as the headline. Agreement needs no clock and no coordinator: after
// each block the ranks exchange their samples with the stack's own allreduce (MAX), so all evaluate
// the same rule on the same numbers. docs/measuring.md gives formulas and sources. One thread per
// rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/clock_sync.h"
#include "collectives/engine.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/record/record.h"
#include "core/stats/stats.h"
#include "transport/transports.h"

namespace plumbline {

// Late samples are made up for, but no more operations are tried than so many times a fixed count.
inline constexpr uint64_t kMostTries = 3;
// The samples that a p99 needs, and the longest time that they may take where fewer would do.
inline constexpr uint64_t kTailSamples = 1000;
inline constexpr int64_t kTailTimeNs = 500'000'000;

struct MeasureSettings {
  StopRule stop;             // latency and bandwidth cells
  int fixed_iterations = 0;  // > 0: exactly so many (coll -n), no CI rule
  // With a fixed number: more, up to kTailSamples, where these take no longer than kTailTimeNs.
  // Latency cells with a stop rule do so anyway, within its time.
  bool tail = false;
  int fixed_warmup = -1;  // >= 0: exactly so many (coll -w); -1 = until converged
  // Operations before timing whose results are verified; 0 = nothing is verified at all. Which of
  // the others are is the option `verify`.
  int verify_iterations = 1;
  uint32_t verify_seed = 0;  // what the random choice of verified operations begins with
  int64_t throughput_time_ns = 500'000'000;  // how long a throughput cell lasts
  int64_t operation_timeout_ms = 30'000;     // watchdog of each operation
  int aggregate = 1;  // operations per sample (coll -m); time is divided by it
  // > 0: the group has been idle; so many first operations are timed on their own, and the meeting
  // before them (Measurement::extra, kColdMeeting ...). Not for link cells.
  int cold_operations = 0;
  // Link cells: [from * ranks + to] = why that pair is not to be measured, empty = it is. May be
  // empty as a whole. A link cell's streams last throughput_time_ns each.
  std::vector<std::string> pair_reasons;
  // Cells of servers of language models: the server's key; empty = none. Nowhere else.
  std::string endpoint_key = {};
  // Longest time in which nothing of an answer may come: a request may wait its turn behind others,
  // and the servers that clusters run give it up themselves after 120 s.
  int64_t endpoint_silence_ms = 150'000;
};

struct MeasureContext {
  Group* group = nullptr;
  Executor* executor =
      nullptr;  // the group's one executor: sequence numbers go on from cell to cell
  // What runs the operations of the cell; link cells and roofs need none.
  Engine* engine = nullptr;
  const KernelSet* kernels = nullptr;
  const OptionSet* options = nullptr;
  std::string host;  // of this rank, for per_rank
  // Of all ranks, for link cells; null = names and subnets are not known.
  const std::vector<RankEndpoint>* endpoints = nullptr;
  std::function<bool()> interrupted;  // asked at stops and between blocks; agreed over all ranks
  // What is known of the ranks' clocks, kept from cell to cell; null = learned anew by each cell.
  ClockSync* clocks = nullptr;
};

// The operation of such a cell. An Error where there is none of that name.
Expected<OperationSpec> operation_of(const Cell& cell, const OptionSet& options);

// Measures one cell of a collective. The Measurement is complete on
// every rank (same samples everywhere); per_rank holds all ranks on rank 0 and only this rank
// elsewhere. An Error means that the group is broken.
Expected<Measurement> measure(const Cell& cell, const MeasureSettings& settings,
                              const MeasureContext& context);

// Roofs on the very path of ranks 0 and 1 (other ranks take part in the barriers only), without
// framing and matching: op "raw_pingpong" (full round trip), "raw_exchange" (swaps), "raw_stream",
// "raw_duplex" (both ways at once, one thread each, of one buffer that stays in the cache),
// "array_stream", "array_duplex" (the same of arrays of the cell's size, cold or hot as the cell
// says; where the two map each other's arrays, a copy out of those). And what every rank's memory
// and processor can do by themselves, all at once, the slowest rank counting: "reduce_kernel" (of
// the cell's type and reduction, over arrays of its size), "memcpy".
Expected<Measurement> measure_roof(const Cell& cell, const MeasureSettings& settings,
                                   const MeasureContext& context);

}  // namespace plumbline
