// What a plan has beside the cells of its blocks: roofs, order, hash, filters.
#include "scenarios/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

TEST(PlanRoofs, OncePerTimedWorld) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"op": "allreduce", "bytes": [8, 16], "ranks": [1, 2, 4], "transport": ["tcp", "memory"]},
         {"kind": "check", "op": "allreduce", "bytes": 8, "ranks": 3})")));
  std::map<std::string, int> roofs;
  for (const PlanCell& cell : plan.cells) {
    if (cell.cell.kind != CellKind::kRoof) continue;
    ++roofs[cell.cell.transport + std::to_string(cell.cell.ranks)];
    EXPECT_EQ(cell.cell.bytes, cell.cell.count * (cell.cell.op == "reduce_kernel" ? 4 : 1));
  }
  // Five of each path, one for each size that a latency sends, and the reduction of small arrays.
  EXPECT_EQ(roofs,
            (std::map<std::string, int>{{"memory2", 8}, {"memory4", 8}, {"tcp2", 8}, {"tcp4", 8}}));
}

// A bandwidth is held against arrays of its own size over the path, as cold or hot as its own, and
// what reduces against the kernel of its type and reduction; each is measured once.
TEST(PlanRoofs, BandwidthsHaveArraysOfTheirSizeAndReductionsTheirKernel) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"kind": "bandwidth", "op": ["allreduce", "allgather", "broadcast"], "bytes": ["1Mi", "4Mi"], "ranks": 2},
         {"kind": "bandwidth", "op": "allreduce", "bytes": "1Mi", "dtype": "f16", "redop": "max", "ranks": 2,
          "algorithm": "ring"},
         {"kind": "throughput", "op": "allreduce", "bytes": "2Mi", "ranks": 2})")));
  std::vector<std::string> roofs;
  for (const PlanCell& cell : plan.cells) {
    const Cell& c = cell.cell;
    if (c.op == "reduce_kernel" || c.op.starts_with("array")) {
      roofs.push_back(c.op + " " + std::to_string(c.bytes >> 20) + " " + c.dtype + " " + c.redop +
                      " " + c.cache);
    }
  }
  std::sort(roofs.begin(), roofs.end());
  EXPECT_EQ(roofs, (std::vector<std::string>{
                       "array_duplex 1 u8 none cold", "array_duplex 4 u8 none cold",
                       "array_stream 1 u8 none cold", "array_stream 4 u8 none cold",
                       "reduce_kernel 1 f16 max cold", "reduce_kernel 1 f32 sum cold",
                       "reduce_kernel 4 f32 sum cold"}));
}

// Half of a 64 KiB ping-pong was the floor of everything from 64 KiB on.
TEST(PlanRoofs, LatenciesHaveTheFloorsOfTheirOwnMessages) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"kind": "latency", "op": ["reduce_scatter", "allgather", "alltoall"], "bytes": "64Ki", "ranks": 2},
         {"kind": "latency", "op": ["pingpong", "broadcast"], "bytes": ["64Ki", "1Mi"], "ranks": 2},
         {"kind": "latency", "op": "broadcast", "bytes": "4Mi", "ranks": 2},
         {"kind": "bandwidth", "op": "allgather", "bytes": "16Ki", "ranks": 2})")));
  std::set<std::pair<std::string, uint64_t>> floors;
  for (const PlanCell& cell : plan.cells) {
    if (cell.cell.op == "raw_pingpong" || cell.cell.op == "raw_exchange") {
      EXPECT_TRUE(floors.emplace(cell.cell.op, cell.cell.bytes).second) << "once";
    }
  }
  EXPECT_EQ(floors, (std::set<std::pair<std::string, uint64_t>>{{"raw_exchange", 32768},
                                                                {"raw_pingpong", 8},
                                                                {"raw_pingpong", 65536},
                                                                {"raw_pingpong", 1 << 20}}));
}

