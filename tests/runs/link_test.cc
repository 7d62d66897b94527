// Link cells over real rank processes on loopback.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "core/clock.h"
#include "core/record/record.h"
#include "runs/ranks/link_pairs.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

std::string scenario(const std::string& hosts, const std::string& block) {
  return R"({"plumbline": 1, "question": "Which link?", "hosts": )" + hosts +
         R"(, "probes": [], "launch": {"port_base": "auto"},
  "config": {"watchdog_timeout_ms": 10000}, "matrix": [)" +
         block + R"(], "report": ["console", "links", "markdown", "csv"], "seed": 7})";
}

struct LinkRun {
  Finished finished;
  std::vector<Record> records;
};

LinkRun run_links(const ScratchFolder& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"run", folder.path("scenario.json"), "--out",
                                        folder.path("out"), "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  LinkRun run{run_program(plumbline_argv(arguments)), {}};
  const auto records = read_records(folder.path("out/records.jsonl"));
  EXPECT_TRUE(records) << run.finished.err;
  if (records) run.records = *records;
  return run;
}

class LinkRunOf : public testing::TestWithParam<int> {};

TEST_P(LinkRunOf, RanksOnLoopback) {
  const int ranks = GetParam();
  const ScratchFolder folder;
  folder.write("scenario.json", scenario("{\"local\": " + std::to_string(ranks) + "}",
                                         R"({"op": "link", "time": "40ms", "rate": "5Mbit"})"));
  const LinkRun run = run_links(folder);
  ASSERT_EQ(run.records.size(), 8u) << run.finished.err;
  for (const Record& record : run.records) {
    if (ranks == 1) {
      EXPECT_EQ(record.measurement.outcome, Outcome::kSkipped);
      continue;
    }
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << record.measurement.reason;
    EXPECT_EQ(record.measurement.links.size(), static_cast<size_t>(ranks * (ranks - 1)));
  }
  EXPECT_EQ(run.finished.status, ranks == 1 ? 2 : 0) << run.finished.out << run.finished.err;
  if (ranks == 1) return;
  EXPECT_NE(run.finished.out.find("Links: " + std::to_string(ranks) + " ranks, tcp"),
            std::string::npos)
      << run.finished.out;
  for (const char* name : {"links/links.md", "links/topology.svg", "links/topology.dot"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path(std::string("out/") + name))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LinkRunOf, testing::Values(1, 2, 3, 4));

// Two ranks on each of two hosts: only pairs of different hosts are links.
TEST(LinkRun, RanksOfOneHostAreNoLink) {
  const ScratchFolder folder;
  folder.write("scenario.json",
               scenario(R"([{"name": "a", "local": true, "data": "127.0.0.1/8", "ranks": 2},
                            {"name": "b", "local": true, "data": "127.0.0.1/8", "ranks": 1}])",
                        R"({"op": "link", "measure": "stream", "time": "30ms"})"));
  const LinkRun run = run_links(folder);
  ASSERT_EQ(run.records.size(), 1u) << run.finished.err;
  size_t skipped = 0;
  for (const LinkResult& link : run.records[0].measurement.links) {
    skipped += link.skipped.empty() ? 0 : 1;
    EXPECT_EQ(link.skipped.empty(), link.from_host != link.to_host);
  }
  EXPECT_EQ(skipped, 2u);
}

TEST(LinkRun, HostsOptionReplacesTheScenariosHosts) {
  const ScratchFolder folder;
  folder.write("scenario.json", scenario(R"({"local": 2})",
                                         R"({"op": "link", "measure": "stream", "time": "30ms"})"));
  folder.write("hosts.json", R"({"hosts": [
    {"name": "x", "local": true, "data": "127.0.0.1/8", "group": ["left", "middle"], "speed": "10Gbit"},
    {"name": "y", "local": true, "data": "127.0.0.1/8", "group": "left", "speed": "1Gbit"},
    {"name": "z", "local": true, "data": "127.0.0.1/8", "group": "middle"}]})");
  const LinkRun run = run_links(folder, {"--hosts", folder.path("hosts.json")});
  ASSERT_EQ(run.records.size(), 1u) << run.finished.err;
  const auto& links = run.records[0].measurement.links;
  ASSERT_EQ(links.size(), 6u);
  for (const LinkResult& link : links) {
    const bool leaves = link.from_host != "x" && link.to_host != "x";
    EXPECT_EQ(link.skipped.empty(), !leaves);
    // The slower end's, where both state one.
    if (!leaves) {
      EXPECT_EQ(link.speed_bps, link.from_host == "y" || link.to_host == "y" ? 1e9 : 1e10);
    }
  }
  EXPECT_NE(run.finished.out.find("Topology: star"), std::string::npos) << run.finished.out;
  EXPECT_NE(run.finished.out.find("share no group"), std::string::npos);
}

TEST(LinkRun, MissingHostsFileIsAUsageError) {
  const ScratchFolder folder;
  folder.write("scenario.json", scenario(R"({"local": 2})", R"({"op": "link"})"));
  const Finished done =
      run_program(plumbline_argv({"run", folder.path("scenario.json"), "--hosts",
                                  folder.path("none.json"), "--out", folder.path("out")}));
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.err.find("none.json"), std::string::npos) << done.err;
}

