// What people read, the points of a plot, and the small collections below.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "probes/traces/flow_memory.h"
#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

size_t longest_line(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  size_t longest = 0;
  while (std::getline(in, line)) longest = std::max(longest, line.size());
  return longest;
}

TEST(TraceText, ProblemsComeFirst) {
  BuiltCapture file = established();
  file.add(1000, {.flags = kS, .seq = 1, .a_port = 4001});
  const std::string text = trace_text(file.analyse(), 80);
  const size_t bad = text.find("#2 tcp 10.0.0.1:4001"), good = text.find("#1 tcp 10.0.0.1:4000");
  ASSERT_NE(bad, std::string::npos);
  ASSERT_NE(good, std::string::npos);
  EXPECT_LT(bad, good);
  EXPECT_THAT(text, HasSubstr("2 flows, 1 with problems"));
  EXPECT_THAT(text, HasSubstr("! 10.0.0.1 sent SYN once; nothing came back"));
}

TEST(TraceText, FitsEveryWidth) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100)).add(301'000, data(1000, 100));
  TraceSummary summary = file.analyse();
  summary.file = std::string(300, 'f') + ".pcap";
  for (const int width : {20, 40, 80, 200}) {
    EXPECT_LE(longest_line(trace_text(summary, width)), static_cast<size_t>(width));
  }
  EXPECT_GT(longest_line(trace_text(summary, 0)), 300U);
}

TEST(TraceText, ForeignNamesCannotMoveTheCursor) {
  TraceSummary summary = established().analyse();
  summary.file = "evil\x1b[2J\n\xff.pcap";
  for (const char c : trace_text(summary, 80)) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(TraceText, ManyFlowsAreCounted) {
  BuiltCapture file;
  for (int i = 1; i <= 60; ++i) file.add(i, {.flags = kS, .seq = 1, .a_port = i});
  const std::string text = trace_text(file.analyse(), 80);
  EXPECT_THAT(text, HasSubstr("10 more flows"));
  EXPECT_THAT(text, Not(HasSubstr("#51")));
}

class Points : public testing::Test {
 public:
  ~Points() override { std::filesystem::remove(path_); }

 protected:
  Expected<TracePoints> of(const BuiltCapture& file, int64_t flow = 0) {
    std::ofstream(path_, std::ios::binary) << file.bytes();
    return trace_points(path_, flow);
  }
  std::string path_ = testing::TempDir() + "trace_points_test.pcap";
};

TEST_F(Points, EverySegmentIsOne) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100)).add(1200, data(1000, 100));
  const auto points = of(file);
  ASSERT_TRUE(points);
  EXPECT_EQ(points->a, "10.0.0.1:4000");
  ASSERT_EQ(points->points.size(), 6U);
  EXPECT_EQ(points->points[0].kind, TracePointKind::kSyn);
  EXPECT_EQ(points->points[3].kind, TracePointKind::kData);
  EXPECT_EQ(points->points[3].begin, 1);
  EXPECT_EQ(points->points[3].end, 101);
  EXPECT_EQ(points->points[3].at_ns, 1'000'000);
  EXPECT_FALSE(points->points[4].from_a);
  EXPECT_EQ(points->points[4].ack, 101);
  EXPECT_EQ(points->points[4].window_end, 101 + 4000);
  EXPECT_EQ(points->points[5].kind, TracePointKind::kRetransmission);
  EXPECT_FALSE(points->thinned);
}

