// Sizes beyond memory are refused with the cell, the need and what is there, before anything
// starts.
#include "runs/hosts/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/cell_run.h"
#include "core/json.h"
#include "runs/hosts/agent_set.h"
#include "tests/support/agents.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGi = uint64_t{1} << 30;

Cell cell_of(uint64_t bytes, int ranks = 2) {
  Cell cell;
  cell.kind = CellKind::kBandwidth;
  cell.op = "allreduce";
  cell.algorithm = "ring";
  cell.dtype = "f32";
  cell.redop = "sum";
  cell.ranks = ranks;
  cell.bytes = bytes;
  cell.count = bytes / 4;
  return cell;
}

uint64_t need(const Cell& cell, const char* verify = "sampled", bool verified = true) {
  const OptionSet options = *OptionSet().with("verify", verify, "test");
  const Expected<uint64_t> bytes = memory_of_operations(cell, verified, options);
  EXPECT_TRUE(bytes);
  return bytes.value_or(0);
}

TEST(MemoryCheck, TheNeedHoldsArraysCopiesAndScratch) {
  Cell cell = cell_of(kGi);
  const uint64_t out = need(cell);
  EXPECT_GE(out, 2 * kGi) << "input and output";
  EXPECT_LT(out, 4 * kGi);
  cell.placement = "in";
  EXPECT_LT(need(cell), out);
  // Back to back, verified operations have arrays of their own; all of them need more.
  cell.placement = "out";
  cell.sync = "none";
  EXPECT_GE(need(cell), out + 2 * kGi);
  EXPECT_GE(need(cell, "every"), need(cell) + 2 * kGi);
  EXPECT_EQ(need(cell, "every", false), out);
  EXPECT_EQ(need(cell), need(cell, "last")) << "large ones take as few as can be";
  Cell small = cell_of(64 << 10);
  small.sync = "none";
  EXPECT_GE(need(small), need(small, "last") + 2 * 64 * small.bytes) << "drawn operations";
  small.bytes = 8;
  EXPECT_GE(need(small), need(small, "last") + 256 * 2 * 4096) << "in pages of their own";
  // Each operation in flight has its own.
  cell.kind = CellKind::kThroughput;
  cell.outstanding = 8;
  EXPECT_GE(need(cell), 16 * 2 * kGi);
  // All arrays to rank 0.
  cell = cell_of(kGi, 8);
  cell.algorithm = "gather_reduce";
  EXPECT_GE(need(cell), 9 * kGi);
  // Nothing overflows, whatever is asked for.
  EXPECT_GT(need(cell_of(uint64_t{1} << 62, 8)), uint64_t{1} << 62);
}

// S of a list is that of all its arrays, S of groups by colour that of each rank's own group.
TEST(MemoryCheck, TheNeedOfListsAndGroupsIsThatOfWhatRuns) {
  Cell groups = cell_of(kGi, 8);
  groups.algorithm = "gather_reduce";
  groups.split = "div:2";
  Cell pair = cell_of(kGi, 2);
  pair.algorithm = "gather_reduce";
  EXPECT_EQ(need(groups), need(pair));
  Cell list = cell_of(kGi, 64);
  const uint64_t one = need(list);
  list.arrays = 4;
  EXPECT_LT(need(list), one + one / 100);
  // 250 steps for each of 8192 rings, which are all prepared at once.
  list.arrays = 8192;
  EXPECT_GT(need(list), one + 8192 * uint64_t{250} * 200);
  EXPECT_LT(need(list), 2 * one);
}

PlanCell planned(const Cell& cell) {
  PlanCell out;
  out.cell = cell;
  return out;
}

struct TwoHosts {
  explicit TwoHosts(uint64_t first, uint64_t second, const char* other_machine = "m2") {
    hosts = local_hosts(2);
    facts["local0"].memory_available_bytes = first;
    facts["local0"].boot_id = "m1";
    facts["local1"].memory_available_bytes = second;
    facts["local1"].boot_id = other_machine;
  }
  std::string problem(const Cell& cell, std::vector<size_t> placement) const {
    const Status fits =
        fits_memory(planned(cell), OptionSet(), {&hosts, std::move(placement), &facts});
    return fits ? "" : fits.error().message();
  }
  std::vector<ScenarioHost> hosts;
  std::map<std::string, HostFacts> facts;
};