// Killed in the middle of streams that last 12 s, six of 2 s: the cell names the rank, the next one
// runs.
TEST(LinkRun, KilledRankIsNamedAndTheRunGoesOn) {
  const ScratchFolder folder;
  folder.write("scenario.json", scenario(R"({"local": 3})",
                                         R"({"op": "link", "measure": "stream", "time": "2s"},
                           {"op": "link", "measure": "latency", "time": "20ms"})"));
  Program program(
      plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("out")}));
  ASSERT_TRUE(program.wait_for_children(3)) << program.err();
  const std::vector<pid_t> ranks = program.children();
  // The order is drawn: the short cell may come first, and the ranks have to connect before.
  usleep(5'000'000);
  kill(program.children().at(1), SIGKILL);
  EXPECT_EQ(program.wait(60'000), 2) << program.err();
  EXPECT_TRUE(all_gone(ranks, 3000)) << "a rank was left behind";
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2u);
  for (const Record& record : *records) {
    const Measurement& m = record.measurement;
    if (record.cell.measure == "latency") {
      EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
      continue;
    }
    EXPECT_EQ(m.outcome, Outcome::kError);
    EXPECT_EQ(m.cause, "rank.dead") << m.reason;
    EXPECT_NE(m.reason.find("rank 1"), std::string::npos) << m.reason;
  }
}

TEST(LinkPairs, GroupsDecideWhoTalks) {
  std::vector<ScenarioHost> hosts = local_hosts(3);
  hosts[0].group = {"left", "right"};
  hosts[1].group = {"left"};
  const std::vector<std::string> reasons = pair_reasons(hosts, {0, 1, 2, 1});
  ASSERT_EQ(reasons.size(), 16u);
  EXPECT_EQ(reasons[0 * 4 + 1], "");
  EXPECT_EQ(reasons[1 * 4 + 2], "");  // the third host names no group: it talks to all
  EXPECT_NE(reasons[1 * 4 + 3].find("both ranks are on local1"), std::string::npos);
  hosts[2].group = {"right"};
  const std::vector<std::string> apart = pair_reasons(hosts, {0, 1, 2});
  EXPECT_NE(apart[1 * 3 + 2].find("share no group"), std::string::npos);
  EXPECT_NE(apart[2 * 3 + 1], "");
}

TEST(LinkPairs, SpeedIsThatOfTheSlowerEnd) {
  std::vector<ScenarioHost> hosts = local_hosts(2);
  hosts[0].speed = "10Gbit";
  Nic nic;
  nic.addresses = {{"10.0.0.2", 24, false, false, false}};
  nic.speed_bps = 2'500'000'000;
  HostFacts facts;
  facts.nics = {nic};
  LinkResult link;
  link.from_host = "local0";
  link.to_host = "local1";
  link.local = "10.0.0.1";
  link.remote = "10.0.0.2";
  std::vector<LinkResult> links = {link};
  add_link_speeds(hosts, {{"local1", facts}}, links);
  EXPECT_EQ(links[0].speed_bps, 2.5e9);
  links[0].speed_bps.reset();
  hosts[0].speed.clear();
  facts.nics[0].speed_bps.reset();
  add_link_speeds(hosts, {{"local1", facts}}, links);
  EXPECT_FALSE(links[0].speed_bps);
}

TEST(LinkSpeed, IsThatOfTheSlowestLinkBetweenTheRanks) {
  std::vector<ScenarioHost> hosts(3);
  hosts[0].name = "a";
  hosts[0].speed = "40Gbit";
  hosts[1].name = "b";
  hosts[2].name = "c";
  HostFacts facts;  // of b: two interfaces, one of known speed
  Nic fast, unknown;
  fast.speed_bps = 10'000'000'000;
  fast.addresses = {{"10.0.0.2", 24}, {"fe80::2", 64, true, true}};
  unknown.addresses = {{"10.0.1.2", 24}};
  facts.nics = {fast, unknown};
  const std::map<std::string, HostFacts> by_host = {{"b", facts}};
  const std::vector<size_t> placement = {0, 1, 1, 2};
  const auto speed = [&](const std::vector<std::string>& pairs) {
    return slowest_link_bps(hosts, placement, by_host, pairs).value_or(0);
  };
  EXPECT_EQ(speed({"0-1 10.0.0.1:4000>10.0.0.2:29601"}), 10e9);
  EXPECT_EQ(speed({"0-1 [fe80::1%eth0]:4000>[fe80::2%eth0]:29601"}), 10e9);
  EXPECT_EQ(speed({"0-1 10.0.1.1:4000>10.0.1.2:29601"}), 40e9) << "one end is known";
  EXPECT_EQ(speed({"0-1 10.0.1.1:4000>10.0.1.2:29601", "0-2 10.0.0.1:1>10.0.0.2:2"}), 10e9);
  EXPECT_EQ(speed({"1-2 10.0.0.2:1>10.0.0.2:2"}), 0) << "no link between ranks of one host";
  EXPECT_EQ(speed({"0-1 10.0.0.1:1>10.0.0.2:2", "1-2 10.0.0.2:1>10.0.0.2:2"}), 10e9);
  EXPECT_EQ(speed({"0-1 10.0.0.1:1>10.0.0.2:2", "2-3 10.0.1.2:1>10.0.1.3:2"}), 0) << "one unknown";
  EXPECT_EQ(speed({}), 0);
  // Two cables carry the sum; two streams on one cable do not.
  EXPECT_EQ(speed({"0-1 10.0.0.1:1>10.0.0.2:2", "0-1 10.0.1.1:3>10.0.1.2:4"}), 50e9);
  EXPECT_EQ(speed({"0-1 10.0.0.1:1>10.0.0.2:2", "0-1 10.0.0.1:3>10.0.0.2:4"}), 10e9);
  for (const char* bad : {"", "0-1", "0-9 10.0.0.1:1>10.0.0.2:2", "x>y z", "-1-0 a:1>b:2"}) {
    EXPECT_EQ(speed({bad}), 0) << bad;
  }
}

}  // namespace
}  // namespace plumbline
