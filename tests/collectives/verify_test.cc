// Wrong data, honestly: which operations are verified, that the record counts them, and that no
// record calls itself verified over a flip that nobody looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "collectives/measure.h"
#include "collectives/verifier.h"
#include "core/record/record.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "transport/channel/fault.h"
#include "transport/channel/frame.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int kIterations = 40;
constexpr uint64_t kBytes = 4096;

Cell verified_cell(const std::string& kind, const std::string& sync) {
  Cell cell;
  cell.kind = *cell_kind_from(kind);
  cell.op = "allreduce";
  cell.algorithm = "direct";
  cell.dtype = "i32";
  cell.sync = sync;
  cell.cache = "hot";
  cell.ranks = 2;
  cell.bytes = kBytes;
  cell.count = kBytes / 4;
  return cell;
}

// Our engine, and a line for everything that it is asked: what, and which slot.
class LoggedEngine : public Engine {
 public:
  LoggedEngine(Engine& inner, std::vector<std::string>& log) : inner_(inner), log_(log) {}
  Expected<std::unique_ptr<EngineWork>> prepare(const OperationSpec& spec, size_t slots,
                                                size_t lanes) override {
    auto work = inner_.prepare(spec, slots, lanes);
    if (!work) return work;
    return std::make_unique<Work>(std::move(*work), log_);
  }
  void describe(Resolved& resolved) const override { inner_.describe(resolved); }
  EngineTraffic traffic() const override { return inner_.traffic(); }

 private:
  class Work : public EngineWork {
   public:
    Work(std::unique_ptr<EngineWork> inner, std::vector<std::string>& log)
        : inner_(std::move(inner)), log_(log) {}
    void fill(size_t slot, uint32_t seed) override {
      log_.push_back("fill " + std::to_string(slot));
      inner_->fill(slot, seed);
    }
    uint64_t count_wrong(size_t slot, uint32_t seed) const override {
      log_.push_back("check " + std::to_string(slot));
      return inner_->count_wrong(slot, seed);
    }
    Status start(size_t lane, size_t slot) override {
      log_.push_back("run " + std::to_string(slot));
      return inner_->start(lane, slot);
    }
    Expected<bool> poll(size_t lane) override { return inner_->poll(lane); }
    Status wait(size_t lane, Deadline deadline) override { return inner_->wait(lane, deadline); }
    bool time_parts(TimeParts* into) override { return inner_->time_parts(into); }
    std::string algorithm() const override { return inner_->algorithm(); }
    uint64_t sent_bytes() const override { return inner_->sent_bytes(); }

   private:
    const std::unique_ptr<EngineWork> inner_;
    std::vector<std::string>& log_;
  };

  Engine& inner_;
  std::vector<std::string>& log_;
};

struct Asked {
  Cell cell;
  const char* verify = "sampled";
  std::string fault;
  int aggregate = 1;
  int verify_iterations = 1;
  uint32_t seed = 7;
  int iterations = kIterations;
  int64_t throughput_ns = 0;  // > 0: a throughput cell without warm-up lasts so long
  std::function<bool()> interrupted_on_rank_1;
  std::vector<std::string>* log_of_rank_0 = nullptr;  // what its engine was asked
};

// Measures on two ranks; of a cell that could not be measured the outcome is an error.
std::vector<Measurement> measure_on_two(const Asked& asked) {
  const auto fault = parse_fault(asked.fault);
  EXPECT_TRUE(fault) << asked.fault;
  World world =
      make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16,
                         [spec = *fault](int self, int peer, std::unique_ptr<ByteStream> s) {
                           return wrap_fault(spec, self, peer, std::move(s));
                         });
  const OptionSet options = *OptionSet().with("verify", asked.verify, "test");
  MeasureSettings settings;
  if (asked.cell.kind != CellKind::kThroughput) {
    settings.fixed_iterations = asked.iterations;
    settings.fixed_warmup = 3;
  }
  settings.stop.max_time_ns = 2'000'000;
  settings.throughput_time_ns = 1'000'000;
  if (asked.throughput_ns > 0) {
    settings.fixed_warmup = 0;
    settings.throughput_time_ns = asked.throughput_ns;
  }
  settings.aggregate = asked.aggregate;
  settings.verify_iterations = asked.verify_iterations;
  settings.verify_seed = asked.seed;
  settings.operation_timeout_ms = 2000;
  std::vector<Measurement> of_rank(2);
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    MeasureContext context;
    context.group = &group;
    context.executor = &executor;
    context.kernels = &test_kernels();
    context.options = &options;
    const auto engine = native_engine(context);
    context.engine = engine.get();
    std::optional<LoggedEngine> logged;
    if (rank == 0 && asked.log_of_rank_0 != nullptr) {
      context.engine = &logged.emplace(*engine, *asked.log_of_rank_0);
    }
    if (rank == 1) context.interrupted = asked.interrupted_on_rank_1;
    Expected<Measurement> measured = measure(asked.cell, settings, context);
    auto& mine = of_rank[static_cast<size_t>(rank)];
    if (measured) {
      mine = std::move(*measured);
    } else {
      mine.outcome = Outcome::kError;
      mine.reason = measured.error().message();
    }
    return {};
  });
  return of_rank;
}