TEST_F(Points, AreThinnedOutButNotTheUnusualOnes) {
  BuiltCapture file = established();
  for (uint32_t i = 0; i < 50'000; ++i) {
    file.add(1000 + 10 * i, data(1000 + 10 * i, 10));
    if (i == 777) file.add(1001 + 10 * i, data(1000, 10));
  }
  const auto points = of(file);
  ASSERT_TRUE(points);
  EXPECT_TRUE(points->thinned);
  EXPECT_LT(points->points.size(), 25'000U);
  EXPECT_GT(points->points.size(), 9'000U);
  const auto again = std::count_if(
      points->points.begin(), points->points.end(),
      [](const TracePoint& point) { return point.kind == TracePointKind::kRetransmission; });
  EXPECT_EQ(again, 1);
}

TEST_F(Points, OfAFlowThatIsNotThere) {
  EXPECT_EQ(of(established(), 1).error().code, ErrorCode::kUsage);
  EXPECT_EQ(of(established(), -1).error().code, ErrorCode::kUsage);
  BuiltCapture datagram;
  datagram.add_frame(0, ethernet(ip4(17, true, udp(true, 10))));
  EXPECT_THAT(of(datagram).error().what, HasSubstr("is not TCP"));
}

TEST(Segments, HolesAndOverlaps) {
  SegmentList list;
  list.start(0);
  list.add(0, 10, 1);
  list.add(20, 30, 2);
  EXPECT_TRUE(list.covers(0, 10));
  EXPECT_FALSE(list.covers(5, 25));
  EXPECT_EQ(list.run_end(0), 10);
  list.add(5, 25, 3);  // the hole, and a part of either neighbour
  EXPECT_TRUE(list.covers(0, 30));
  EXPECT_EQ(list.run_end(0), 30);
  EXPECT_EQ(list.bytes(), 30);
  const auto acked = list.acknowledge(30, 9);
  EXPECT_FALSE(acked.unseen);
  EXPECT_FALSE(acked.rtt_ns.has_value());  // parts were sent twice
  EXPECT_EQ(list.bytes(), 0);
}

TEST(Segments, PartOfASegmentIsAcknowledged) {
  SegmentList list;
  list.start(0);
  list.add(0, 100, 1);
  const auto acked = list.acknowledge(40, 5);
  EXPECT_EQ(acked.largest, 40);
  EXPECT_FALSE(acked.rtt_ns.has_value());
  EXPECT_EQ(list.bytes(), 60);
  EXPECT_EQ(list.acknowledge(100, 7).rtt_ns, 6);
}

TEST(Segments, UnseenBytes) {
  SegmentList list;
  list.start(0);
  EXPECT_TRUE(list.acknowledge(10, 1).unseen);
  list.add(20, 30, 2);
  EXPECT_TRUE(list.acknowledge(30, 3).unseen);
  EXPECT_FALSE(list.acknowledge(30, 4).unseen);
  EXPECT_FALSE(list.acknowledge(5, 4).unseen);
}

TEST(Segments, AreBounded) {
  SegmentList list;
  list.start(0);
  for (int64_t i = 0; i < 100'000; ++i) list.add(10 * i, 10 * i + 5, i);
  EXPECT_LE(list.size(), SegmentList::kMaxSegments + 1);
  EXPECT_TRUE(list.covers(999'990, 999'995));
  EXPECT_TRUE(list.covers(0, 5));  // forgotten ones count as known
  for (int64_t i = 100'000; i > 0; --i) list.add(10'000'000 + 10 * i, 10'000'005 + 10 * i, i, 64);
  EXPECT_LE(list.size(), 65U);
}

TEST(IntervalsTest, MergeAndCover) {
  Intervals seen;
  EXPECT_TRUE(seen.add(0, 10));
  EXPECT_TRUE(seen.add(20, 30));
  EXPECT_FALSE(seen.add(22, 28));
  EXPECT_FALSE(seen.covers(5, 25));
  EXPECT_TRUE(seen.add(5, 25));
  EXPECT_TRUE(seen.covers(0, 30));
  EXPECT_FALSE(seen.covers(0, 31));
  EXPECT_FALSE(seen.add(7, 7));
}

TEST(IntervalsTest, GapsAreWhatIsNotThere) {
  Intervals seen;
  seen.add(10, 20);
  seen.add(30, 40);
  const auto text = [&](int64_t begin, int64_t end) {
    std::string out;
    for (const ByteRange& gap : seen.gaps(begin, end)) {
      out += std::to_string(gap.begin) + "-" + std::to_string(gap.end) + " ";
    }
    return out;
  };
  EXPECT_EQ(text(0, 50), "0-10 20-30 40-50 ");
  EXPECT_EQ(text(12, 18), "");
  EXPECT_EQ(text(15, 35), "20-30 ");
  EXPECT_EQ(text(20, 30), "20-30 ");
  EXPECT_EQ(text(45, 45), "");
  EXPECT_EQ(text(45, 46), "45-46 ");
}

TEST(ByteLayersTest, CountHowOftenWhichBytesWereSeen) {
  ByteLayers layers;
  std::string parts;
  const auto note = [&](size_t layer, int64_t begin, int64_t end) {
    parts += std::to_string(layer) + ":" + std::to_string(begin) + "-" + std::to_string(end) + " ";
  };
  layers.add(0, 10, note);
  layers.add(5, 15, note);
  layers.add(0, 20, note);
  EXPECT_EQ(parts, "0:0-10 0:10-15 1:5-10 0:15-20 1:0-5 1:10-15 2:5-10 ");
  EXPECT_EQ(layers.lacking(0, 0, 25), 5);
  EXPECT_EQ(layers.lacking(1, 0, 20), 5);
  EXPECT_EQ(layers.lacking(2, 0, 20), 15);
  for (size_t i = 0; i < 2 * ByteLayers::kLayers; ++i) layers.add(0, 1, note);
  EXPECT_EQ(layers.lacking(ByteLayers::kLayers - 1, 0, 1), 0);
}

TEST(IntervalsTest, ManyHolesAreBounded) {
  Intervals seen;
  for (int64_t i = 0; i < 10'000; ++i) seen.add(10 * i, 10 * i + 5);
  EXPECT_TRUE(seen.covers(0, 10'000));        // the first holes count as filled
  EXPECT_FALSE(seen.covers(99'000, 99'990));  // the last ones do not
}

TEST(RateBinsTest, WidthFollowsTheFlow) {
  RateBins bins;
  bins.add(0, true, 1);
  bins.add(-5, false, 2);
  EXPECT_EQ(bins.bins(7).size(), 1U);
  EXPECT_EQ(bins.bins(7)[0].at_ns, 7);
  EXPECT_EQ(bins.bins(7)[0].b_bytes, 2);
  bins.add(3'600'000'000'000, true, 4);
  const auto hour = bins.bins(0);
  EXPECT_LE(hour.size(), RateBins::kMaxBins);
  EXPECT_GE(hour.size(), RateBins::kMaxBins / 2);
  EXPECT_EQ(hour.front().a_bytes, 1);
  EXPECT_EQ(hour.back().a_bytes, 4);
  bins.add(INT64_MAX, true, 1);
  EXPECT_LE(bins.bins(0).size(), RateBins::kMaxBins);
}

TEST(RttDistributionTest, QuantilesWithinAFewPercent) {
  RttDistribution rtt;
  for (int64_t i = 1; i <= 1000; ++i) rtt.add(i * 1000);
  const TraceRtt summary = rtt.summary();
  EXPECT_EQ(summary.samples, 1000);
  EXPECT_EQ(summary.min_ns, 1000);
  EXPECT_EQ(summary.max_ns, 1'000'000);
  EXPECT_NEAR(static_cast<double>(summary.p50_ns), 500'000, 20'000);
  EXPECT_NEAR(static_cast<double>(summary.p99_ns), 990'000, 35'000);
  EXPECT_EQ(RttDistribution().summary().samples, 0);
  RttDistribution one;
  one.add(INT64_MAX);
  EXPECT_EQ(one.summary().p50_ns, INT64_MAX);
}

}  // namespace
}  // namespace plumbline
