// The picture of plumbline watch: it fits every terminal, shows what matters on the narrowest, and
// prints nothing that a host could steer a terminal with. And the lines of --json.
#include "cli/watch_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cli/json_output.h"
#include "core/json.h"
#include "core/text.h"
#include "reports/text.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

LiveLink link_of(const std::string& name, double in = 0, double out = 0) {
  LiveLink link;
  link.name = name;
  link.kind = "ethernet";
  link.up = link.carrier = link.was_up = true;
  link.mtu = 1500;
  link.speed_bps = 10'000'000'000;
  link.rx_Bps = in;
  link.tx_Bps = out;
  link.rx_packets_per_s = link.tx_packets_per_s = 1;
  link.rx_drops_per_s = link.tx_drops_per_s = link.errors_per_s = 0;
  link.signal_changes = 0;
  link.neighbours = 3;
  link.lost_neighbours = 0;
  return link;
}

LiveHost host_of(const std::string& name, std::vector<LiveLink> links) {
  LiveHost host;
  host.name = name;
  host.interval_s = 1;
  host.links = std::move(links);
  host.segments_per_s = 1000;
  host.retransmitted_per_s = host.timeouts_per_s = host.discards_per_s = 0;
  host.neighbours = {{"10.0.0.2", "eth0", "REACHABLE"}};
  host.temperatures = {{"package", 61.4}, {"nvme", 38}};
  return host;
}

LiveHost lost_host(const std::string& name, const std::string& why) {
  LiveHost host = host_of(name, {link_of("eth0", 5, 5)});
  host.lost = why;
  return host;
}

std::vector<LiveHost> four_hosts() {
  LiveHost lossy = host_of("node2", {link_of("eth0", 1.25e9, 2e6), link_of("eth1", 3e3, 0)});
  lossy.retransmitted_per_s = 1234;
  lossy.links[0].rx_drops_per_s = 12;
  LiveHost pulled = host_of("node3", {link_of("eth0")});
  pulled.links[0].carrier = false;
  pulled.links[0].signal_changes = 1;
  pulled.links[0].lost_neighbours = 2;
  return {host_of("node1", {link_of("eth0", 10, 1.1e9)}), lossy, pulled,
          lost_host("node4", "the agent of node4 ended with exit status 255")};
}

std::vector<std::string> lines_at(int width, int height = 24, WatchView view = {}) {
  view.width = width;
  view.height = height;
  view.time = "14:03:22";
  return watch_lines(four_hosts(), view);
}

std::string row_with(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return line;
  }
  return "no line with " + text;
}

TEST(WatchView, FitsEveryTerminal) {
  WatchView view;
  view.events = {{"14:03:20", "node3: eth0 lost its signal"}, {"14:03:21", std::string(300, 'x')}};
  for (int width = 1; width <= 220; ++width) {
    for (const int height : {1, 2, 3, 5, 8, 10, 24, 100}) {
      const std::vector<std::string> lines = lines_at(width, height, view);
      ASSERT_LE(lines.size(), static_cast<size_t>(height));
      for (const std::string& line : lines) {
        ASSERT_LE(display_width(line), static_cast<size_t>(width)) << line;
      }
    }
  }
}

TEST(WatchView, FortyColumnsShowLossAndSignal) {
  const std::vector<std::string> lines = lines_at(39);
  EXPECT_EQ(row_with(lines, "host "), "host   link  wire    in   out retr drop");
  EXPECT_EQ(row_with(lines, "node1"), "node1  eth0  yes     10 1.10G    0    0");
  EXPECT_EQ(row_with(lines, "node2"), "node2  eth0  yes  1.25G 2.00M 1.2k   12");
  EXPECT_EQ(row_with(lines, "eth1"), "node2  eth1  yes  3.00k     0         0");
  EXPECT_EQ(row_with(lines, "node3"), "node3  eth0  LOST     0     0    0    0");
  EXPECT_THAT(row_with(lines, "node4"), HasSubstr("LOST: the agent of node4 "));
}

TEST(WatchView, AWideTerminalShowsAll) {
  const std::vector<std::string> lines = lines_at(140);
  EXPECT_THAT(lines[0], HasSubstr("14:03:22  4 hosts, 1 lost  by host"));
  EXPECT_THAT(lines[1], HasSubstr("q quit"));
  for (const char* part : {"10.0G", " 100%", "1.2k", "61°C"}) {
    EXPECT_THAT(row_with(lines, "node2"), HasSubstr(part));
  }
  EXPECT_THAT(row_with(lines, "node3"), HasSubstr("3, 2 lost"));
  EXPECT_THAT(row_with(lines, "node4"), HasSubstr("ended with exit status 255"));
}

