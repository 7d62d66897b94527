// What counts as a change on a host, told in words; looked at through agents that may fail.
#include "probes/gather/host_watch.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/json.h"
#include "probes/actions/actions.h"
#include "probes/actions/host_state.h"
#include "probes/gather/host_watcher.h"
#include "probes/sources/macos_power.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Nic nic(const std::string& name) {
  Nic out;
  out.name = name;
  out.index = 3;
  out.up = out.carrier = true;
  out.mtu = 1500;
  out.speed_bps = 10'000'000'000;
  NicAddress address;
  address.ip = "10.0.0.1";
  address.prefix = 24;
  out.addresses = {address};
  return out;
}

WatchState state() {
  WatchState out;
  out.nics = {nic("en1"), nic("en2")};
  out.routes = {{"node2", "dev en1 src 10.0.0.1"}};
  out.carrier_changes = {{"en1", 2}, {"en2", 2}};
  out.counters = {{"if.en1.rx_errors", 0}, {"tcp.retransmitted", 100}};
  out.temperatures = {{"package", 50}};
  out.throttled = {{"core_throttle_count", 7}};
  out.cpu = {{"scaling_governor", "performance"}};
  return out;
}

// What is told when this becomes of state().
std::vector<std::string> told(const std::function<void(WatchState&)>& change) {
  HostHistory history;
  EXPECT_THAT(history.observe(state(), 1), IsEmpty());
  EXPECT_THAT(history.observe(state(), 1), IsEmpty());
  WatchState later = state();
  change(later);
  std::vector<std::string> out;
  for (const HostChange& each : history.observe(later, 1)) {
    out.push_back(each.kind + ": " + each.text);
  }
  EXPECT_THAT(history.observe(later, 1), IsEmpty()) << "told once";
  return out;
}

