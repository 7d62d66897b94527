// Runs collective operations on all ranks of a world, one thread per rank, and verifies every
// element on every rank. The world comes from a factory, so that the same cases run over any
// transport. Failures come back as text; empty = right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/engine.h"
#include "collectives/measure.h"
#include "core/clock.h"
#include "kernels/kernels.h"
#include "tests/support/covering.h"
#include "tests/support/sanitized.h"
#include "transport/group.h"

namespace plumbline {

using World = std::vector<std::unique_ptr<Group>>;

// How bytes are cut on their way.
struct WireShape {
  const char* name;
  size_t chunk_bytes;
  size_t buffer_bytes;  // of a ring in memory, or of a socket
  bool crc;
  size_t direct_bytes = ChannelOptions::kNothingDirect;
};
inline constexpr WireShape kWireShapes[] = {
    {"default", 256 * 1024, 1 << 20, false},
    {"tight", 4096, 1000, false},  // smaller than one frame, and no multiple of anything
    {"odd", 1023, 64 * 1024, false},
    {"crc", 64 * 1024, 64 * 1024, true},
    {"direct", 256 * 1024, 64 * 1024, false, 1},  // from the sender's memory where there is a way
};

// `options`, as far as they cut bytes and a transport of its own choice leaves that to them.
inline OptionSet with_wire(const OptionSet& options, const WireShape& wire) {
  const bool direct = wire.direct_bytes != ChannelOptions::kNothingDirect;
  const size_t chunk = std::max<size_t>(wire.chunk_bytes, 4096);  // the option's floor
  return *options.with("chunk_bytes", std::to_string(chunk), "test")
              ->with("transport_crc", wire.crc ? "1" : "0", "test")
              ->with("direct_bytes", direct ? "1" : "0", "test");
}

using WorldFactory = std::function<World(int ranks, const WireShape& wire)>;

inline ChannelOptions channel_options_for(const WireShape& wire) {
  ChannelOptions options;
  options.chunk_bytes = wire.chunk_bytes;
  options.crc = wire.crc;
  options.direct_bytes = wire.direct_bytes;
  return options;
}

inline const KernelSet& test_kernels() { return **select_kernels("auto"); }

// Our own engine over what the context names.
inline std::unique_ptr<Engine> native_engine(const MeasureContext& context) {
  return std::move(
      *open_native_engine({context.group, context.executor, context.kernels, context.options}));
}

// Calls body(rank, group) in one thread per rank; returns what each said.
inline std::vector<std::string> on_every_rank(World& world,
                                              const std::function<std::string(int, Group&)>& body) {
  std::vector<std::string> said(world.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < world.size(); ++rank) {
    threads.emplace_back([&, rank] { said[rank] = body(static_cast<int>(rank), *world[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

inline std::string first_of(const std::vector<std::string>& said) {
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (!said[rank].empty()) return "rank " + std::to_string(rank) + ": " + said[rank];
  }
  return {};
}

// What each rank measured of the cell by our engine; a rank that could not fails the test.
inline std::vector<Measurement> measured_by_ranks(World& world, const Cell& cell,
                                                  const MeasureSettings& settings,
                                                  const OptionSet& options,
                                                  decltype(&measure) run = measure) {
  std::vector<Measurement> of_rank(world.size());
  const std::vector<std::string> said =
      on_every_rank(world, [&](int rank, Group& group) -> std::string {
        Executor executor(group, test_kernels());
        MeasureContext context;
        context.group = &group;
        context.executor = &executor;
        context.kernels = &test_kernels();
        context.options = &options;
        const auto engine = native_engine(context);
        context.engine = engine.get();
        Expected<Measurement> done = run(cell, settings, context);
        if (!done) return done.error().message();
        of_rank[static_cast<size_t>(rank)] = std::move(*done);
        return {};
      });
  EXPECT_EQ(first_of(said), "");
  return of_rank;
}

// Of a measurement, what all ranks know: costs and floors are rank 0's to tell.
inline std::map<std::string, double> known_to_all(const Measurement& measurement) {
  std::map<std::string, double> extra = measurement.extra;
  std::erase_if(extra, [](const auto& entry) {
    return entry.first.starts_with("cost_") || entry.first.starts_with("floor_");
  });
  return extra;
}

// One operation, verified. `seed` must be the same on all ranks. `group`: where the arrays come
// from; null = of this process alone.
inline std::string run_verified(Executor& executor, const OperationSpec& spec, int rank, int ranks,
                                uint32_t seed, const Group* group = nullptr) {
  Operand operand(spec, rank, ranks, 1, group);
  operand.fill(0, seed);
  auto plan = executor.prepare(spec);
  if (!plan) return plan.error().message();
  const Status status =
      executor.run(**plan, operand.in(0), operand.out(0), Deadline::after_ms(60'000));
  if (!status) return status.error().message();
  const uint64_t wrong = operand.count_wrong(0, seed);
  return wrong == 0 ? "" : std::to_string(wrong) + " wrong elements";
}

// All operations one after the other on one world, so that later ones run on connections with a
// history. Stops at the first failure.
inline std::string run_all_verified(World& world, const std::vector<OperationSpec>& specs,
                                    uint32_t seed) {
  const auto ranks = static_cast<int>(world.size());
  return first_of(on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    for (size_t i = 0; i < specs.size(); ++i) {
      const std::string wrong =
          run_verified(executor, specs[i], rank, ranks, seed + static_cast<uint32_t>(i), &group);
      if (wrong.empty()) continue;
      return specs[i].text(ranks, specs[i].algorithm.c_str()) +
             (specs[i].in_place ? " in place" : "") + " (case " + std::to_string(i) + "): " + wrong;
    }
    return {};
  }));
}

// Ranks of the largest worlds of the matrix: what a sanitizer looks for, two ranks and those
// between them show; nine at once on two processors take minutes under one.
inline constexpr size_t kMatrixRanks = test::kSanitized ? 5 : 9;

// The axes of the correctness matrix. A row of indices becomes an operation on a world.
class CollectiveMatrix {
 public:
  // 0, 1 and 7 elements; one frame and its neighbours; several MiB that are no multiple of much.
  enum Size { kZero, kOne, kSeven, kChunkLess, kChunk, kChunkMore, kLarge, kSizes };

  explicit CollectiveMatrix(size_t max_ranks) : max_ranks_(max_ranks) {}

  std::vector<size_t> axes() const {
    return {2 * algorithm_table().size(), max_ranks_,           kSizes,
            dtype_table().size(),         redop_table().size(), 2,
            std::size(kWireShapes)};
  }
  static int ranks(const CoveringRow& row) { return static_cast<int>(row[1]) + 1; }
  static const WireShape& wire(const CoveringRow& row) { return kWireShapes[row[6]]; }

  OperationSpec spec(const CoveringRow& row) const {
    OperationSpec spec;
    spec.op = algorithm(row).op;
    spec.algorithm = algorithm(row).name + parameter(row);
    spec.dtype = dtype_table()[row[3]].dtype;
    spec.redop = redop_table()[row[4]].redop;
    spec.in_place = row[5] == 1;
    spec.root = static_cast<int>(row[2]) % ranks(row);
    spec.count = count(row);
    spec.segment_bytes = wire(row).chunk_bytes;
    return spec;
  }

  // What is not a case of its own: redop where nothing is reduced, in place where it has no
  // meaning, worlds that the algorithm does not serve.
  bool valid(const CoveringRow& row) const {
    const OperationSpec s = spec(row);
    const OpRow& op = plumbline::row(s.op);
    if (!op.reduces && row[4] != 0) return false;
    if (op.reduces && !reduction_unsupported(s.dtype, s.redop).empty()) return false;
    if (s.in_place && !allows_in_place(s.op)) return false;
    if (s.op == Op::kBarrier && (row[2] != kZero || row[3] != 0)) return false;
    if (row[0] >= algorithm_table().size() && parameter(row).empty()) return false;
    ScheduleRequest request;
    request.op = s.op;
    request.size = ranks(row);
    request.count = s.count;
    return ranks(row) >= op.min_ranks && find_algorithm(s.algorithm, request);
  }

 private:
  // Each algorithm as it usually is, then those with a parameter at the other end of what it takes.
  static const AlgorithmRow& algorithm(const CoveringRow& row) {
    return algorithm_table()[row[0] % algorithm_table().size()];
  }
  static std::string parameter(const CoveringRow& row) {
    const ParameterRow& form = algorithm(row).parameter;
    if (row[0] < algorithm_table().size() || form.form == ParameterForm::kNone) return "";
    return ":" + std::to_string(form.form == ParameterForm::kNumber ? form.most : ranks(row));
  }
  uint64_t count(const CoveringRow& row) const {
    const uint64_t width = dtype_table()[row[3]].size, chunk = wire(row).chunk_bytes / width;
    const bool share = plumbline::row(algorithm(row).op).per_rank_share;
    const uint64_t parts = share ? static_cast<uint64_t>(ranks(row)) : 1;
    switch (static_cast<Size>(row[2])) {
      case kZero:
        return 0;
      case kOne:
        return 1;
      case kSeven:
        return 7;
      case kChunkLess:
        return chunk - 1;
      case kChunk:
        return chunk;
      case kChunkMore:
        return chunk + 1;
      case kLarge:
      case kSizes:
        break;
    }
    return ((2u << 20) + 3) / width / parts;
  }

  size_t max_ranks_;
};

// Runs rows of the matrix, those of one world together. Returns the first failure.
inline std::string run_matrix(const CollectiveMatrix& matrix, const std::vector<CoveringRow>& rows,
                              const WorldFactory& make_world, uint32_t seed) {
  const std::vector<size_t> axes = matrix.axes();
  for (size_t ranks = 0; ranks < axes[1]; ++ranks) {
    for (size_t wire = 0; wire < axes[6]; ++wire) {
      std::vector<OperationSpec> specs;
      for (const CoveringRow& row : rows) {
        if (row[1] == ranks && row[6] == wire) specs.push_back(matrix.spec(row));
      }
      if (specs.empty()) continue;
      World world = make_world(static_cast<int>(ranks) + 1, kWireShapes[wire]);
      const std::string wrong = run_all_verified(world, specs, seed);
      if (wrong.empty()) continue;
      return std::to_string(ranks + 1) + " ranks, wire " + kWireShapes[wire].name + ": " + wrong;
    }
  }
  return {};
}

}  // namespace plumbline
