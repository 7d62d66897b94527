// Links in records: they survive the way through JSON, and values that cannot be are refused.
#include "core/record/link.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

LinkResult full_link() {
  LinkResult link;
  link.from = 0;
  link.to = 2;
  link.from_host = "mini1";
  link.to_host = "mini3";
  link.local = "10.0.0.1";
  link.remote = "10.0.0.2";
  link.direct = true;
  link.rtt = LinkRtt{1000, 10.5, 20.25, 99.0, 200.0};
  link.loaded_rtt = LinkRtt{3, 10.5, 20.25, std::nullopt, 200.0};
  link.rate_Bps = 1.25e8;
  link.elapsed_ns = 500'000'000;
  link.interval_ns = 100'000'000;
  link.streams = {{5000, 3, {1000, 4000}}, {7, std::nullopt, {7}}};
  link.udp = LinkUdp{100, 90, 1, 2, 4, 1234.5, 6.25e6};
  link.speed_bps = 1e9;
  return link;
}

Record record_of(LinkResult link) {
  Record record;
  record.cell.kind = CellKind::kLink;
  record.cell.op = "link";
  record.cell.measure = "stream";
  record.cell.rate_bps = 50;
  record.cell.ranks = 3;
  record.measurement.links = {std::move(link)};
  return record;
}

TEST(Link, RoundTrip) {
  const Record before = record_of(full_link());
  const std::string line = to_line(before);
  const auto after = record_from_line(line);
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(to_line(*after), line);
  ASSERT_EQ(after->measurement.links.size(), 1u);
  EXPECT_EQ(after->cell, before.cell);
  const LinkResult& link = after->measurement.links[0];
  EXPECT_EQ(link.streams[0].retransmits, 3u);
  EXPECT_FALSE(link.streams[1].retransmits);
  EXPECT_EQ(link.udp->lost(), 6u);  // 100 sent, 90 received, 4 dropped by the socket
  EXPECT_FALSE(link.loaded_rtt->p99);
}

TEST(Link, EmptyFieldsRoundTrip) {
  LinkResult link;
  link.to = 1;
  link.skipped = "not supposed to talk";
  const std::string line = to_line(record_of(link));
  const auto after = record_from_line(line);
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_FALSE(after->measurement.links[0].measured());
  EXPECT_EQ(to_line(*after), line);
}

TEST(Link, OtherRecordsHaveNoSuchKeys) {
  Record record;
  record.cell.kind = CellKind::kLatency;
  const auto json = nlohmann::json::parse(to_line(record));
  EXPECT_FALSE(json.contains("links"));
  EXPECT_FALSE(json["cell"].contains("measure"));
  // So a record of before there were links is read as it always was.
  EXPECT_TRUE(record_from_line(to_line(record)));
}

struct Hostile {
  const char* pointer;
  nlohmann::json value;
};

TEST(Link, HostileValuesAreRefused) {
  const std::vector<Hostile> all = {
      {"/links/0/from", -1},
      {"/links/0/from", 3},  // beyond cell.ranks
      {"/links/0/to", 0},    // to itself
      {"/links/0/to", 1 << 30},
      {"/links/0/from", "zero"},
      {"/links/0/Bps", -1.0},
      {"/links/0/Bps", "fast"},
      {"/links/0/elapsed_ns", -5},
      {"/links/0/elapsed_ns", 1e300},
      {"/links/0/rtt_ns/n", -1},
      {"/links/0/rtt_ns/p50", -3.0},
      {"/links/0/streams/0/bytes", -1},
      {"/links/0/streams/0/retransmits", -1},
      {"/links/0/streams/0/series/1", -1},
      {"/links/0/streams/0/series", 5},
      {"/links/0/udp/received", 101},  // more than were sent
      {"/links/0/udp/reordered", 91},  // more than were received
      {"/links/0/udp/sent", ~uint64_t{0}},
      {"/links/0/speed_bps", -1e9},
      {"/links", 5},
      {"/links/0", nullptr},
  };
  const auto good = nlohmann::json::parse(to_line(record_of(full_link())));
  for (const Hostile& hostile : all) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(hostile.pointer)] = hostile.value;
    EXPECT_FALSE(record_from_line(bad.dump())) << hostile.pointer << " = " << hostile.value.dump();
  }
  auto twice = good;
  twice["links"].push_back(twice["links"][0]);
  EXPECT_FALSE(record_from_line(twice.dump())) << "the same link twice";
}

// What is as usual is left out, so most keys may lack; a link of nobody to nobody is none.
TEST(Link, WhoItIsOfIsRequired) {
  const auto good = nlohmann::json::parse(to_line(record_of(full_link())));
  EXPECT_EQ(good["links"][0].size(), 15u);
  for (const char* key : {"from", "to", "from_host", "to_host"}) {
    auto bad = good;
    ASSERT_EQ(bad["links"][0].erase(key), 1u) << key;
    EXPECT_FALSE(record_from_line(bad.dump())) << key;
  }
  // What is left out of a connection follows from the rest.
  EXPECT_EQ(good["links"][0]["streams"][0].dump(), R"({"retransmits":3,"series":[1000,4000]})");
  EXPECT_EQ(good["links"][0]["streams"][1].dump(), R"({"retransmits":null,"series":[7]})");
  for (const char* key : {"n", "min", "p50", "max"}) {
    auto bad = good;
    ASSERT_EQ(bad["links"][0]["rtt_ns"].erase(key), 1u) << key;
    EXPECT_FALSE(record_from_line(bad.dump())) << key;
  }
}

TEST(Link, LossNeverWrapsAround) {
  LinkUdp udp;
  udp.sent = 10;
  udp.received = 8;
  udp.dropped = 50;
  EXPECT_EQ(udp.lost(), 0u);
  udp.received = 20;
  EXPECT_EQ(udp.lost(), 0u);
}

}  // namespace
}  // namespace plumbline
