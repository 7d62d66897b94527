// Hosts: places, lists of our own form, host files.
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

constexpr const char* kList = R"([
  {"name": "a", "netns": "lab-a", "data": ["10.0.0.1/24", "fd00::1/64"], "interface": "eth0",
   "speed": "2.5Gbit", "ranks": 3},
  {"name": "b", "netns": "lab-b", "data": "10.0.0.2"}])";

TEST(ScenarioHosts, OwnList) {
  const Scenario s = parse(R"({"plumbline": 1, "probes": ["ip"], "hosts": )" + std::string(kList) +
                           R"(, "launch": {"ranks_per_host": 2}})");
  ASSERT_EQ(s.hosts.size(), 2u);
  EXPECT_EQ(s.hosts[0].netns, "lab-a");
  EXPECT_EQ(s.hosts[0].data, (std::vector<std::string>{"10.0.0.1/24", "fd00::1/64"}));
  EXPECT_EQ(s.hosts[0].interface, "eth0");
  EXPECT_EQ(s.hosts[0].speed, "2.5Gbit");
  EXPECT_EQ(s.hosts[0].ranks, 3);
  EXPECT_EQ(s.hosts[1].ranks, 2);
  EXPECT_EQ(places(s.hosts), 5);
  EXPECT_FALSE(all_local(s.hosts));
}

TEST(ScenarioHosts, Speeds) {
  const auto accepted = [](const std::string& speed) {
    return parse_scenario(R"({"plumbline": 1, "probes": ["ip"],
        "hosts": [{"name": "a", "netns": "a", "speed": ")" +
                              speed + "\"}]}",
                          "x.json", vocabulary())
        .has_value();
  };
  for (const char* good : {"40Gbit", "2.5Gbit", "100Mbit", "1Tbit", "0.5Gbit"}) {
    EXPECT_TRUE(accepted(good)) << good;
  }
  for (const char* bad : {"40", "Gbit", "0Gbit", "0.0Gbit", "-1Gbit", "1.Gbit", ".5Gbit", "1e3Gbit",
                          "40 Gbit", "40GB", "1.2.3Gbit", "nanGbit"}) {
    EXPECT_FALSE(accepted(bad)) << bad;
  }
}

TEST(ScenarioHosts, ThisMachineMayBeOversubscribed) {
  const Scenario s = parse(with_matrix(R"({"op": "barrier", "ranks": 64})"));
  EXPECT_TRUE(all_local(s.hosts));
  const Plan plan = plan_of(s);
  EXPECT_EQ(plan.cells.back().cell.ranks, 64);
  EXPECT_TRUE(plan.cells.back().skip.empty());
}

TEST(ScenarioHosts, PlanRefusesHostsThatHaveTooFewPlaces) {
  Scenario s = parse(with_matrix(R"({"op": "barrier", "ranks": 4})"));
  s.hosts = parse(R"({"plumbline": 1, "probes": ["ip"], "hosts": )" + std::string(kList) + "}")
                .hosts;  // as --hosts would: 3 + 1 places
  EXPECT_TRUE(make_plan(s, {}, 1, context()));
  s.hosts.pop_back();
  const auto plan = make_plan(s, {}, 1, context());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("4 ranks, but the hosts have places for 3"),
            std::string::npos)
      << plan.error().message();
}

TEST(ScenarioHosts, HostFiles) {
  const TempFolder folder;
  const auto own = load_hosts(folder.write("own.json", R"({"hosts": )" + std::string(kList) + "}"));
  ASSERT_TRUE(own) << all_lines(own.error());
  EXPECT_EQ(own->size(), 2u);
  EXPECT_EQ(own->at(1).ranks, 1);
  const auto local = load_hosts(folder.write("local.json", R"({"local": 3})"));
  ASSERT_TRUE(local) << all_lines(local.error());
  EXPECT_EQ(local->size(), 3u);
  const auto scenario = load_hosts(folder.write(
      "s.json", R"({"plumbline": 1, "probes": ["nobody knows"], "hosts": {"local": 4}})"));
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  EXPECT_EQ(scenario->size(), 4u);
}

TEST(ScenarioHosts, TheCoordinatorOfTheirHostFile) {
  const TempFolder folder;
  folder.write("own.json", R"({"coordinator": "10.9.0.1", "hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24"},
      {"name": "b", "ssh": "b", "data": "10.0.0.2/24"}]})");
  const auto named = load_scenario(
      folder.write("s.json",
                   R"({"plumbline": 1, "probes": ["ip"], "hosts": {"hostfile": "own.json"}})"),
      vocabulary());
  ASSERT_TRUE(named) << all_lines(named.error());
  EXPECT_EQ(named->coordinator, "10.9.0.1");
  EXPECT_EQ(named->hosts.size(), 2u);
  const auto local = load_scenario(
      folder.write("t.json", R"({"plumbline": 1, "probes": ["ip"], "hosts": {"local": 2}})"),
      vocabulary());
  ASSERT_TRUE(local) << all_lines(local.error());
  EXPECT_EQ(local->coordinator, "");
}

TEST(ScenarioHosts, BadHostFiles) {
  const TempFolder folder;
  const auto problem = [&](const std::string& text) {
    const auto hosts = load_hosts(folder.write("h.json", text));
    EXPECT_FALSE(hosts) << text;
    return hosts ? std::string() : all_lines(hosts.error());
  };
  EXPECT_NE(problem("").find("the file is empty"), std::string::npos);
  EXPECT_NE(problem("[]").find("neither a host file nor a scenario"), std::string::npos);
  EXPECT_NE(problem(R"([{"ssh": "a", "ips": ["1.2.3"], "rdma": []}])").find("not an IP address"),
            std::string::npos);
  EXPECT_NE(problem(R"({"hosts": [{"name": "a", "ssh": "me@a -v"}]})").find("no destination"),
            std::string::npos);
  EXPECT_NE(problem(R"({"hosts": [{"name": "a", "local": true, "key": "k"}]})").find("'ssh'"),
            std::string::npos);
  EXPECT_NE(problem(R"({"hosts": []})").find("an empty list"), std::string::npos);
  EXPECT_NE(problem(R"({"hosts": 3})").find("$.hosts"), std::string::npos);
  EXPECT_NE(problem(R"({"local": "two"})").find("$.local"), std::string::npos);
  EXPECT_NE(problem(R"({"hosts": [{"name": "a", "netns": "a", "data": "nonsense"}]})")
                .find("is not an IP address"),
            std::string::npos);
  const auto missing = load_hosts(folder.path("none.json"));
  ASSERT_FALSE(missing);
  EXPECT_NE(all_lines(missing.error()).find("ENOENT"), std::string::npos);
}

}  // namespace
}  // namespace plumbline::scenario_test
