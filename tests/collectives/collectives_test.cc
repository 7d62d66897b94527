// Every algorithm over rings in memory: the correctness matrix, identical bits on all ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "kernels/pattern.h"
#include "tests/support/collective_case.h"
#include "tests/support/direct_stream.h"
#include "tests/support/row_share.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr uint32_t kSeed = 20261120;

World memory_ranks(int ranks, const WireShape& wire) {
  const bool direct = wire.direct_bytes != ChannelOptions::kNothingDirect;
  return make_memory_groups(
      ranks, channel_options_for(wire), {0, true}, wire.buffer_bytes,
      direct ? StreamWrapper(make_direct<DirectBy::kMapAndLateRead>) : nullptr);
}

TEST(Covering, EveryPossiblePairOccurs) {
  const std::vector<size_t> axes = {5, 4, 3, 2};
  const auto valid = [](const CoveringRow& row) { return row[0] != row[1] || row[2] == 0; };
  const std::vector<CoveringRow> rows = covering_array(axes, kSeed, valid);
  PairSet covered(axes);
  for (const CoveringRow& row : rows) {
    EXPECT_TRUE(valid(row));
    covered.mark(row);
  }
  const std::vector<CoveringRow> all = full_cross(axes, valid);
  for (const CoveringRow& row : all) EXPECT_EQ(covered.count_new(row), 0u);
  EXPECT_LT(rows.size(), all.size() / 2);
  EXPECT_EQ(rows, covering_array(axes, kSeed, valid));  // the seed decides
}

TEST(Collectives, AllPairsOfTheMatrix) {
  const CollectiveMatrix matrix(kMatrixRanks);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kSeed, valid);
  RecordProperty("seed", static_cast<int>(kSeed));
  RecordProperty("cases", static_cast<int>(rows.size()));
  EXPECT_GT(rows.size(), 150u);
  std::set<std::pair<DType, RedOp>> reduced;
  for (const CoveringRow& one : rows) {
    const OperationSpec spec = matrix.spec(one);
    if (row(spec.op).reduces) reduced.emplace(spec.dtype, spec.redop);
  }
  EXPECT_EQ(reduced.size(), dtype_table().size() * redop_table().size() - 1)
      << "all but avg of bool";
  const std::vector<CoveringRow> share = test::rows_to_run(rows);
  EXPECT_EQ(run_matrix(matrix, share, memory_ranks, kSeed), "") << "seed " << kSeed;
}

TEST(Collectives, FullCross) {
  if (std::getenv("TEST_EXHAUSTIVE") == nullptr) {
    GTEST_SKIP()
        << "the full cross runs with ctest -L exhaustive (cmake -DPLUMBLINE_EXHAUSTIVE=ON)";
  }
  const CollectiveMatrix matrix(9);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = full_cross(matrix.axes(), valid);
  EXPECT_EQ(run_matrix(matrix, rows, memory_ranks, kSeed), "");
}

// All radices of some worlds, small arrays and large ones, on connections with a history.
TEST(Collectives, EveryListOfRadicesGivesRightResults) {
  const std::vector<std::pair<int, std::vector<std::string>>> worlds = {
      {3, {"3"}},
      {4, {"2x2", "4"}},
      {6, {"2x3", "3x2", "6"}},
      {8, {"2x2x2", "2x4", "4x2", "8"}},
      {9, {"3x3", "9"}},
  };
  test::RowShare share;
  for (const auto& [ranks, lists] : worlds) {
    size_t cases = 0;
    std::vector<OperationSpec> specs;
    for (const AlgorithmRow& algorithm : algorithm_table()) {
      if (algorithm.parameter.form != ParameterForm::kRadices) continue;
      for (const std::string& radices : lists) {
        for (const uint64_t count : {1, 1003, 70'001, 500'009}) {
          OperationSpec spec;
          spec.op = algorithm.op;
          spec.algorithm = std::string(algorithm.name) + ":" + radices;
          const bool part = row(algorithm.op).per_rank_share;
          spec.count = part ? (count + 1) / 2 : count;
          spec.in_place = cases % 2 == 0;
          spec.redop = cases++ % 3 == 0 ? RedOp::kAvg : RedOp::kMax;
          if (share.runs(to_string(spec.op) + (" " + spec.algorithm))) specs.push_back(spec);
        }
      }
    }
    World world = memory_ranks(ranks, kWireShapes[0]);
    EXPECT_EQ(run_all_verified(world, specs, kSeed), "") << ranks;
  }
}