std::string flip_after(uint64_t bytes) {
  return "flip:rank=1,peer=0,after=" + std::to_string(bytes);
}

TEST(Verify, TheRecordSaysHowManyOperationsWereVerified) {
  struct Case {
    const char *kind, *sync, *verify;
    bool all;
  };
  for (const Case& c :
       {Case{"latency", "barrier", "sampled", true}, Case{"latency", "barrier", "every", true},
        Case{"latency", "barrier", "last", false}, Case{"latency", "none", "sampled", false},
        Case{"latency", "none", "every", true}, Case{"bandwidth", "none", "last", false},
        Case{"throughput", "barrier", "sampled", false}, Case{"throughput", "none", "every", true},
        Case{"check", "barrier", "last", true}, Case{"check", "none", "sampled", true}}) {
    const std::string name = std::string(c.kind) + " " + c.sync + " " + c.verify;
    for (const int outstanding : {1, 3}) {
      if (outstanding > 1 && std::string(c.kind) != "throughput") continue;
      Asked asked;
      asked.cell = verified_cell(c.kind, c.sync);
      asked.cell.outstanding = outstanding;
      asked.verify = c.verify;
      const std::vector<Measurement> of_rank = measure_on_two(asked);
      ASSERT_EQ(of_rank[0].outcome, Outcome::kPassed) << name << of_rank[0].reason;
      const auto count = verified_count(of_rank[0]);
      ASSERT_TRUE(count) << name;
      EXPECT_EQ(of_rank[0].verified, c.all) << name << " " << verified_text(of_rank[0]);
      EXPECT_EQ(count->verified == count->operations, c.all) << name;
      EXPECT_GE(count->verified, 2u) << name;
      EXPECT_GE(count->operations, of_rank[0].iterations) << name;
      EXPECT_EQ(known_to_all(of_rank[1]), known_to_all(of_rank[0]))
          << name << ": ranks chose differently";
    }
  }
}

// Filled right before its operation, an array that is said to be cold lies in the cache: results
// were two to four times as fast as a copy of such arrays.
TEST(Verify, ColdArraysAreFilledBeforeTheFirstOperationOfARound) {
  Asked asked;
  asked.cell = verified_cell("bandwidth", "barrier");
  asked.cell.cache = "cold";
  const size_t slots = slots_of(asked.cell, VerifyMode::kSampled).ordinary;
  ASSERT_EQ(slots, 64u);
  asked.iterations = static_cast<int>(slots) + 2;
  std::vector<std::string> log;
  asked.log_of_rank_0 = &log;
  const Measurement first = measure_on_two(asked)[0];
  ASSERT_EQ(first.outcome, Outcome::kPassed) << first.reason;
  EXPECT_TRUE(first.verified) << verified_text(first);
  std::vector<std::string> block;
  for (const size_t round : {slots, size_t{2}}) {
    for (const char* what : {"fill ", "run ", "check "}) {
      for (size_t slot = 0; slot < round; ++slot) block.push_back(what + std::to_string(slot));
    }
  }
  EXPECT_NE(std::search(log.begin(), log.end(), block.begin(), block.end()), log.end())
      << testing::PrintToString(log);
}

// The share of verified operations follows the seed, and is that of the documentation.
TEST(Verify, BackToBackARandomShareIsVerified) {
  uint64_t verified = 0, operations = 0;
  std::set<uint64_t> counts;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Asked asked;
    asked.cell = verified_cell("bandwidth", "none");
    asked.seed = seed;
    const Measurement first = measure_on_two(asked)[0];
    EXPECT_EQ(first.extra.at(kVerifySeed), seed);
    EXPECT_EQ(first.iterations, static_cast<uint64_t>(kIterations));
    const VerifiedCount count = verified_count(first).value();
    // Two before the warm-up, its last one, and the last of the block in any case.
    EXPECT_GE(count.verified, 4u);
    // One stretch: only its first operation is not timed.
    EXPECT_EQ(count.operations, 2u + 3u + 1u + kIterations);
    EXPECT_EQ(measured_operations(first), 1u + kIterations);
    counts.insert(count.verified);
    verified += count.verified - 4;
    operations += 2 + kIterations;
    EXPECT_EQ(verified_count(measure_on_two(asked)[0])->verified, count.verified) << "same seed";
  }
  EXPECT_GT(counts.size(), 2u);
  const double share = static_cast<double>(verified) / static_cast<double>(operations);
  EXPECT_NEAR(share, 1.0 / kVerifyOneIn, 0.03);
}

