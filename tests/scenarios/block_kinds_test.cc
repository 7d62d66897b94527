#include "scenarios/block_kinds.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

TEST(BlockKinds, EveryKindThatCanBeAskedForHasItsRow) {
  std::vector<std::string> names;
  for (const BlockKindRow& row : block_kind_table()) names.emplace_back(to_string(row.kind));
  EXPECT_EQ(names, asked_kinds());
}

TEST(BlockKinds, EveryKindBecomesCellsOfThatKind) {
  for (const BlockKindRow& row : block_kind_table()) {
    const std::string name = to_string(row.kind);
    const std::string op = row.own_op == nullptr ? "allreduce" : row.own_op;
    const Scenario scenario =
        parse(with_matrix(R"({"kind": ")" + name + R"(", "op": ")" + op + R"(", "bytes": 64, )" +
                          (plumbline::row(row.kind).has("url") ? R"("url": "http://mini1:8080"})"
                                                               : R"("ranks": 2})")));
    const auto plan = make_plan(scenario, {}, 1, {vocabulary(), nullptr, 0});
    ASSERT_TRUE(plan) << plan.error().message();
    size_t cells = 0;
    for (const PlanCell& planned : plan->cells) cells += planned.cell.kind == row.kind ? 1 : 0;
    EXPECT_GT(cells, 0u) << name;
  }
}

TEST(BlockKinds, UnknownKindsAndEnginesAreRefusedWithTheNearest) {
  const auto lines = [](const std::string& block) {
    const auto scenario = parse_scenario(with_matrix(block), "test.json", vocabulary());
    return scenario ? std::string("accepted") : all_lines(scenario.error());
  };
  EXPECT_THAT(lines(R"({"kind": "latancy", "op": "allreduce", "bytes": 8})"),
              testing::HasSubstr("did you mean 'latency'?"));
  EXPECT_THAT(lines(R"({"kind": "roof", "op": "memcpy", "bytes": 8})"),
              testing::HasSubstr("unknown kind 'roof'"));
  EXPECT_THAT(lines(R"({"kind": "probe", "op": "allreduce", "bytes": 8})"),
              testing::HasSubstr("unknown kind 'probe'"));
  EXPECT_THAT(lines(R"({"op": "allreduce", "bytes": 8, "engine": "natve"})"),
              testing::HasSubstr("did you mean 'native'?"));
  EXPECT_THAT(lines(R"({"op": "link", "engine": "native"})"),
              testing::HasSubstr("'engine' means nothing in a link block"));
}

TEST(BlockKinds, WhatAnEngineCannotDoIsSkippedAndAloneRefused) {
  Vocabulary words = vocabulary();
  words.engines.push_back(named("sums"));
  words.engine_unsupported = [](const Cell& cell) {
    return cell.engine == "sums" && cell.op != "allreduce" ? "only sums" : std::string();
  };
  const std::string both = with_matrix(
      R"({"op": ["allreduce", "broadcast"], "bytes": 8, "engine": ["native", "sums"]})");
  const auto scenario = parse_scenario(both, "test.json", words);
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  const auto plan = make_plan(*scenario, {}, 1, {words, nullptr, 0});
  ASSERT_TRUE(plan) << plan.error().message();
  size_t skipped = 0;
  for (const PlanCell& planned : plan->cells) {
    const Cell& cell = planned.cell;
    const bool cannot = cell.engine == "sums" && cell.op == "broadcast";
    EXPECT_EQ(planned.skip, cannot ? "engine sums: only sums" : "") << cell.engine << cell.op;
    skipped += cannot ? 1 : 0;
  }
  EXPECT_EQ(skipped, 1u);
  const auto alone = parse_scenario(
      with_matrix(R"({"op": "broadcast", "bytes": 8, "engine": "sums"})"), "test.json", words);
  ASSERT_FALSE(alone);
  EXPECT_THAT(all_lines(alone.error()), testing::HasSubstr("only sums"));
}