TEST(MemoryCheck, EachHostMustHaveWhatItsRanksNeed) {
  const TwoHosts enough(8 * kGi, 3 * kGi);
  EXPECT_EQ(enough.problem(cell_of(kGi), {0, 1}), "");
  EXPECT_THAT(enough.problem(cell_of(kGi), {1, 1}), HasSubstr("2 of them are on local1"));
  const std::string said = enough.problem(cell_of(512 * kGi), {0, 1});
  for (const char* word : {"bandwidth allreduce f32 of 512 GiB", "a rank needs 1", "8 GiB",
                           "on local0", "coll: -e", "--skip", "--ranks"}) {
    EXPECT_THAT(said, HasSubstr(word));
  }
  // A host that has not said what it has is not judged.
  EXPECT_EQ(TwoHosts(0, 0).problem(cell_of(512 * kGi), {0, 1}), "");
}

// `auto` of ranks with a cable for each pair takes what needs more memory than a ring.
TEST(MemoryCheck, WhatAutoTakesOverOwnCablesCounts) {
  Cell cell = cell_of(kGi, 3);
  cell.op = "reduce_scatter";
  const uint64_t ring = need(cell);
  cell.algorithm = "direct";
  const uint64_t direct = need(cell);
  ASSERT_LT(ring, direct);
  cell.algorithm = "auto";

  std::vector<ScenarioHost> hosts = local_hosts(3);
  std::map<std::string, HostFacts> facts;
  for (const ScenarioHost& host : hosts) {
    facts[host.name].memory_available_bytes = (ring + direct) / 2;
    facts[host.name].boot_id = host.name;
  }
  const auto fits = [&] {
    return fits_memory(planned(cell), OptionSet(), {&hosts, {0, 1, 2}, &facts});
  };
  EXPECT_TRUE(fits());
  hosts[0].data = {"10.0.0.1/30", "10.0.0.5/30"};
  hosts[1].data = {"10.0.0.2/30", "10.0.0.9/30"};
  hosts[2].data = {"10.0.0.6/30", "10.0.0.10/30"};
  const Status direct_does_not = fits();
  ASSERT_FALSE(direct_does_not);
  EXPECT_THAT(direct_does_not.error().message(), HasSubstr("does not fit into memory"));
}

// Two cells of a plan may differ in nothing else.
TEST(MemoryCheck, ListsAndGroupsAreNamed) {
  const TwoHosts small(kGi, kGi);
  Cell cell = cell_of(kGi);
  EXPECT_THAT(small.problem(cell, {0, 1}), HasSubstr("allreduce f32 of 1 GiB, 2 ranks does not"));
  cell = cell_of(kGi, 4);
  cell.arrays = 64;
  cell.split = "mod:2";
  cell.placement = "in";
  EXPECT_THAT(small.problem(cell, {0, 0, 1, 1}),
              HasSubstr("allreduce f32 of 1 GiB (64 arrays together) in place, 4 ranks in groups "
                        "mod:2 does not fit"));
}

TEST(MemoryCheck, NamespacesOfOneMachineShareItsMemory) {
  EXPECT_EQ(TwoHosts(4 * kGi, 4 * kGi).problem(cell_of(kGi), {0, 1}), "");
  const std::string said = TwoHosts(4 * kGi, 4 * kGi, "m1").problem(cell_of(kGi), {0, 1});
  EXPECT_THAT(said, HasSubstr("2 of them are on the machine of local0"));
}

TEST(MemoryCheck, AHostsControlGroupMayLeaveLessThanItsMachineHas) {
  const TwoHosts boxes(64 * kGi, kGi, "m1");
  EXPECT_THAT(boxes.problem(cell_of(kGi), {0, 1}), HasSubstr("on local1"));
}

nlohmann::json tells(const nlohmann::json& bytes, const nlohmann::json& machine) {
  nlohmann::json reply = nlohmann::json::object();
  reply["available_bytes"] = bytes;
  reply["machine"] = machine;
  return reply;
}

// Machines that are reached by agents only.
class FarHosts {
 public:
  using Replies = std::vector<nlohmann::json>;
  explicit FarHosts(const Replies& replies)
      : hosts_(hosts_of(replies)), agents_(hosts_, Reach{}, OptionSet()) {
    for (size_t i = 0; i < replies.size(); ++i) {
      AgentStart start;
      start.agent = make_in_process_agent(
          hosts_[i].name, {{"memory", "", [reply = replies[i]](const auto&, const auto&) {
                              return Expected<nlohmann::json>(reply);
                            }}});
      agents_.put(i, std::move(start));
    }
  }
  HostMemory memory() const { return agents_.memory(); }
  std::string problem(const std::vector<Cell>& cells, bool listed = false) const {
    Plan plan;
    plan.listed = listed;
    for (const Cell& cell : cells) plan.cells.push_back(planned(cell));
    const Status fits = fits_memory(plan, OptionSet(), hosts_, memory());
    return fits ? "" : fits.error().message();
  }