// Each operation is drawn by itself, and a stretch lasts until the slots of drawn ones are used up:
// stops are as rare with several in flight, and it is the same operations that are drawn.
TEST(Verify, StopsAreRareAndTheChoiceDoesNotDependOnHowManyAreInFlight) {
  std::set<uint64_t> timed;
  for (const int in_flight : {1, 2, 7}) {
    Asked asked;
    asked.cell = verified_cell("throughput", "none");
    asked.cell.outstanding = in_flight;
    asked.cell.bytes = 64 << 10;
    asked.cell.count = asked.cell.bytes / 4;
    asked.throughput_ns = 1'000'000;  // over at the first stop
    const Measurement first = measure_on_two(asked)[0];
    ASSERT_EQ(first.outcome, Outcome::kPassed) << first.reason;
    const auto k = static_cast<uint64_t>(in_flight);
    const uint64_t drawn = slots_of(asked.cell, VerifyMode::kSampled).check - k;
    EXPECT_EQ(measured_operations(first), first.iterations + k);
    EXPECT_EQ(verified_count(first)->verified, 2 + drawn + k);
    // All of them timed but those of the start and the end of the stretch.
    EXPECT_NEAR(static_cast<double>(first.iterations), kVerifyOneIn * (drawn + 1.0),
                4.0 * kVerifyOneIn * std::sqrt(drawn + 1.0));
    timed.insert(first.iterations);
  }
  EXPECT_EQ(timed.size(), 1u);
}

// Of arrays that are too large for many slots every drawn operation ends its stretch, and those at
// its beginning are drawn like others.
TEST(Verify, LargeArraysNeedNoMoreSlotsThanTheLastOnes) {
  Cell cell = verified_cell("bandwidth", "none");
  EXPECT_GE(slots_of(cell, VerifyMode::kSampled).check, 257u);
  cell.bytes = 5 << 20;
  cell.count = cell.bytes / 4;
  EXPECT_EQ(slots_of(cell, VerifyMode::kSampled).check, 1u);
  Asked asked;
  asked.cell = cell;
  const Measurement first = measure_on_two(asked)[0];
  ASSERT_EQ(first.outcome, Outcome::kPassed) << first.reason;
  EXPECT_EQ(first.iterations, static_cast<uint64_t>(kIterations));
  const VerifiedCount count = verified_count(first).value();
  const uint64_t stretches = measured_operations(first) - kIterations;
  EXPECT_GT(stretches, 1u);
  EXPECT_GE(count.verified, 2 + 1 + stretches);
  EXPECT_LE(count.verified, 2 + 3 + stretches);
}