// What a codec means nothing for is skipped with the reason where a list names it beside others.
TEST(BlockKinds, CompressionIsAnAxisAndOtherCellsKeepTheirIds) {
  const Vocabulary words = vocabulary();
  const auto planned = [&](const std::string& keys) {
    const auto scenario =
        parse_scenario(with_matrix(R"({"op": ["allreduce", "broadcast"], "bytes": 8)" + keys + "}"),
                       "test.json", words);
    EXPECT_TRUE(scenario) << all_lines(scenario.error());
    return make_plan(*scenario, {}, 1, {words, nullptr, 0}).value();
  };
  std::map<std::string, std::string> ids;  // of cells without compression, by operation
  for (const PlanCell& cell : planned("").cells) ids[cell.cell.op] = cell.id;
  size_t compressed = 0;
  for (const PlanCell& cell : planned(R"(, "compression": ["none", "fp16", "topk:0.1"])").cells) {
    if (row(cell.cell.kind).timing == CellTiming::kBarePath) continue;
    if (cell.cell.compression.empty()) {
      EXPECT_EQ(cell.id, ids[cell.cell.op]);
      EXPECT_EQ(canonical_json(cell.cell).find("compression"), std::string::npos);
      continue;
    }
    EXPECT_NE(cell.id, ids[cell.cell.op]);
    EXPECT_EQ(cell.skip.empty(), cell.cell.op == "allreduce") << cell.skip;
    ++compressed;
  }
  EXPECT_EQ(compressed, 4u);
}

// A list that cannot be had of a size or an operation is skipped with the reason among others.
TEST(BlockKinds, ArraysAreAnAxisAndOtherCellsKeepTheirIds) {
  const Vocabulary words = vocabulary();
  const auto planned = [&](const std::string& keys) {
    const auto scenario = parse_scenario(
        with_matrix(R"({"op": ["allreduce", "broadcast"], "bytes": [8, 256])" + keys + "}"),
        "test.json", words);
    EXPECT_TRUE(scenario) << all_lines(scenario.error());
    return make_plan(*scenario, {}, 1, {words, nullptr, 0}).value();
  };
  const auto name = [](const Cell& cell) { return cell.op + " " + std::to_string(cell.bytes); };
  std::map<std::string, std::string> ids;  // of cells without the key
  for (const PlanCell& cell : planned("").cells) ids[name(cell.cell)] = cell.id;
  std::map<std::string, std::string> skipped;
  for (const PlanCell& cell : planned(R"(, "arrays": [1, 64])").cells) {
    if (row(cell.cell.kind).timing == CellTiming::kBarePath) continue;
    if (cell.cell.arrays == 1) {
      EXPECT_EQ(cell.id, ids[name(cell.cell)]);
      EXPECT_EQ(canonical_json(cell.cell).find("arrays"), std::string::npos);
      EXPECT_EQ(cell.skip, "");
      continue;
    }
    EXPECT_EQ(cell.cell.arrays, 64);
    EXPECT_NE(cell.id, ids[name(cell.cell)]);
    skipped[name(cell.cell)] = cell.skip;
  }
  ASSERT_EQ(skipped.size(), 4u);
  EXPECT_EQ(skipped["allreduce 256"], "");
  EXPECT_THAT(skipped["allreduce 8"], testing::HasSubstr("need 256 bytes or more, not 8"));
  EXPECT_THAT(skipped["broadcast 256"], testing::HasSubstr("not by broadcast"));
}