 private:
  static std::vector<ScenarioHost> hosts_of(const Replies& replies) {
    std::vector<ScenarioHost> hosts(replies.size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      hosts[i].name = "node" + std::to_string(i);
      hosts[i].ranks = 2;
    }
    return hosts;
  }
  std::vector<ScenarioHost> hosts_;
  AgentSet agents_;
};

TEST(MemoryCheck, AgentsTellOfTheirHostsBeforeRanksStart) {
  const FarHosts hosts(FarHosts::Replies{tells(64 * kGi, "m0"), tells(3 * kGi, "m1")});
  EXPECT_EQ(hosts.problem({cell_of(kGi, 3)}), "") << "one rank on node1";
  const std::string said = hosts.problem({cell_of(4 * kGi, 4), cell_of(kGi, 4), cell_of(64, 4)});
  for (const char* word : {"allreduce f32 of 1 GiB", "2 of them are on node1",
                           "3 GiB are available there", "1 more cell", "coll: -e"}) {
    EXPECT_THAT(said, HasSubstr(word));
  }
}

// Whoever lists cells hears of the largest, in the order of the list.
TEST(MemoryCheck, OfAListTheLargestOfEachTypeAreAsked) {
  const FarHosts hosts(FarHosts::Replies{tells(64 * kGi, "m0"), tells(3 * kGi, "m1")});
  Cell bytes = cell_of(64, 4);
  bytes.dtype = "u8";
  const std::string said =
      hosts.problem({bytes, cell_of(kGi, 4), cell_of(4 * kGi, 4), cell_of(4 * kGi, 4)}, true);
  EXPECT_THAT(said, HasSubstr("allreduce f32 of 4 GiB"));
  EXPECT_THAT(said, testing::Not(HasSubstr("more cell")));
}

TEST(MemoryCheck, AHostThatDoesNotTellOrTellsNonsenseIsNotRefused) {
  const auto object = nlohmann::json::object();
  const FarHosts::Replies odd = {object,
                                 nlohmann::json::array({1, 2}),
                                 nlohmann::json("none"),
                                 nlohmann::json(nullptr),
                                 tells(-1, ""),
                                 tells(1e300, ""),
                                 tells("1", ""),
                                 tells(1, 7),
                                 tells(0, "m")};
  for (const nlohmann::json& reply : odd) {
    const FarHosts hosts(FarHosts::Replies{reply});
    EXPECT_EQ(hosts.problem({cell_of(512 * kGi)}), "") << reply;
  }
  // The others are judged all the same.
  const FarHosts hosts(FarHosts::Replies{object, tells(kGi, "m1")});
  EXPECT_EQ(hosts.memory().size(), 1u);
  EXPECT_THAT(hosts.problem({cell_of(512 * kGi, 4)}), HasSubstr("on node1"));
}

constexpr const char* kHuge = R"({
  "plumbline": 1, "question": "Too large?", "hosts": {"local": 2}, "probes": [], "roofs": false,
  "launch": {"port_base": "auto"},
  "matrix": [{"kind": "bandwidth", "op": "allreduce", "bytes": ["4Ki", "512Gi", "1Ti"]}],
  "report": ["console"]
})";

TEST(MemoryCheck, PlanAndRunSayItBeforeAnythingStarts) {
  const ScratchFolder folder;
  const std::string file = folder.write("huge.json", kHuge);
  for (const std::vector<std::string>& call : {std::vector<std::string>{"plan", file},
                                               {"run", file, "--out", folder.path("out")},
                                               {"run", file, "--dry-run"}}) {
    const Finished done = run_program(plumbline_argv(call));
    EXPECT_EQ(done.status, 1) << call.front() << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr("512 GiB"));
    EXPECT_THAT(done.err, HasSubstr("does not fit into memory"));
    EXPECT_THAT(done.err, HasSubstr("the same holds for 1 more cell"));
  }
  EXPECT_EQ(read_file(folder.path("out/records.jsonl")), "");
  const Finished rest = run_program(plumbline_argv({"plan", file, "--skip", "bytes>1Gi"}));
  EXPECT_EQ(rest.status, 0) << rest.err;
}

}  // namespace
}  // namespace plumbline