TEST(Verify, AThroughputCellEndsAtItsTimeAlsoWhereVerifyingTakesLonger) {
  for (const int in_flight : {1, 3}) {
    Asked asked;
    asked.cell = verified_cell("throughput", "none");
    asked.cell.outstanding = in_flight;
    asked.verify = "every";
    asked.throughput_ns = 1'000'000;  // without a warm-up a million operations are meant
    const Measurement first = measure_on_two(asked)[0];
    ASSERT_EQ(first.outcome, Outcome::kPassed) << first.reason;
    EXPECT_LT(first.iterations, 100'000u);
    EXPECT_GE(first.iterations, 4u * static_cast<uint64_t>(in_flight));
    EXPECT_EQ(first.stop_reason, "time");
    EXPECT_TRUE(first.verified) << verified_text(first);
    EXPECT_EQ(measured_operations(first), 2 * first.iterations);
    const double rate = *first.ops_per_s * static_cast<double>(first.elapsed_ns) / 1e9;
    EXPECT_NEAR(rate, static_cast<double>(first.iterations), 0.5);
  }
}

// One rank is told; all leave at the next stop.
TEST(Verify, AnInterruptIsSeenAtTheNextStop) {
  for (const char* kind : {"throughput", "bandwidth"}) {
    Asked asked;
    asked.cell = verified_cell(kind, "none");
    asked.verify = "every";
    asked.iterations = 1'000'000;
    asked.throughput_ns = 60'000'000'000;
    int questions = 0;
    asked.interrupted_on_rank_1 = [&] { return ++questions > 5; };
    const std::vector<Measurement> of_rank = measure_on_two(asked);
    for (const Measurement& mine : of_rank) {
      EXPECT_EQ(mine.stop_reason, "interrupted") << kind << mine.reason;
      EXPECT_GE(mine.iterations, 1u);
      EXPECT_LE(mine.iterations, 8u);
    }
  }
}

// What is divided by operations, and what they are.
TEST(Verify, VerificationIsNoPartOfWhatOperationsUse) {
  Usage aside;
  const Usage before = usage_now();
  constexpr int64_t kSpun = 5'000'000;
  {
    const UsageAside measured(aside);
    while ((usage_now() - before).cpu_ns < kSpun) {
    }
  }
  EXPECT_GE(aside.cpu_ns, kSpun - 1'000'000);
  EXPECT_LT((usage_now() - before - aside).cpu_ns, kSpun / 2);
  for (const char* sync : {"barrier", "none"}) {
    Asked asked;
    asked.cell = verified_cell("bandwidth", sync);
    asked.verify = "every";
    const Measurement first = measure_on_two(asked)[0];
    const uint64_t each = std::string(sync) == "none" ? 2 : 1;
    EXPECT_EQ(measured_operations(first), each * kIterations) << sync;
  }
}

// 92 of 92 flips in the first operation of a check were not seen.
TEST(Verify, AFlipInTheFirstOperationOfACheckIsSeen) {
  for (uint64_t after = 200; after < kBytes; after += 350) {
    Asked asked;
    asked.cell = verified_cell("check", "barrier");
    asked.fault = flip_after(after);
    const std::vector<Measurement> of_rank = measure_on_two(asked);
    EXPECT_EQ(of_rank[0].outcome, Outcome::kFailed) << after << of_rank[0].reason;
    EXPECT_EQ(of_rank[0].wrong, 1u) << after;
    EXPECT_EQ(of_rank[0].cause, kWrongDataCause);
    EXPECT_FALSE(of_rank[1].verified) << after;
  }
}

struct Flips {
  size_t seen = 0, made = 0;
};

// How many of 24 flips are seen; those that are not must not hide behind a record that says
// "verified". They go all over a cell: into the first operation, the warm-up, timed ones, a few
// into the messages between them, where they end in an error.
Flips flips_seen(const Cell& cell, const char* verify, uint64_t apart) {
  Flips flips;
  test::RowShare share;
  for (uint64_t i = 0; i < 24; ++i) {
    if (!share.runs()) continue;
    ++flips.made;
    Asked asked;
    asked.cell = cell;
    asked.verify = verify;
    asked.fault = flip_after(1000 + i * apart);
    const Measurement first = measure_on_two(asked)[0];
    flips.seen += first.outcome == Outcome::kPassed ? 0 : 1;
    EXPECT_FALSE(first.outcome == Outcome::kPassed && first.verified)
        << to_string(cell.kind) << " " << verify << " " << asked.fault;
  }
  return flips;
}

TEST(Verify, NoRecordIsVerifiedOverAFlip) {
  const Cell bandwidth = verified_cell("bandwidth", "none");
  const Flips every = flips_seen(bandwidth, "every", 7499);
  EXPECT_EQ(every.seen, every.made);
  const Flips sampled = flips_seen(bandwidth, "sampled", 7499);
  EXPECT_LT(3 * sampled.seen, 2 * sampled.made);
  const Flips last = flips_seen(bandwidth, "last", 7499);
  EXPECT_LT(2 * last.seen, last.made);
  // As many operations as this any machine runs in the time.
  Cell throughput = verified_cell("throughput", "none");
  throughput.outstanding = 2;
  const Flips beside_others = flips_seen(throughput, "every", 1201);
  EXPECT_EQ(beside_others.seen, beside_others.made);
  flips_seen(throughput, "sampled", 1201);
}

TEST(Verify, NothingIsVerifiedWhereNobodyAskedForIt) {
  Asked asked;
  asked.cell = verified_cell("bandwidth", "none");
  asked.verify_iterations = 0;
  const Measurement first = measure_on_two(asked)[0];
  EXPECT_FALSE(first.verified);
  EXPECT_FALSE(first.wrong);
  EXPECT_EQ(verified_count(first)->verified, 0u);
  EXPECT_EQ(verified_text(first), "not verified");
  EXPECT_EQ(first.iterations, static_cast<uint64_t>(kIterations));
}

// Repeated in place, an operation works on its own result: nothing can be said of it.
TEST(Verify, AggregatesInPlaceAreNotVerified) {
  Asked asked;
  asked.cell = verified_cell("bandwidth", "none");
  asked.cell.placement = "in";
  asked.aggregate = 4;
  asked.verify = "every";
  const Measurement first = measure_on_two(asked)[0];
  EXPECT_EQ(first.outcome, Outcome::kPassed) << first.reason;
  EXPECT_EQ(verified_count(first)->verified, 2u) << "those before the warm-up";
  EXPECT_FALSE(first.verified);
  asked.aggregate = 1;
  EXPECT_TRUE(measure_on_two(asked)[0].verified) << "one at a time they are";
}

TEST(Verify, AnOperationWithoutDataHasNothingThatCouldBeWrong) {
  Asked asked;
  asked.cell = verified_cell("latency", "none");
  asked.cell.op = "barrier";
  asked.cell.algorithm = "auto";
  asked.cell.bytes = asked.cell.count = 0;
  EXPECT_TRUE(measure_on_two(asked)[0].verified);
}

// One reduce_scatter of two ranks; rank 0's result, and how many wrong elements it counts there.
struct Reduced {
  std::vector<std::byte> bytes;
  uint64_t wrong = 0;
};
constexpr uint64_t kPart = 300;  // elements of each rank's part
constexpr uint32_t kVerifySeed = 3;

Reduced reduce_scatter(DType dtype, RedOp redop, const std::string& fault) {
  World world = make_memory_groups(
      2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16,
      [spec = *parse_fault(fault)](int self, int peer, std::unique_ptr<ByteStream> s) {
        return wrap_fault(spec, self, peer, std::move(s));
      });
  OperationSpec spec;
  spec.op = Op::kReduceScatter;
  spec.dtype = dtype;
  spec.redop = redop;
  spec.count = kPart;
  spec.algorithm = "direct";
  Reduced reduced;
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    Operand operand(spec, rank, 2, 1);
    operand.fill(0, kVerifySeed);
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    const Status done =
        executor.run(**prepared, operand.in(0), operand.out(0), Deadline::after_ms(20'000));
    if (!done) return done.error().message();
    if (rank != 0) return {};
    const auto* out = static_cast<const std::byte*>(operand.out(0));
    reduced.bytes.assign(out, out + kPart * size_of(dtype));
    reduced.wrong = operand.count_wrong(0, kVerifySeed);
    return {};
  });
  EXPECT_EQ(first_of(said), "") << fault;
  return reduced;
}

// One flip in a bf16 reduce_scatter was not seen although its operation was verified. It had
// changed no bit of any result: a low bit of a small operand is rounded away beside a larger one,
// as IEEE arithmetic demands, or loses against a larger maximum. Every flip that does change a
// result is counted, and only those.
TEST(Verify, AFlipThatIsNotSeenInAVerifiedOperationChangedNoResult) {
  struct Case {
    DType dtype;
    RedOp redop;
    bool absorbs;  // some flips leave no trace
  };
  test::RowShare share(5);
  for (const Case& c : {Case{DType::kBf16, RedOp::kSum, true}, Case{DType::kF16, RedOp::kSum, true},
                        Case{DType::kF32, RedOp::kMax, true}, Case{DType::kI32, RedOp::kSum, false},
                        Case{DType::kU8, RedOp::kSum, false}}) {
    if (!share.runs()) continue;  // all flips of a case or none: only some are absorbed
    const std::string name = std::string(to_string(c.dtype)) + " " + to_string(c.redop);
    const Reduced clean = reduce_scatter(c.dtype, c.redop, "");
    ASSERT_EQ(clean.wrong, 0u) << name;
    size_t unseen = 0;
    const size_t payload = kPart * size_of(c.dtype);
    for (size_t at = 0; at < payload; ++at) {
      const Reduced spoiled = reduce_scatter(c.dtype, c.redop, flip_after(kFrameHeaderBytes + at));
      EXPECT_EQ(spoiled.wrong == 0, spoiled.bytes == clean.bytes) << name << " byte " << at;
      EXPECT_LE(spoiled.wrong, 1u) << name << " byte " << at;
      if (spoiled.wrong == 0) ++unseen;
    }
    EXPECT_EQ(unseen > 0, c.absorbs) << name << ": " << unseen << " of " << payload;
    EXPECT_LT(unseen, payload) << name;
  }
}

}  // namespace
}  // namespace plumbline