// Over a cable for each pair `auto` sends two quarters of the array over each, elsewhere all of it
// to one rank: without these roofs such records had no share of theirs.
TEST(PlanRoofs, FloorsAreOfWhatAutoTakesOverOwnCables) {
  const auto floors = [](const char* addresses) {
    std::set<uint64_t> bytes;
    const Plan plan = plan_of(parse(std::string(R"({"plumbline": 1, "hosts": )") + addresses +
                                    R"(, "matrix": [{"kind": "latency", "op": "allreduce",
                                        "bytes": "64Ki"}]})"));
    for (const PlanCell& cell : plan.cells) {
      if (cell.cell.op == "raw_exchange") bytes.insert(cell.cell.bytes);
    }
    return bytes;
  };
  EXPECT_EQ(
      floors(
          R"([{"name": "a", "ssh": "a", "data": "10.0.0.1/24"}, {"name": "b", "ssh": "b", "data": "10.0.0.2/24"},
                       {"name": "c", "ssh": "c", "data": "10.0.0.3/24"}, {"name": "d", "ssh": "d", "data": "10.0.0.4/24"}])"),
      std::set<uint64_t>{64 << 10});
  EXPECT_EQ(
      floors(R"([{"name": "a", "ssh": "a", "data": ["10.0.0.1/30", "10.0.0.5/30", "10.0.0.9/30"]},
                       {"name": "b", "ssh": "b", "data": ["10.0.0.2/30", "10.0.0.13/30", "10.0.0.17/30"]},
                       {"name": "c", "ssh": "c", "data": ["10.0.0.6/30", "10.0.0.14/30", "10.0.0.21/30"]},
                       {"name": "d", "ssh": "d", "data": ["10.0.0.10/30", "10.0.0.18/30", "10.0.0.22/30"]}])"),
      std::set<uint64_t>{32 << 10});
}

TEST(PlanRoofs, OptionsOfABlockDoNotRepeatThem) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"op": "allreduce", "bytes": 8, "config": {"spin_us": 5}},
         {"op": "allreduce", "bytes": 8, "config": {"spin_us": 6}})")));
  EXPECT_EQ(plan.cells.size(), 7u + 2);
  // Worlds stay together: seven roofs and a cell of the first, then the second.
  EXPECT_EQ(plan.cells[7].cell.params.at("spin_us"), "5");
  EXPECT_EQ(plan.cells[8].cell.params.at("spin_us"), "6");
  EXPECT_EQ(plan.cells[0].cell.params.at("spin_us"), "5");
}

TEST(PlanOrder, WorldsStayTogetherWithRoofsFirst) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"op": ["allreduce", "reduce"], "bytes": {"from": 8, "to": "64Ki"}, "ranks": [4, 2]})")));
  std::vector<int> worlds;
  bool roofs_over = false;
  for (const PlanCell& cell : plan.cells) {
    if (worlds.empty() || worlds.back() != cell.cell.ranks) {
      worlds.push_back(cell.cell.ranks);
      roofs_over = false;
    }
    EXPECT_FALSE(roofs_over && cell.cell.kind == CellKind::kRoof);
    roofs_over |= cell.cell.kind != CellKind::kRoof;
  }
  EXPECT_EQ(worlds, (std::vector<int>{2, 4}));
}

TEST(PlanOrder, DependsOnTheSeedOnly) {
  const Scenario s = parse(
      with_matrix(R"({"op": "reduce", "bytes": {"from": 4, "to": 64, "step": 4}})", kNoRoofs));
  const auto order = [&](uint64_t seed) {
    std::vector<uint64_t> out;
    for (const PlanCell& cell : plan_of(s, {}, seed).cells) out.push_back(cell.cell.bytes / 4);
    return out;
  };
  // Written down once: the same on every machine, compiler and library.
  EXPECT_EQ(order(1),
            (std::vector<uint64_t>{3, 12, 11, 7, 8, 14, 15, 1, 13, 6, 16, 10, 4, 9, 5, 2}));
  EXPECT_EQ(order(2),
            (std::vector<uint64_t>{9, 4, 11, 7, 13, 6, 16, 14, 10, 3, 5, 2, 1, 8, 12, 15}));
  auto sorted = order(3);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
}

TEST(PlanOrder, SplitMix64MatchesItsReference) {
  // The reference implementation's first outputs for seed 1234567 (prng.di.unimi.it/splitmix64.c).
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(PlanOrder, ShuffleIsUniform) {
  // All 24 orders of four values, 24000 times: each about 1000 times.
  SplitMix64 random(5);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> values = {0, 1, 2, 3};
    shuffle(values, random);
    ++seen[values];
  }
  ASSERT_EQ(seen.size(), 24u);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 1000, 160);  // 5 sigma
}