TEST(WatchView, WhatIsNotKnownSaysSo) {
  LiveHost mac;
  mac.name = "mac";
  LiveLink bare;
  bare.name = "en0";
  bare.up = bare.carrier = true;
  mac.links = {bare};
  WatchView view;
  view.width = 120;
  const std::string row = row_with(watch_lines({mac}, view), "mac");
  std::istringstream words(row);
  size_t unknown = 0;
  for (std::string word; words >> word;) unknown += word == "n/a" ? 1 : 0;
  EXPECT_EQ(unknown, 10u) << row;
}

TEST(WatchView, SortsByWhatTheUserWants) {
  const auto order = [](WatchSort sort, bool reverse) {
    WatchView view;
    view.sort = sort;
    view.reverse = reverse;
    std::vector<std::string> out;
    for (const std::string& line : lines_at(100, 24, view)) {
      if (line.rfind("node", 0) == 0)
        out.push_back(line.substr(4, 1) + line.substr(line.find_first_of("eL", 5), 4));
    }
    return out;
  };
  EXPECT_THAT(order(WatchSort::kHost, false),
              ElementsAre("1eth0", "2eth0", "2eth1", "3eth0", "4LOST"));
  EXPECT_THAT(order(WatchSort::kIn, false),
              ElementsAre("2eth0", "2eth1", "1eth0", "3eth0", "4LOST"));
  EXPECT_THAT(order(WatchSort::kOut, true),
              ElementsAre("4LOST", "3eth0", "2eth1", "2eth0", "1eth0"));
  EXPECT_EQ(order(WatchSort::kRetransmitted, false)[0], "2eth0");
  EXPECT_EQ(order(WatchSort::kDrops, false)[0], "2eth0");
  // All keys, and back to the first.
  WatchSort sort = WatchSort::kHost;
  std::set<std::string> names;
  for (int i = 0; i < 6; ++i) {
    names.insert(to_string(sort));
    sort = next_sort(sort);
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(sort, WatchSort::kHost);
}

TEST(WatchView, ScrollsNoFurtherThanTheLastRow) {
  std::vector<LiveHost> hosts;
  for (int i = 0; i < 100; ++i) hosts.push_back(host_of(fmt::format("n{}", i), {link_of("eth0")}));
  WatchView view;
  view.width = 80;
  view.height = 20;
  EXPECT_THAT(watch_lines(hosts, view).back(), HasSubstr("rows 1 to 16 of 100"));
  view.first = 50;
  EXPECT_THAT(watch_lines(hosts, view)[3], HasSubstr("n50"));
  view.first = 100'000;
  EXPECT_THAT(watch_lines(hosts, view).back(), HasSubstr("rows 85 to 100 of 100"));
  EXPECT_EQ(view.first, 84u);
}

TEST(WatchView, ShowsOnlyInterfacesThatAreOrWereInUse) {
  LiveLink loopback = link_of("lo"), never = link_of("spare"), off = link_of("eth9");
  loopback.kind = "loopback";
  never.up = never.was_up = off.up = false;
  WatchView view;
  const auto text = [&view](const LiveHost& host) { return join(watch_lines({host}, view), "\n"); };
  const std::string some = text(host_of("a", {loopback, never, off}));
  EXPECT_THAT(some, Not(HasSubstr("lo ")));
  EXPECT_THAT(some, Not(HasSubstr("spare")));
  EXPECT_THAT(some, HasSubstr("eth9"));
  EXPECT_THAT(some, HasSubstr("off"));
  EXPECT_THAT(text(host_of("a", {loopback, never})), HasSubstr("lo "));
  EXPECT_THAT(text(host_of("a", {never})), HasSubstr("no link is switched on"));
}

const std::string kHostile = "ev\x1b[2Jil\r\n\u202e\x07\xff\u009b";

TEST(WatchView, HostileNamesComeOutHarmless) {
  LiveHost host = host_of(kHostile, {link_of(kHostile)});
  WatchView view;
  view.width = 200;
  view.events = {{"14:03:20", kHostile + ": " + kHostile}};
  for (const LiveHost& each : {host, lost_host(kHostile, kHostile)}) {
    for (const std::string& line : watch_lines({each}, view)) {
      EXPECT_TRUE(is_printable(line)) << escaped(line);
    }
  }
}

TEST(WatchView, ColoursAreThereWhereTheyAreWanted) {
  WatchView view;
  view.colour = true;
  const std::vector<std::string> lines = lines_at(100, 24, view);
  EXPECT_THAT(row_with(lines, "node3"), HasSubstr("\x1b["));
  EXPECT_THAT(row_with(lines, "node2"), HasSubstr("\x1b["));
  EXPECT_THAT(row_with(lines, "node1"), Not(HasSubstr("\x1b[")));
  for (const std::string& line : lines_at(100)) EXPECT_THAT(line, Not(HasSubstr("\x1b[")));
}

TEST(WatchView, NumbersAreShort) {
  const std::pair<double, const char*> counts[] = {
      {-1, "0"},      {0, "0"},        {0.2, "<1"},    {0.9, "1"},       {12, "12"},
      {999.4, "999"}, {999.6, "1.0k"}, {1234, "1.2k"}, {99'960, "100k"}, {1e21, ">999"}};
  for (const auto& [value, text] : counts) EXPECT_EQ(short_count(value), text) << value;
  const std::pair<double, const char*> rates[] = {{0, "0"},        {950, "950"},
                                                  {1250, "1.25k"}, {9996, "10.0k"},
                                                  {117e6, "117M"}, {1.25e10, "12.5G"}};
  for (const auto& [value, text] : rates) EXPECT_EQ(short_rate(value), text) << value;
  for (double value = 0.01; value < 1e18; value *= 1.07) {
    EXPECT_LE(short_count(value).size(), 4u) << value;
    EXPECT_LE(short_rate(value).size(), 5u) << value;
  }
}

TEST(WatchKeys, CursorKeysAreSeveralBytesAndNoOtherKeys) {
  const auto keys = [](const std::string& typed) {
    WatchKeys reader;
    std::vector<WatchKey> out;
    for (const char byte : typed) {
      if (const WatchKey key = reader.take(byte); key != WatchKey::kNone) out.push_back(key);
    }
    return out;
  };
  EXPECT_THAT(keys("qp srjk"),
              ElementsAre(WatchKey::kQuit, WatchKey::kPause, WatchKey::kPause, WatchKey::kSort,
                          WatchKey::kReverse, WatchKey::kDown, WatchKey::kUp));
  EXPECT_THAT(keys("\x1b[A\x1bOB\x1b[5~\x1b[6~"),
              ElementsAre(WatchKey::kUp, WatchKey::kDown, WatchKey::kPageUp, WatchKey::kPageDown));
  EXPECT_THAT(keys("\x1b[1;5C\x1b[15~\x1b\x1b[q\xffz"), ElementsAre());
  EXPECT_THAT(keys("\x1b[Aq"), ElementsAre(WatchKey::kUp, WatchKey::kQuit));
}

TEST(WatchJson, ALineHoldsWhatIsKnownAndNullForTheRest) {
  LiveHost host = four_hosts()[1];
  host.changes = {{"link", "eth0", "eth0 lost its signal"}};
  host.links[1].speed_bps.reset();
  host.links[1].rx_Bps.reset();
  const std::string text = watch_json_line(host, "2026-11-22T20:00:00Z");
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json line = Json::parse(text);
  EXPECT_EQ(line["host"], "node2");
  EXPECT_EQ(line["lost"], nullptr);
  EXPECT_EQ(line["retransmitted_per_s"], 1234);
  EXPECT_EQ(line["links"][0]["rx_Bps"], 1.25e9);
  EXPECT_EQ(line["links"][0]["signal"], true);
  EXPECT_EQ(line["links"][1]["speed_bps"], nullptr);
  EXPECT_EQ(line["links"][1]["rx_Bps"], nullptr);
  EXPECT_EQ(line["neighbours"][0]["state"], "REACHABLE");
  EXPECT_EQ(line["temperatures"]["package"], 61.4);
  EXPECT_EQ(line["changes"][0]["text"], "eth0 lost its signal");
}

TEST(WatchJson, ALostHostHasNoRatesOfThePast) {
  const Json line = Json::parse(watch_json_line(lost_host("node4", "it ended"), "t"));
  EXPECT_EQ(line["lost"], "it ended");
  EXPECT_EQ(line["links"], Json::array());
  EXPECT_EQ(line["retransmitted_per_s"], nullptr);
  EXPECT_EQ(line["neighbours"], nullptr);
}

TEST(WatchJson, HostileTextIsEscaped) {
  const std::string text = watch_json_line(host_of(kHostile, {link_of(kHostile)}), "t");
  EXPECT_TRUE(is_printable(text)) << escaped(text);
  EXPECT_THAT(Json::parse(text)["host"].get<std::string>(), HasSubstr("ev\x1b[2Jil"));
}

// Every key of a line stands in the page, and the page names no other.
void pressed_keys(const Json& json, std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (key != "temperatures" && value.is_structured()) pressed_keys(value, keys);
  }
}

TEST(WatchJson, ThePageNamesEveryKey) {
  LiveHost host = four_hosts()[1];
  host.changes = {{"link", "eth0", "eth0 lost its signal"}};
  std::set<std::string> keys, told;
  pressed_keys(Json::parse(watch_json_line(host, "t")), keys);
  std::ifstream page(test::source_dir() + "/docs/watch.md");
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const size_t end = cell.find('`', at + 1);
      ASSERT_NE(end, std::string::npos) << line;
      told.insert(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  EXPECT_EQ(told, keys);
}

}  // namespace
}  // namespace plumbline
