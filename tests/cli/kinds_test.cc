// Every kind of cell, and every engine, of their tables is asked for by a scenario, run, and seen
// in the records, or nothing starts.
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "collectives/engine.h"
#include "core/record/record.h"
#include "scenarios/block_kinds.h"
#include "tests/support/endpoint_server.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class Kinds : public testing::Test {
 protected:
  Finished run(const std::string& blocks) {
    const std::string file = folder_.write(
        "s.json", R"({"plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"},
                      "matrix": [)" +
                      blocks + "]}");
    return run_program(
        plumbline_argv({"run", file, "--out", folder_.path("out"), "--no-history", "--quiet"}));
  }
  std::vector<Record> records() const {
    const auto all = read_records(folder_.path("out/records.jsonl"));
    EXPECT_TRUE(all) << (all ? "" : all.error().message());
    return all ? *all : std::vector<Record>();
  }

  ScratchFolder folder_;
};

TEST_F(Kinds, EveryKindOfTheTableIsAskedForRunAndSeenInTheRecords) {
  EndpointServer server({});
  std::string blocks;
  for (const BlockKindRow& row : block_kind_table()) {
    const CellKindRow& kind = plumbline::row(row.kind);
    blocks += blocks.empty() ? "" : ",";
    blocks += std::string(R"({"kind": ")") + kind.name + R"(", "bytes": 64, "op": ")" +
              (row.own_op == nullptr ? "allreduce" : row.own_op) + "\"";
    if (kind.has("time")) blocks += R"(, "time": "50ms")";
    if (kind.has("stop")) blocks += R"(, "stop": {"max_time": "50ms"})";
    if (kind.has("url")) blocks += R"(, "url": ")" + server.url() + "\"";
    if (kind.has("measure")) blocks += R"(, "measure": "latency")";
    blocks += "}";
  }
  const Finished done = run(blocks);
  ASSERT_EQ(done.status, 0) << done.err;
  std::set<std::string> seen;
  for (const Record& record : records()) {
    const CellKindRow& kind = row(record.cell.kind);
    seen.insert(kind.name);
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed)
        << kind.name << record.measurement.reason;
    EXPECT_EQ(record.time_ns.n > 0, kind.has_times()) << kind.name;
    EXPECT_EQ(record.measurement.links.empty(), kind.timing != CellTiming::kPairs) << kind.name;
    EXPECT_EQ(record.measurement.wrong.has_value(), kind.collective) << kind.name;
  }
  for (const CellKindRow& kind : cell_kind_table()) {
    EXPECT_EQ(seen.count(kind.name), 1u) << kind.name;  // roofs come beside
  }
}

TEST_F(Kinds, EveryEngineOfTheTableIsAskedForRunAndSeenInTheRecords) {
  std::string names;
  std::set<std::string> usable;
  for (const EngineRow& row : engine_table()) {
    if (!row.unavailable().empty()) continue;
    names += (names.empty() ? "\"" : ", \"") + std::string(row.name) + "\"";
    usable.insert(row.name);
  }
  const Finished done =
      run(R"({"kind": "check", "op": "allreduce", "bytes": 64, "engine": [)" + names + "]}");
  ASSERT_EQ(done.status, 0) << done.err;
  std::set<std::string> seen;
  for (const Record& record : records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << record.measurement.reason;
    seen.insert(record.cell.engine);
  }
  EXPECT_EQ(seen, usable);
}

TEST_F(Kinds, UnknownOnesAreRefusedWithTheNearestBeforeAnythingStarts) {
  for (const auto& [block, hint] :
       {std::pair(R"({"kind": "bandwith", "op": "allreduce", "bytes": 8})", "'bandwidth'"),
        std::pair(R"({"op": "allreduce", "bytes": 8, "engine": "natve"})", "'native'")}) {
    const Finished done = run(block);
    EXPECT_EQ(done.status, 1) << done.err;
    EXPECT_THAT(done.err, HasSubstr(hint));
    EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  }
}

}  // namespace
}  // namespace plumbline