std::string hash_of(const std::string& text, const PlanFilter& filter = {}, uint64_t seed = 1) {
  return plan_of(parse(text), filter, seed).hash;
}

TEST(PlanHash, ChangesWithWhatIsMeasured) {
  const std::string block = R"({"op": "allreduce", "bytes": [8, 16])";
  const std::string base = hash_of(with_matrix(block + "}"));
  EXPECT_EQ(base.size(), 64u);
  std::set<std::string> others = {base};
  for (const std::string& text :
       {with_matrix(block + R"(, "dtype": "f64"})"),
        with_matrix(block + R"(, "redop": "max"})"),
        with_matrix(block + R"(, "ranks": 4})"),
        with_matrix(block + R"(, "transport": "tcp"})"),
        with_matrix(block + R"(, "algorithm": "ring"})"),
        with_matrix(block + R"(, "repeat": 2})"),
        with_matrix(block + R"(, "placement": "in"})"),
        with_matrix(block + R"(, "sync": "none"})"),
        with_matrix(block + R"(, "kind": "bandwidth"})"),
        with_matrix(block + R"(, "kind": "check"})"),
        with_matrix(block + R"(, "kind": "throughput"})"),
        with_matrix(block + R"(, "kind": "throughput", "time": "1s"})"),
        with_matrix(block + R"(, "kind": "throughput", "outstanding": 2})"),
        with_matrix(block + R"(, "stop": {"ci": 0.01}})"),
        with_matrix(block + R"(, "stop": {"min_n": 31}})"),
        with_matrix(block + R"(, "stop": {"max_n": 99}})"),
        with_matrix(block + R"(, "stop": {"max_time": "1s"}})"),
        with_matrix(block + R"(, "config": {"spin_us": 3}})"),
        with_matrix(block + "}", R"(, "config": {"spin_us": 3})"),
        with_matrix(block + "}", R"(, "config": {"chunk_bytes": "128Ki"})"),
        with_matrix(block + "}", R"(, "roofs": false)"),
        with_matrix(R"({"op": "allreduce", "bytes": [8]})")}) {
    EXPECT_TRUE(others.insert(hash_of(text)).second) << text;
  }
  EXPECT_TRUE(others.insert(hash_of(with_matrix(block + "}"), {{"bytes=16"}, {}})).second);
}

TEST(PlanHash, DoesNotChangeWithWhatDoesNotMatter) {
  const std::string block = R"({"op": "allreduce", "bytes": [8, 16], "stop": {"max_n": 50}})";
  const std::string base = hash_of(with_matrix(block));
  EXPECT_EQ(hash_of(with_matrix(block), {}, 99), base);  // seed, order
  for (const std::string& text :
       {with_matrix(block, R"(, "question": "what?", "seed": 4, "report": "csv")"),
        with_matrix(block, R"(, "probes": ["ip"])"),
        with_matrix(block, R"(, "launch": {"port_base": 40000, "master_port": 41000})"),
        with_matrix(block, R"(, "config": {"log_level": "INFO"})"),
        with_matrix(block, R"(, "config": {"chunk_bytes": "256Ki"})"),  // the default
        with_matrix(block, R"(, "config": {"chunk_bytes": 262144})"),   // in other words
        with_matrix(R"({"op": ["allreduce"], "bytes": ["16", "8"], "ranks": [2],
                        "stop": {"max_n": 50, "ci": 0.05}, "root": 0})"),
        with_matrix(block + "," + block)}) {
    EXPECT_EQ(hash_of(text), base) << text;
  }
}

TEST(PlanHash, CoversTheResolvedOptions) {
  const Scenario s = parse(with_matrix(R"({"op": "barrier"})"));
  OptionSources sources;
  sources.flags = {{"chunk_bytes", "128Ki"}};
  const OptionSet changed = *OptionSet::resolve(sources);
  PlanContext with_flag = context();
  with_flag.options = &changed;
  EXPECT_NE(make_plan(s, {}, 1, with_flag)->hash, plan_of(s).hash);
  const OptionSet defaults;
  with_flag.options = &defaults;
  EXPECT_EQ(make_plan(s, {}, 1, with_flag)->hash, plan_of(s).hash);
}