// Sizes are those of one group; ranks that make no such groups are skipped among others.
TEST(BlockKinds, GroupsAreAnAxisAndOtherCellsKeepTheirIds) {
  const Vocabulary words = vocabulary();
  const auto planned = [&](const std::string& keys) {
    const auto scenario =
        parse_scenario(with_matrix(R"({"op": ["alltoall", "broadcast"], "bytes": 64, "root": "all",
                        "ranks": [2, 4])" +
                                   keys + "}"),
                       "test.json", words);
    EXPECT_TRUE(scenario) << all_lines(scenario.error());
    return make_plan(*scenario, {}, 1, {words, nullptr, 0}).value();
  };
  const auto name = [](const Cell& cell) {
    return cell.op + std::to_string(cell.ranks) + "/" + std::to_string(cell.root);
  };
  std::map<std::string, std::string> ids;  // of cells without the key
  for (const PlanCell& cell : planned("").cells) ids[name(cell.cell)] = cell.id;
  size_t count = 0;
  for (const PlanCell& cell : planned(R"(, "split": ["none", "mod:2"])").cells) {
    if (row(cell.cell.kind).timing == CellTiming::kBarePath) continue;
    if (cell.cell.split.empty()) {
      EXPECT_EQ(cell.id, ids[name(cell.cell)]);
      EXPECT_EQ(canonical_json(cell.cell).find("split"), std::string::npos);
      continue;
    }
    EXPECT_EQ(cell.cell.split, "mod:2");
    if (cell.cell.ranks == 2) {
      EXPECT_THAT(cell.skip, testing::HasSubstr("use none, or other numbers of ranks"));
      continue;
    }
    EXPECT_EQ(cell.skip, "");
    EXPECT_EQ(cell.cell.count, cell.cell.op == "alltoall" ? 8U : 16U);
    EXPECT_LT(cell.cell.root, 2);
    ++count;
  }
  EXPECT_EQ(count, 3U) << "an alltoall, and a broadcast from each rank of a group";
}

// So is an average of truth values; operations that do not reduce take them as they are.
TEST(BlockKinds, AnAverageOfBoolIsSkippedAmongOthers) {
  const Vocabulary words = vocabulary();
  const auto scenario = parse_scenario(
      with_matrix(R"({"op": ["reduce", "broadcast"], "bytes": 8, "dtype": ["bool", "u8"],
                      "redop": ["sum", "avg"]})"),
      "test.json", words);
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  const auto plan = make_plan(*scenario, {}, 1, {words, nullptr, 0});
  ASSERT_TRUE(plan);
  std::map<std::string, std::string> skipped;
  for (const PlanCell& planned : plan->cells) {
    const Cell& cell = planned.cell;
    if (row(cell.kind).timing == CellTiming::kBarePath) continue;
    skipped[cell.op + " " + cell.dtype + " " + cell.redop] = planned.skip.substr(0, 25);
  }
  const std::map<std::string, std::string> wanted = {
      {"reduce bool sum", ""},     {"reduce bool avg", "avg of bool means nothing"},
      {"reduce u8 sum", ""},       {"reduce u8 avg", ""},
      {"broadcast bool none", ""}, {"broadcast u8 none", ""}};
  EXPECT_EQ(skipped, wanted);
  const auto alone = parse_scenario(
      with_matrix(R"({"op": "broadcast", "bytes": 8, "dtype": "bool", "redop": "avg"})"),
      "test.json", words);
  EXPECT_TRUE(alone) << all_lines(alone.error());
}

// The block was judged as if it had asked for one at a time, and every cell was skipped.
TEST(BlockKinds, SeveralOutstandingThatAnEngineCannotDoAreRefusedAlone) {
  Vocabulary words = vocabulary();
  words.engine_unsupported = [](const Cell& cell) {
    return cell.outstanding > 1 ? std::string("one at a time") : std::string();
  };
  const auto lines = [&](const std::string& outstanding) {
    const auto scenario =
        parse_scenario(with_matrix(R"({"kind": "throughput", "op": "allreduce", "bytes": 8,
                                       "outstanding": )" +
                                   outstanding + "}"),
                       "test.json", words);
    return scenario ? std::string() : all_lines(scenario.error());
  };
  EXPECT_THAT(lines("4"), testing::HasSubstr("one at a time"));
  EXPECT_EQ(lines("1"), "");
  EXPECT_EQ(lines("[1, 4]"), "");
}

}  // namespace
}  // namespace plumbline::scenario_test