// Numbers whose sum depends on the order of addition.
template <typename T>
std::vector<T> random_numbers(int rank, size_t count) {
  std::mt19937 random(static_cast<uint32_t>(rank) + 1);
  std::vector<T> numbers(count);
  for (T& number : numbers) {
    const double mantissa = static_cast<double>(random()) / 4294967296.0 - 0.5;
    number = static_cast<T>(std::ldexp(mantissa, static_cast<int>(random() % 20)));
  }
  return numbers;
}

template <typename T>
void expect_identical_bits(const std::string& algorithm, DType dtype, RedOp redop, int ranks,
                           size_t count, bool in_place) {
  World world = memory_ranks(ranks, kWireShapes[1]);
  std::vector<std::vector<T>> results(world.size(), std::vector<T>(count)), inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(random_numbers<T>(rank, count));
  OperationSpec spec;
  spec.algorithm = algorithm;
  spec.dtype = dtype;
  spec.redop = redop;
  spec.count = count;
  spec.in_place = in_place;
  const std::string wrong = first_of(on_every_rank(world, [&](int rank, Group& group) {
    Executor executor(group, test_kernels());
    const std::vector<T>& in = inputs[static_cast<size_t>(rank)];
    std::vector<T>& out = results[static_cast<size_t>(rank)];
    if (in_place) out = in;
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    const Status status = executor.run(**prepared, in_place ? nullptr : in.data(), out.data(),
                                       Deadline::after_ms(20'000));
    return status ? std::string() : status.error().message();
  }));
  const std::string name = spec.text(ranks, algorithm.c_str());
  ASSERT_EQ(wrong, "") << name;
  for (const std::vector<T>& result : results) {
    ASSERT_EQ(std::memcmp(result.data(), results[0].data(), count * sizeof(T)), 0) << name;
  }
  for (size_t i = 0; i < count && redop == RedOp::kSum; ++i) {
    double sum = 0, magnitude = 0;
    for (const std::vector<T>& input : inputs) {
      const double x = static_cast<double>(input[i]);
      sum += x;
      magnitude += std::abs(x);
    }
    const double tolerance = magnitude * (sizeof(T) == 4 ? 1e-6 : 1e-15);
    const double result = static_cast<double>(results[0][i]);
    if (std::abs(result - sum) <= tolerance) continue;  // a macro for each element takes longer
    ASSERT_NEAR(result, sum, tolerance) << name << " at " << i;
  }
}

// A name for each shape of an algorithm that differs: with radices the usual ones and one for all.
std::vector<std::string> shapes_of(const AlgorithmRow& algorithm, int ranks) {
  const std::string name = algorithm.name;
  switch (algorithm.parameter.form) {
    case ParameterForm::kNone:
      break;
    case ParameterForm::kRadices:
      return {name, name + ":" + std::to_string(ranks)};
    case ParameterForm::kNumber:
      return {name, name + ":" + std::to_string(algorithm.parameter.most)};
  }
  return {name};
}

TEST(Collectives, AllreduceGivesAllRanksTheSameBits) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (algorithm.op != Op::kAllreduce || !algorithm.same_bits) continue;
    for (int ranks = 2; ranks <= 9; ++ranks) {
      ScheduleRequest request;
      request.size = ranks;
      if (!algorithm.unsupported(request).empty()) continue;
      const bool in_place = ranks % 2 == 0;
      for (const std::string& name : shapes_of(algorithm, ranks)) {
        expect_identical_bits<float>(name, DType::kF32, RedOp::kSum, ranks, 301, in_place);
        expect_identical_bits<double>(name, DType::kF64, RedOp::kAvg, ranks, 97, !in_place);
      }
    }
  }
}

// Arrays that go in pieces, and that are reduced from the wire.
TEST(Collectives, LargeArraysHaveTheSameBitsToo) {
  test::RowShare share(2);
  for (const char* name :
       {"exchange:4", "exchange:2x2", "halving_doubling:4", "halving_doubling:2x2", "ring"}) {
    for (const bool in_place : {false, true}) {
      if (!share.runs(name)) continue;
      expect_identical_bits<float>(name, DType::kF32, RedOp::kSum, 4, 200'003, in_place);
    }
  }
}

}  // namespace
}  // namespace plumbline