TEST(PlanFilterTest, TermsSelectCells) {
  const Scenario s = parse(with_matrix(
      R"({"op": ["allreduce", "allgather"], "bytes": [64, "64Ki"], "dtype": ["f32", "bf16"],
          "algorithm": ["auto", "ring"], "ranks": [2, 4]},
         {"kind": "check", "op": "barrier"})",
      kNoRoofs));
  const auto count = [&](std::vector<std::string> only, std::vector<std::string> skip = {}) {
    return plan_of(s, {std::move(only), std::move(skip)}).cells.size();
  };
  EXPECT_EQ(count({}), 33u);
  EXPECT_EQ(count({"op=allreduce"}), 16u);
  EXPECT_EQ(count({"op=allreduce,barrier"}), 17u);
  EXPECT_EQ(count({"allreduce"}), 16u);
  EXPECT_EQ(count({"ring"}), 16u);
  EXPECT_EQ(count({"ring", "bf16"}), 8u);
  EXPECT_EQ(count({"ring", "bf16", "bytes>=64Ki"}), 4u);
  EXPECT_EQ(count({"bytes>64"}), 16u);
  EXPECT_EQ(count({"bytes<=64"}), 17u);
  EXPECT_EQ(count({"bytes<64"}), 1u);
  EXPECT_EQ(count({"ranks!=2"}), 16u);
  EXPECT_EQ(count({"ranks=2,4"}), 33u);
  EXPECT_EQ(count({}, {"check"}), 32u);
  EXPECT_EQ(count({}, {"bf16", "ranks=4"}), 9u);
  EXPECT_FALSE(make_plan(s, {{"allreduce"}, {"op=allreduce"}}, 1, context()));
}

TEST(PlanFilterTest, RoofsFollowWhatIsKept) {
  const Scenario s = parse(with_matrix(R"({"op": ["allreduce", "reduce"], "bytes": 8,
                                           "ranks": [2, 4]})"));
  const auto cells = [&](std::vector<std::string> only, std::vector<std::string> skip = {}) {
    return plan_of(s, {std::move(only), std::move(skip)}).cells.size();
  };
  // Five roofs of each world, the swap of 8 bytes that allreduce makes, and the reduction of both.
  EXPECT_EQ(cells({}), 18u);
  EXPECT_EQ(cells({"ranks=2"}), 9u);
  EXPECT_EQ(cells({"op=reduce", "ranks=4"}), 7u);
  EXPECT_EQ(cells({}, {"roof"}), 4u);
  EXPECT_EQ(cells({}, {"memcpy"}), 16u);
  EXPECT_EQ(cells({"roof"}), 14u);
  EXPECT_EQ(cells({"kind=roof", "ranks=2"}), 7u);
}

TEST(PlanFilterTest, BadTermsAreNamed) {
  const Scenario s = parse(with_matrix(R"({"op": "allreduce", "bytes": 64})", kNoRoofs));
  const auto error = [&](const std::string& term) {
    const auto plan = make_plan(s, {{term}, {}}, 1, context());
    EXPECT_FALSE(plan) << term;
    EXPECT_FALSE(make_plan(s, {{}, {term}}, 1, context())) << term;
    if (plan) return std::string();
    EXPECT_EQ(plan.error().code, ErrorCode::kUsage);
    return plan.error().message();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error("allredcue"), "did you mean 'allreduce'?"));
  EXPECT_TRUE(has(error("opp=allreduce"), "did you mean 'op'?"));
  EXPECT_TRUE(has(error("op=reduce_scatter"), "no cell has 'reduce_scatter'"));
  EXPECT_TRUE(has(error("bytes>=64Q"), "units are Ki"));
  EXPECT_TRUE(has(error("bytes>=8,16"), "give one"));
  EXPECT_TRUE(has(error("ranks=two"), "not a whole number"));
  EXPECT_TRUE(has(error("op>=allreduce"), "not a number"));
  EXPECT_TRUE(has(error("op!allreduce"), "no relation"));
  EXPECT_TRUE(has(error("=allreduce"), "no field ''"));
  EXPECT_TRUE(has(error(""), "no cell has ''"));
  EXPECT_TRUE(has(error("op="), "no cell has ''"));
  const auto nothing = make_plan(s, {{"bytes>1Mi"}, {}}, 1, context());
  ASSERT_FALSE(nothing);
  EXPECT_TRUE(has(nothing.error().message(), "leaves none of 1 cells"));
}

}  // namespace
}  // namespace plumbline::scenario_test
