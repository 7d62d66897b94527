// What a right scenario means.
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

TEST(ScenarioRead, Defaults) {
  const Scenario s = parse(R"({"plumbline": 1, "matrix": [{"op": "allreduce", "bytes": 8}]})");
  EXPECT_EQ(s.file, "test.json");
  EXPECT_EQ(s.name, "test");
  ASSERT_EQ(s.hosts.size(), 2u);
  EXPECT_EQ(s.hosts[0].name, "local0");
  EXPECT_TRUE(s.hosts[0].local);
  EXPECT_EQ(s.hosts[0].data, std::vector<std::string>{"127.0.0.1/8"});
  EXPECT_EQ(s.report, std::vector<std::string>{"console"});
  EXPECT_FALSE(s.seed.has_value());
  EXPECT_TRUE(s.roofs);
  ASSERT_EQ(s.matrix.size(), 1u);
  const MatrixBlock& b = s.matrix[0];
  EXPECT_EQ(b.kind, CellKind::kLatency);
  EXPECT_EQ(b.dtype, std::vector<std::string>{"f32"});
  EXPECT_EQ(b.root, std::vector<int>{0});
  EXPECT_TRUE(b.ranks.empty());
  EXPECT_EQ(b.stop.min_n, 30u);
  EXPECT_EQ(b.path, "$.matrix[0]");
}

TEST(ScenarioRead, EveryKey) {
  const Scenario s = parse(R"({
    "plumbline": 1, // comments are fine
    "question": "why?",
    "hosts": {"local": 3},
    "launch": {"ranks_per_host": 2, "port_base": "auto", "master_port": 29400},
    "config": {"chunk_bytes": 1e6, "fast_math": true, "mesh": "lazy"},
    "probes": ["ip", {"probe": "tcp.connect", "ports": [1, "2-3"], "timeout_ms": 5}],
    "matrix": [{"kind": "throughput", "op": ["allreduce", "broadcast"],
                "bytes": ["64Ki", 1e6, 7], "dtype": ["f64", "u8"], "redop": ["max", "avg"],
                "algorithm": ["auto", "ring"], "transport": "tcp", "ranks": {"from": 2, "to": 4},
                "root": [1, 0], "placement": "both", "sync": ["none", "barrier"],
                "outstanding": [1, 8], "repeat": 3, "time": "1.5s",
                "config": {"spin_us": 10}},
               /* and so are these */
               {"op": "reduce", "bytes": {"from": 8, "to": 100, "step": 40}, "root": "all",
                "stop": {"ci": 0.1, "min_n": 5, "max_n": 50, "max_time": "20ms"}}],
    "report": "csv", "seed": 99, "roofs": false})");
  EXPECT_EQ(s.question, "why?");
  EXPECT_EQ(places(s.hosts), 6);
  EXPECT_EQ(s.ranks_per_host, 2);
  EXPECT_EQ(s.config.at("port_base"), "auto");
  EXPECT_EQ(s.config.at("master_port"), "29400");
  EXPECT_EQ(s.config.at("chunk_bytes"), "1000000");
  EXPECT_EQ(s.config.at("fast_math"), "on");
  ASSERT_EQ(s.probes.size(), 2u);
  EXPECT_EQ(s.probes[1].probe, "tcp.connect");
  EXPECT_EQ(s.probes[1].params.at("ports"), "1,2-3");
  EXPECT_EQ(s.probes[1].params.at("timeout_ms"), "5");
  const MatrixBlock& a = s.matrix.at(0);
  EXPECT_EQ(a.bytes, (std::vector<uint64_t>{65536, 1'000'000, 7}));
  EXPECT_EQ(a.ranks, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(a.root, (std::vector<int>{1, 0}));
  EXPECT_EQ(a.placement, (std::vector<std::string>{"out", "in"}));
  EXPECT_EQ(a.outstanding, (std::vector<int>{1, 8}));
  EXPECT_EQ(a.repeat, 3);
  EXPECT_EQ(a.throughput_time_ns, 1'500'000'000);
  EXPECT_EQ(a.params.at("spin_us"), "10");
  const MatrixBlock& b = s.matrix.at(1);
  EXPECT_EQ(b.bytes, (std::vector<uint64_t>{8, 48, 88}));
  EXPECT_EQ(b.root, std::vector<int>{kEveryRoot});
  EXPECT_EQ(b.stop.max_time_ns, 20'000'000);
  EXPECT_EQ(b.stop.max_n, 50u);
  EXPECT_EQ(s.report, std::vector<std::string>{"csv"});
  EXPECT_EQ(s.seed, 99u);
  EXPECT_FALSE(s.roofs);
}

TEST(ScenarioRead, Ranges) {
  const auto sizes = [](const std::string& range) {
    return parse(with_matrix(R"({"op": "allreduce", "bytes": )" + range + "}")).matrix.at(0).bytes;
  };
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(sizes(R"({"from": 8, "to": 64})"), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(sizes(R"({"from": "8", "to": "256Mi", "factor": 1000})"), (Sizes{8, 8000, 8'000'000}));
  EXPECT_EQ(sizes(R"({"from": 8, "to": 8})"), (Sizes{8}));
  // A factor near 1 still moves on, and reaches the end.
  EXPECT_EQ(sizes(R"({"from": 1, "to": 4, "factor": 1.01})"), (Sizes{1, 2, 3, 4}));
  EXPECT_EQ(sizes(R"({"from": 10, "to": 40, "factor": 1.5})"), (Sizes{10, 15, 23, 35}));
  EXPECT_EQ(sizes(R"({"from": 0, "to": 10, "step": 5})"), (Sizes{0, 5, 10}));
  EXPECT_EQ(sizes(R"({"from": "1Ti", "to": "1Ti", "factor": 1000000})"), (Sizes{1ULL << 40}));
}

TEST(ScenarioRead, ProbesAloneAreEnough) {
  const Scenario s = parse(R"({"plumbline": 1, "probes": ["ip"], "matrix": []})");
  EXPECT_TRUE(s.matrix.empty());
  EXPECT_EQ(plan_of(s).cells.size(), 0u);
}

TEST(ScenarioRead, NamesAreOpenWhereTheVocabularyListsNone) {
  EXPECT_TRUE(parse_scenario(R"({"plumbline": 1, "probes": ["whatever"]})", "x.json", {}));
}

TEST(ScenarioRead, ByteOrderMarkIsAccepted) {
  EXPECT_TRUE(parse_scenario("\xef\xbb\xbf{\"plumbline\": 1, \"probes\": [\"ip\"]}", "x.json",
                             vocabulary()));
}

}  // namespace
}  // namespace plumbline::scenario_test
