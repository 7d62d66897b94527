// `plumbline trace` of two files that belong together in part, or not at all: a plain sentence, and
// the right exit code.
#include <gmock/gmock.h>

#include "core/json.h"
#include "tests/probes/traces/paired_transfer.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finished trace(std::vector<std::string> words) {
  words.insert(words.begin(), "trace");
  return run_program(plumbline_argv(words), {}, 60'000);
}

class TracePair : public testing::Test {
 protected:
  std::string file(const std::string& name, bool at_a, Cut cut, int64_t skew_us = 0) const {
    PairShape shape;
    shape.lost = LostAt::kReceiver;
    shape.skew_us = skew_us;
    return folder_.write(name, capture_at(PairedTransfer(shape), at_a, cut).file.bytes());
  }
  // Said and no error; an error of usage when a comparison is insisted on.
  static void expect_not_compared(const std::string& first, const std::string& second,
                                  const std::string& sentence) {
    const Finished told = trace({first, second});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("not compared: "));
    EXPECT_THAT(told.out, HasSubstr(sentence));
    EXPECT_THAT(told.out, Not(HasSubstr("vanish")));
    const Finished json = trace({first, second, "--json"});
    EXPECT_EQ(json.status, 0) << json.err;
    const auto parsed = nlohmann::json::parse(json.out);
    EXPECT_THAT(parsed["overlap"]["not_compared"], HasSubstr(sentence));
    EXPECT_TRUE(parsed["overlap"]["clock_offset_ns"].is_null());
    EXPECT_TRUE(parsed["pairs"].empty());
    const Finished insisted = trace({first, second, "--compare"});
    EXPECT_EQ(insisted.status, 1);
    EXPECT_EQ(insisted.out, "");
    EXPECT_THAT(insisted.err, HasSubstr(sentence));
    EXPECT_THAT(insisted.err, HasSubstr("capture on both hosts at the same time"));
  }
  ScratchFolder folder_;
};

TEST_F(TracePair, RangesAndWhatWasLeftOutAreTold) {
  const std::string a = file("a", true, {0.5, 0}), b = file("b", false, {0, 0.3}, 7'000'000);
  const Finished told = trace({a, b, "--compare"});
  ASSERT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("Both traces together:\ncompared: the "));
  EXPECT_THAT(told.out, testing::ContainsRegex("of the first file: without [0-9]+ packets in "
                                               "[0-9.]+ ms behind it\n"));
  EXPECT_THAT(told.out, testing::ContainsRegex("of the second file: without [0-9]+ packets in "
                                               "[0-9.]+ ms before it\n"));
  EXPECT_THAT(told.out, HasSubstr("clocks: the second is 7 s ahead of the first, give or take "));
  EXPECT_THAT(told.out, HasSubstr("packets vanish behind the receiver's wire"));
  EXPECT_THAT(told.out, Not(HasSubstr("between the hosts")));

  const auto json = nlohmann::json::parse(trace({a, b, "--json"}).out);
  const nlohmann::json& overlap = json["overlap"];
  EXPECT_EQ(overlap["not_compared"], "");
  EXPECT_EQ(overlap["first"]["before_packets"], 0);
  EXPECT_GT(overlap["first"]["after_packets"], 100);
  EXPECT_GT(overlap["second"]["before_packets"], 100);
  EXPECT_EQ(overlap["second"]["after_packets"], 0);
  EXPECT_NEAR(overlap["clock_offset_ns"].get<double>(), 7e9, 1e6);
  EXPECT_GT(overlap["common_packets"], 50);
}

TEST_F(TracePair, FilesOfDifferentTimesAreNotCompared) {
  expect_not_compared(file("a", true, {0, 0.7}), file("b", false, {0.7, 0}),
                      "no packet is in both files: they were captured at different times (by its "
                      "clock the first covers 1970-");
}

// The second clock makes it look as if both ran at the same time.
TEST_F(TracePair, FilesOfDifferentTimesByClocksThatDisagreeAreNotCompared) {
  expect_not_compared(file("a", true, {0, 0.7}), file("b", false, {0.7, 0}, -700'000),
                      "no packet is in both files, so nothing tells how their clocks compare");
}

TEST_F(TracePair, OneFileGivenTwiceIsNotCompared) {
  const std::string a = file("a", true, {});
  expect_not_compared(a, a, "both files are of one capture");
  expect_not_compared(a, file("part", true, {0.3, 0.2}), "both files are of one capture");
}

TEST_F(TracePair, FilesOfOtherHostsAreNotCompared) {
  BuiltCapture other;
  for (int64_t i = 0; i < 5; ++i) {
    ByteString packet = ip_packet({.seq = static_cast<uint32_t>(100 * i), .payload = 100});
    packet[12] = packet[16] = 192;
    other.add_frame(i * 1000, ethernet(packet));
  }
  expect_not_compared(file("a", true, {}), folder_.write("other", other.bytes()),
                      "no two hosts are that speak with each other in both");
}

TEST_F(TracePair, AFileWithoutPacketsIsNotCompared) {
  const std::string empty = folder_.write("empty", BuiltCapture().bytes());
  expect_not_compared(file("a", true, {}), empty, "the second file holds no packet");
  expect_not_compared(empty, file("b", false, {}), "the first file holds no packet");
  expect_not_compared(empty, empty, "neither file holds a packet");
}

TEST_F(TracePair, WhatIsNoCaptureIsAnError) {
  const Finished done = trace({file("a", true, {}), folder_.write("text", "hello")});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr(folder_.path("text")));
}

// One datagram each way of one network: TTLs, times and directions tell nothing.
TEST_F(TracePair, WhoseFileItIsMayBeUndecided) {
  BuiltCapture first, second;
  for (int i = 0; i < 4; ++i) {
    first.add_frame(i * 1000, ethernet(ip4(17, true, udp(true, 20), i + 1)));
    second.add_frame(i * 1000 + 50, ethernet(ip4(17, true, udp(true, 20), i + 1)));
  }
  const std::string a = folder_.write("a", first.bytes()), b = folder_.write("b", second.bytes());
  const Finished told = trace({a, b});
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.out, HasSubstr("nothing tells which trace was taken at which end; --first-at"));
  const Finished named = trace({a, b, "--first-at", "10.0.0.1"});
  EXPECT_THAT(named.out, HasSubstr("from 10.0.0.1:4000: 4 of 4 packets arrived"));
}

}  // namespace
}  // namespace plumbline
