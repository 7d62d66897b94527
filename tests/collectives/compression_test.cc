// Compressed allreduces: the same bits on all ranks, errors within the bound. topk: topk_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collectives/schedule_builder.h"
#include "tests/collectives/compression_support.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

constexpr uint32_t kSeed = 20261125;

TEST(Compression, EveryAlgorithmGivesAllRanksTheSameBitsWithinTheBound) {
  const Arrays all = gradients(9, 40'009);
  size_t cases = 0;
  test::RowShare share;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (algorithm.op != Op::kAllreduce) continue;
    for (int ranks = 2; ranks <= 9; ++ranks) {
      ScheduleRequest q;
      q.size = ranks;
      if (!algorithm.unsupported(q).empty()) continue;
      World world = ranks_in_memory(ranks, kWireShapes[static_cast<size_t>(ranks) % 4]);
      for (const uint64_t count : {0, 1, 2, 7, 1023, 40'009}) {
        OperationSpec spec = compressed(cases % 2 == 0 ? "fp16" : "bf16", count, algorithm.name);
        spec.in_place = cases % 3 == 0;
        spec.redop = cases % 4 < 2 ? RedOp::kSum : RedOp::kAvg;
        spec.segment_bytes = 16 * 1024;
        ++cases;
        if (!share.runs(algorithm.name)) continue;
        const std::string what = spec.text(ranks, algorithm.name) +
                                 (spec.in_place ? " in place over " : " over ") +
                                 std::to_string(ranks);
        const Arrays inputs = part_of(all, ranks, count);
        const Arrays results = results_of(world, spec, inputs);
        ASSERT_NO_FATAL_FAILURE(expect_same_bits(results, what));
        ASSERT_NO_FATAL_FAILURE(expect_within_bound(spec, inputs, results[0], what));
      }
    }
  }
  EXPECT_GT(cases, 250u);
}

// Long messages are narrowed in slices while they leave.
TEST(Compression, LargeArraysInOneMessage) {
  for (const char* codec : {"fp16", "bf16", "topk:0.003"}) {
    for (const bool in_place : {false, true}) {
      World world = ranks_in_memory(2, kWireShapes[2]);
      std::vector<OperationSpec> specs;
      for (const uint64_t count : {300'001, 65'536, 65'537}) {
        specs.push_back(compressed(codec, count, codec[0] == 't' ? "auto" : "direct"));
        specs.back().in_place = in_place;
      }
      EXPECT_EQ(run_all_verified(world, specs, kSeed), "") << codec;
    }
  }
}

TEST(Compression, VerifiedOverEveryNumberOfRanksAndShapeOfWire) {
  test::RowShare share;
  for (int ranks = 1; ranks <= 9; ++ranks) {
    World world = ranks_in_memory(ranks, kWireShapes[static_cast<size_t>(ranks) % 4]);
    std::vector<OperationSpec> specs;
    size_t cases = 0;
    for (const char* codec : {"fp16", "bf16", "topk:0.01", "topk:0.5", "topk:1"}) {
      for (const uint64_t count : {0, 1, 5, 4097, 30'011}) {
        OperationSpec spec = compressed(codec, count);
        spec.in_place = ++cases % 2 == 0;
        spec.redop = cases % 3 == 0 ? RedOp::kAvg : RedOp::kSum;
        if (share.runs(codec)) specs.push_back(spec);
      }
    }
    EXPECT_EQ(run_all_verified(world, specs, kSeed), "") << ranks;
  }
}

// MCCL's own test: small whole numbers come out exactly.
TEST(Compression, WhatSixteenBitsHoldIsExact) {
  for (const int ranks : {2, 3}) {
    World world = ranks_in_memory(ranks);
    Arrays inputs(static_cast<size_t>(ranks), std::vector<float>(4097));
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      for (size_t i = 0; i < 4097; ++i) inputs[rank][i] = static_cast<float>((i * (rank + 3)) % 64);
    }
    const std::vector<float> result = results_of(world, compressed("fp16", 4097), inputs)[0];
    for (size_t i = 0; i < 4097; ++i) {
      float sum = 0;
      for (const std::vector<float>& input : inputs) sum += input[i];
      ASSERT_EQ(result[i], sum) << i;
    }
  }
}

// A rank's own part is rounded too: otherwise each of two ranks would have its own exact numbers
// and the other's rounded ones, and copies of a model would drift apart.
TEST(Compression, TheOwnersPartIsRoundedToo) {
  World world = ranks_in_memory(2);
  const float fine = 1.0F + 0x1p-20F;  // 16 bits hold 1 of it
  const Arrays results = results_of(world, compressed("fp16", 2, "direct"), {{fine, 0}, {0, fine}});
  EXPECT_EQ(results[0], (std::vector<float>{1, 1}));
  EXPECT_EQ(results[1], (std::vector<float>{1, 1}));
}

TEST(Compression, WhatIsTooLargeForHalfPrecisionBecomesInfinityEverywhere) {
  World world = ranks_in_memory(3);
  const Arrays inputs = {{60'000, std::nanf(""), 1}, {60'000, 1, 1}, {60'000, 1, 1e-9F}};
  const Arrays results = results_of(world, compressed("fp16", 3), inputs);
  expect_same_bits(results, "inf");
  EXPECT_TRUE(std::isinf(results[0][0]));
  EXPECT_TRUE(std::isnan(results[0][1]));
  EXPECT_EQ(results[0][2], 2);
  EXPECT_EQ(results_of(world, compressed("bf16", 3), inputs)[0][0], 180'224);  // rounded
}

// ---- the checker, against schedules that round what they should not, or do not ----

const AlgorithmRow* spoiled_algorithm = nullptr;
size_t spoiled_step = 0;
bool Step::*spoiled_flag = nullptr;

Schedule build_with_spoiled_rounding(const ScheduleRequest& q) {
  Schedule schedule = spoiled_algorithm->build(q);
  compress(schedule);
  if (q.rank == 0 && spoiled_step < schedule.steps.size()) {
    schedule.steps[spoiled_step].*spoiled_flag = false;
  }
  return schedule;
}

// How many of the roundings of rank 0 are missed when they are left out, one after the other. Those
// of what travels next are made up for on the way.
size_t roundings_missed(const AlgorithmRow& algorithm, const ScheduleRequest& q) {
  size_t missed = 0;
  spoiled_algorithm = &algorithm;
  AlgorithmRow spoiled = algorithm;
  spoiled.build = build_with_spoiled_rounding;
  spoiled_step = std::numeric_limits<size_t>::max();
  EXPECT_EQ(check_schedule(spoiled, q), "") << algorithm.name;
  Schedule right = algorithm.build(q);
  compress(right);
  for (bool Step::*flag : {&Step::rounds_result, &Step::rounds_source, &Step::rounds_operand}) {
    spoiled_flag = flag;
    for (spoiled_step = 0; spoiled_step < right.steps.size(); ++spoiled_step) {
      if (!(right.steps[spoiled_step].*flag)) continue;
      const std::string wrong = check_schedule(spoiled, q);
      if (wrong.empty()) continue;
      EXPECT_NE(wrong.find("differently"), std::string::npos) << wrong;
      ++missed;
    }
  }
  return missed;
}

TEST(Compression, TheCheckerMissesARoundingThatIsLeftOut) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (algorithm.op != Op::kAllreduce) continue;
    for (const bool in_place : {false, true}) {
      ScheduleRequest q;
      q.size = algorithm.name == std::string("direct") ? 2 : 4;
      q.count = 9;
      q.in_place = in_place;
      EXPECT_GT(roundings_missed(algorithm, q), 0u) << algorithm.name << in_place;
    }
  }
}

// ---- what a wrong result looks like ----

TEST(Compression, AContributionThatIsMissingIsFound) {
  constexpr int kRanks = 4;
  constexpr uint64_t kCount = 5000;
  for (const char* codec : {"fp16", "bf16", "topk:0.1"}) {
    for (const RedOp redop : {RedOp::kSum, RedOp::kAvg}) {
      OperationSpec spec = compressed(codec, kCount);
      spec.redop = redop;
      World world = ranks_in_memory(kRanks);
      const std::string wrong = first_of(on_every_rank(world, [&](int rank, Group& group) {
        Executor executor(group, test_kernels());
        Operand operand(spec, rank, kRanks, 1);
        operand.fill(0, kSeed);
        auto prepared = executor.prepare(spec);
        const Status done = executor.run(**prepared, operand.in(0), operand.out(0),
                                         Deadline::after_ms(20'000), operand.residual(0));
        if (!done) return done.error().message();
        if (operand.count_wrong(0, kSeed) != 0) return std::string("not even right");
        const ResultError error = *operand.error();
        if (!(error.max_rel > 0 && error.max_rel <= 1)) return std::string("no error was lost");
        // Somewhere a rank's part is lost, somewhere it counts twice, and one is no number.
        auto* out = static_cast<float*>(operand.out(0));
        const auto* in = static_cast<const float*>(operand.in(0));
        const float share = redop == RedOp::kAvg ? kRanks : 1;
        size_t large = 0, other = 1;
        for (size_t i = 0; i < kCount; ++i) {
          if (in[i] <= in[large]) continue;
          other = large;
          large = i;
        }
        out[large] -= in[large] / share;
        out[other] += in[large] / share;
        out[kCount - 1] = std::nanf("");
        const uint64_t found = operand.count_wrong(0, kSeed);
        return found == 3 ? std::string() : "found " + std::to_string(found);
      }));
      EXPECT_EQ(wrong, "") << codec << " " << to_string(redop);
    }
  }
}

// ---- around it ----

TEST(Compression, RanksWithOtherCodecsFindOut) {
  World world = ranks_in_memory(2);
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    auto prepared = executor.prepare(compressed(rank == 0 ? "fp16" : "bf16", 64, "ring"));
    std::vector<float> data(64);
    const Status done =
        executor.run(**prepared, data.data(), data.data(), Deadline::after_ms(20'000));
    return done ? "ran" : done.error().code == ErrorCode::kMismatch ? "" : done.error().message();
  });
  for (const std::string& word : said) EXPECT_NE(word, "ran");
  EXPECT_TRUE(said[0].empty() || said[1].empty()) << said[0] << said[1];
}

TEST(Compression, TheExecutorRefusesWhatMeansNothing) {
  World world = ranks_in_memory(2);
  Executor executor(*world[0], test_kernels());
  OperationSpec spec = compressed("fp16", 8);
  EXPECT_TRUE(executor.prepare(spec));
  spec.redop = RedOp::kMax;
  EXPECT_FALSE(executor.prepare(spec));
  spec.redop = RedOp::kSum;
  spec.dtype = DType::kI32;
  EXPECT_FALSE(executor.prepare(spec));
  spec.dtype = DType::kF32;
  spec.op = Op::kBroadcast;
  EXPECT_FALSE(executor.prepare(spec));
}

TEST(Compression, BytesAreThoseReallySent) {
  constexpr uint64_t kCount = 10'000;
  for (const char* codec : {"none", "fp16", "bf16", "topk:0.01"}) {
    World world = ranks_in_memory(2);
    const OperationSpec spec = compressed(codec, kCount);
    std::vector<uint64_t> said(2), payload(2);
    on_every_rank(world, [&](int rank, Group& group) -> std::string {
      Executor executor(group, test_kernels());
      auto prepared = executor.prepare(spec);
      const std::vector<float> in(kCount, 1);
      std::vector<float> out(kCount);
      const uint64_t before = group.stats().payload_sent;
      EXPECT_TRUE(executor.run(**prepared, in.data(), out.data(), Deadline::after_ms(20'000)));
      payload[static_cast<size_t>(rank)] = group.stats().payload_sent - before;
      said[static_cast<size_t>(rank)] = Executor::cost_of(**prepared).send_bytes;
      return {};
    });
    const uint64_t expected =
        codec[0] == 't' ? kCount / 100 * 8 : kCount * (codec[0] == 'n' ? 4 : 2);
    for (size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(said[rank], expected) << codec;
      EXPECT_EQ(payload[rank], expected) << codec;
    }
  }
}

TEST(Compression, TheMeasurementHasTheErrorAndTheBytes) {
  for (const char* codec : {"", "fp16", "topk:0.01"}) {
    Cell cell;
    cell.kind = CellKind::kBandwidth;
    cell.op = "allreduce";
    cell.ranks = 2;
    cell.count = 5000;
    cell.bytes = cell.count * 4;
    cell.cache = "hot";
    cell.compression = codec;
    MeasureSettings settings;
    settings.fixed_iterations = 5;
    settings.fixed_warmup = 1;
    World world = ranks_in_memory(2);
    const OptionSet options;
    const std::vector<Measurement> of_rank = measured_by_ranks(world, cell, settings, options);
    const bool plain = cell.compression.empty();
    for (const Measurement& m : of_rank) {
      EXPECT_TRUE(m.verified) << codec;
      EXPECT_EQ(m.wire_bytes, 2 * (plain ? 20'000 : codec[0] == 'f' ? 10'000 : 50 * 8)) << codec;
      EXPECT_EQ(m.extra.count(kMaxErrorRel), plain ? 0u : 1u) << codec;
      EXPECT_EQ(known_to_all(m), known_to_all(of_rank[0])) << codec;
    }
    if (plain) continue;
    const double error = of_rank[0].extra.at(kMaxErrorRel);
    EXPECT_GT(error, codec[0] == 'f' ? 1e-6 : 0.1) << codec;
    EXPECT_LT(error, codec[0] == 'f' ? 0x1p-9 : 1.01) << codec;
  }
}

}  // namespace
}  // namespace plumbline