TEST(HostWatch, EveryKindOfChangeInWords) {
  EXPECT_THAT(told([](WatchState& s) { s.nics[0].speed_bps = 1'000'000'000; }),
              ElementsAre("link: en1 speed 10000 Mb/s -> 1000 Mb/s"));
  EXPECT_THAT(told([](WatchState& s) { s.nics[1].mtu = 9000; }),
              ElementsAre("link: en2 mtu 1500 -> 9000"));
  EXPECT_THAT(told([](WatchState& s) {
                s.nics[0].carrier = false;
                s.nics[0].speed_bps.reset();
                s.carrier_changes["en1"] = 3;
              }),
              ElementsAre("link: en1 lost its signal"));
  EXPECT_THAT(told([](WatchState& s) { s.nics[0].up = s.nics[0].carrier = false; }),
              ElementsAre("link: en1 was switched off"));
  EXPECT_THAT(told([](WatchState& s) { s.carrier_changes["en2"] = 4; }),
              ElementsAre("link: en2 lost and regained its signal (2 changes)"));
  EXPECT_THAT(told([](WatchState& s) { s.nics[0].master = "bond0"; }),
              ElementsAre("link: en1 became a port of bond0"));
  EXPECT_THAT(told([](WatchState& s) { s.nics[0].addresses.clear(); }),
              ElementsAre("address: en1 lost 10.0.0.1/24"));
  EXPECT_THAT(told([](WatchState& s) {
                s.nics.pop_back();
                s.nics.push_back(nic("en7"));
              }),
              ElementsAre("link: en2 is gone", "link: en7 appeared"));
  EXPECT_THAT(told([](WatchState& s) { s.routes["node2"] = "dev wlan0 via 192.168.0.1"; }),
              ElementsAre("route: route to node2: dev en1 src 10.0.0.1 -> dev wlan0 via "
                          "192.168.0.1"));
  EXPECT_THAT(told([](WatchState& s) { s.throttled["core_throttle_count"] = 9; }),
              ElementsAre("cpu: CPU throttled by heat: core_throttle_count +2"));
  EXPECT_THAT(told([](WatchState& s) { s.cpu["scaling_governor"] = "powersave"; }),
              ElementsAre("cpu: scaling_governor performance -> powersave"));
  EXPECT_THAT(told([](WatchState& s) { s.counters["if.en1.rx_errors"] = 3; }),
              ElementsAre("counter: if.en1.rx_errors +3 in this round"));
  EXPECT_THAT(told([](WatchState& s) { s.temperatures["package"] = 61; }),
              ElementsAre("temperature: package 50 -> 61 °C"));
  EXPECT_THAT(told([](WatchState& s) { s.temperatures["package"] = 58; }), IsEmpty());
  // What cannot be read any more is no change.
  EXPECT_THAT(told([](WatchState& s) {
                s.routes.clear();
                s.temperatures.clear();
                s.counters.clear();
                s.carrier_changes.clear();
              }),
              IsEmpty());
}

// As read_sensors() of macOS fills it in.
TEST(HostWatch, WhatAMacTellsOfItsPower) {
  HostHistory history;
  WatchState mac = state();
  mac.cpu = parse_pmset_therm(
      "Note: No thermal warning level has been recorded\n\tCPU_Speed_Limit \t= 100\n");
  mac.cpu["low_power_mode"] = "off";
  EXPECT_THAT(history.observe(mac, 1), IsEmpty());
  mac.cpu = parse_pmset_therm("Thermal Warning Level = 1\n\tCPU_Speed_Limit \t= 63\n");
  mac.cpu["low_power_mode"] = "on";
  std::vector<std::string> texts;
  for (const HostChange& each : history.observe(mac, 1)) {
    texts.push_back(each.kind + ": " + each.text);
  }
  EXPECT_THAT(texts,
              ElementsAre("cpu: low_power_mode off -> on", "cpu: speed_limit_percent 100 -> 63",
                          "cpu: thermal_warning none -> level 1"));
  // What pmset does not say once is no change.
  mac.cpu.clear();
  EXPECT_THAT(history.observe(mac, 1), IsEmpty());
}

TEST(HostWatch, SlowWarmingIsSeenToo) {
  HostHistory history;
  WatchState now = state();
  std::vector<std::string> texts;
  for (double degrees = 50; degrees <= 75; degrees += 1) {
    now.temperatures["package"] = degrees;
    for (const HostChange& change : history.observe(now, 1)) texts.push_back(change.text);
  }
  EXPECT_THAT(texts, ElementsAre("package 50 -> 60 °C", "package 60 -> 70 °C"));
}

TEST(HostWatch, CountersThatAlwaysGrowAreToldOnlyWhenTheyGrowMore) {
  HostHistory history;
  WatchState now = state();
  std::vector<std::string> texts;
  for (int64_t round = 1; round <= 20; ++round) {
    for (int look = 0; look < 4; ++look) {
      now.counters["tcp.retransmitted"] += round == 15 ? 50 : 5;  // 200 a round instead of 20
      for (const HostChange& change : history.observe(now, round)) {
        texts.push_back(std::to_string(round) + ": " + change.text);
      }
    }
  }
  EXPECT_THAT(texts, ElementsAre(HasSubstr("15: tcp.retransmitted +100 in this round (usually")));
}

TEST(HostWatch, CountersThatGoBackAreNoEvent) {
  EXPECT_THAT(told([](WatchState& s) { s.counters["tcp.retransmitted"] = 0; }), IsEmpty());
}

TEST(HostWatch, AStormIsCutShort) {
  HostHistory history;
  WatchState now = state();
  history.observe(now, 1);
  for (int i = 0; i < 200; ++i) now.nics.push_back(nic("veth" + std::to_string(i)));
  const std::vector<HostChange> changes = history.observe(now, 1);
  EXPECT_EQ(changes.size(), 21u);
  EXPECT_THAT(changes.back().text, HasSubstr("180 more changes"));
}

TEST(HostWatch, TheTableOfCounters) {
  EXPECT_NE(watched_counter("if.en1.rx_errors"), nullptr);
  EXPECT_NE(watched_counter("if.eth0.100.rx_errors"), nullptr);  // a VLAN
  EXPECT_EQ(watched_counter("if.en1.rx_bytes"), nullptr);
  EXPECT_EQ(watched_counter("rx_errors"), nullptr);
  for (const WatchCounterRow& row : watch_counter_table()) {
    EXPECT_GT(row.least, 0) << row.name;
    EXPECT_NE(std::string(row.reason), "") << row.name;
  }
}

// A folder that looks like /sys.
class FakeSys {
 public:
  FakeSys() {
    std::string pattern = (fs::temp_directory_path() / "plumbline-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~FakeSys() { fs::remove_all(root_); }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  WatchState read(WatchState out = {}) const {
    SensorMemory memory;
    read_sensors({nic("en1")}, out, root_.string(), memory);
    return out;
  }

 private:
  fs::path root_;
};

TEST(Sensors, WhatSysfsTells) {
#ifndef __linux__
  GTEST_SKIP() << "sysfs is Linux's";
#endif
  const FakeSys sys;
  sys.put("class/thermal/thermal_zone0/type", "x86_pkg_temp");
  sys.put("class/thermal/thermal_zone0/temp", "51000");
  sys.put("class/thermal/thermal_zone1/type", "broken");
  sys.put("class/thermal/thermal_zone1/temp", "-274000");
  sys.put("class/hwmon/hwmon0/name", "nvme");
  sys.put("class/hwmon/hwmon0/temp1_input", "38850");
  sys.put("class/hwmon/hwmon0/temp1_label", "Composite");
  sys.put("class/hwmon/hwmon0/temp2_input", "nonsense");
  sys.put("class/hwmon/hwmon0/temp1_crit", "80000");
  sys.put("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  sys.put("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4");
  sys.put("devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  sys.put("class/net/en1/ifindex", "3");
  sys.put("class/net/en1/carrier_changes", "12");
  const WatchState seen = sys.read();
  EXPECT_EQ(seen.temperatures, (std::map<std::string, double>{{"nvme Composite", 38.85},
                                                              {"x86_pkg_temp thermal_zone0", 51}}));
  EXPECT_EQ(seen.throttled, (std::map<std::string, int64_t>{{"core_throttle_count", 7}}));
  EXPECT_EQ(seen.cpu.at("scaling_governor"), "performance");
  EXPECT_EQ(seen.carrier_changes.at("en1"), 12);
  // What the kernel itself has told stands.
  WatchState told;
  told.carrier_changes["en1"] = 11;
  EXPECT_EQ(sys.read(told).carrier_changes.at("en1"), 11);
  // The interface of that name in another network namespace.
  sys.put("class/net/en1/ifindex", "99");
  EXPECT_THAT(sys.read().carrier_changes, IsEmpty());
}

TEST(Sensors, ASystemThatTellsNothing) {
  const WatchState seen = FakeSys().read();
  EXPECT_THAT(seen.temperatures, IsEmpty());
  EXPECT_THAT(seen.throttled, IsEmpty());
  EXPECT_THAT(seen.cpu, IsEmpty());
}

TEST(HostWatch, AnAgentTellsItsOwnHost) {
  AgentSession session;
  const auto agent = make_in_process_agent("h", session.requests());
  const Json params = {
      {"peers", {{{"name", "me"}, {"from_ip", "127.0.0.1"}, {"to_ip", "127.0.0.1"}}}}};
  const auto reply = call(*agent, "watch", params, Deadline::after_ms(5000));
  ASSERT_TRUE(reply) << reply.error().message();
  const auto seen = reply->get<WatchState>();
  EXPECT_FALSE(seen.nics.empty());
  EXPECT_THAT(seen.routes.at("me"), HasSubstr("lo"));
  EXPECT_GT(seen.memory_bytes.value_or(1), 0u);
  for (const auto& [name, value] : seen.counters) EXPECT_NE(watched_counter(name), nullptr) << name;
  EXPECT_EQ(Json(seen), *reply);
  // Wrong parameters are an error of the request alone.
  for (const Json& bad : {Json{{"peers", 3}}, Json{{"peers", {{{"name", "x"}}}}},
                          Json{{"peers", {{{"name", 7}, {"from_ip", "a"}, {"to_ip", "b"}}}}}}) {
    EXPECT_FALSE(call(*agent, "watch", bad, Deadline::after_ms(5000))) << bad;
  }
  // A peer whose address makes no sense here costs its route and nothing else.
  const Json odd = {{"peers",
                     {{{"name", "x"}, {"from_ip", "no"}, {"to_ip", "no"}},
                      {{"name", "y"}, {"from_ip", "fe80::77"}, {"to_ip", "fe80::1"}}}}};
  const auto rest = call(*agent, "watch", odd, Deadline::after_ms(5000));
  ASSERT_TRUE(rest) << rest.error().message();
  EXPECT_EQ(rest->get<WatchState>().routes.count("x"), 0u);
  EXPECT_FALSE(rest->get<WatchState>().nics.empty());
}

struct Teller {
  std::vector<std::string> texts;
  HostWatcher::Tell tell = [this](const std::string& host, const HostChange& change) {
    texts.push_back(host + " " + change.text);
  };
};

TEST(HostWatcher, TellsChangesAndHostsThatFallSilentOnce) {
  WatchState now = state();
  Json answer = now;
  bool fail_now = false;
  const auto agent = make_in_process_agent(
      "node1", {{"watch", "", [&](const Json&, const AgentCall&) -> Expected<Json> {
                   if (fail_now) return fail(ErrorCode::kSystem, "no more");
                   return answer;
                 }}});
  Teller teller;
  HostWatcher watcher({{"node1", agent.get(), "", {}}, {"node2", nullptr, "ssh: refused", {}}},
                      teller.tell);
  watcher.look();
  EXPECT_THAT(teller.texts, ElementsAre("node2 cannot be observed: ssh: refused"));
  now.nics[0].mtu = 1400;
  answer = now;
  watcher.look();
  watcher.look();
  EXPECT_THAT(teller.texts.back(), "node1 en1 mtu 1500 -> 1400");
  EXPECT_EQ(teller.texts.size(), 2u);
  fail_now = true;
  watcher.look();
  watcher.look();
  EXPECT_EQ(teller.texts.size(), 3u);
  EXPECT_THAT(teller.texts.back(), HasSubstr("node1 cannot be observed"));
  fail_now = false;
  // Nonsense is no answer either.
  answer = {{"nics", "many"}};
  watcher.look();
  EXPECT_EQ(teller.texts.size(), 3u);
  answer = now;
  watcher.look();
  EXPECT_THAT(teller.texts.back(), "node1 can be observed again");
}

TEST(HostWatcher, LooksOnItsOwnAndEndsAtOnce) {
  std::atomic<int> asked{0};
  const auto agent = make_in_process_agent(
      "node1", {{"watch", "", [&](const Json&, const AgentCall&) -> Expected<Json> {
                   ++asked;
                   return Json(state());
                 }}});
  Teller teller;
  const int64_t start = monotonic_ns();
  {
    HostWatcher watcher({{"node1", agent.get(), "", {}}}, teller.tell);
    watcher.start(20 * kMillisecond);
    const Deadline deadline = Deadline::after_ms(10'000);
    while (asked.load() < 5 && !deadline.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(asked.load(), 5);
  }
  {
    HostWatcher watcher({{"node1", agent.get(), "", {}}}, teller.tell);
    watcher.start(3600 * kSecond);
  }
  EXPECT_LT(monotonic_ns() - start, 12 * kSecond);
  EXPECT_THAT(teller.texts, IsEmpty());
}

}  // namespace
}  // namespace plumbline
