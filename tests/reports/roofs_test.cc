// Which share of a measured roof results attain, and when a roof is none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/stats/noise.h"
#include "reports/report.h"
#include "reports/view.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The roofs of samples (one way 5.63 GB/s, both ways 3.23 GB/s, half a round trip 4.9 us) and one
// result; the view's item of it.
struct OneResult {
  explicit OneResult(const Record& result) : records(samples::roofs()) {
    records.push_back(result);
    view = make_view(records);
  }
  const Item& item() const { return view.items.back(); }
  std::vector<Record> records;
  View view;
};

std::string roofs_text(const char* name, const std::vector<Record>& records) {
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  EXPECT_TRUE(find_report(name)->write(input, target)) << name;
  return out.str();
}

TEST(Roofs, FarAboveOneItIsNone) {
  const OneResult good(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 304'000));
  EXPECT_NEAR(*good.item().of_bandwidth, 1.07, 0.01);
  EXPECT_EQ(good.item().no_roof, "");
  EXPECT_THAT(no_roof_notes(good.view), IsEmpty());
  const OneResult bad(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 250'000));
  EXPECT_NEAR(*bad.item().of_bandwidth, 1.3, 0.01) << "the quotient stays";
  EXPECT_THAT(bad.item().no_roof, HasSubstr("the roof of 3.23 GB/s is too low"));
  EXPECT_THAT(no_roof_notes(bad.view), SizeIs(1));
  EXPECT_THAT(no_roof_notes(bad.view).front(), HasSubstr("measure again (1 result above it)"));
}

// A page of a busy machine listed 17 of them, in the same words.
TEST(Roofs, OfManyBadOnesTheWorstAreTold) {
  const auto notes_of = [](int roofs) {
    View view;
    for (int roof = 1; roof <= roofs; ++roof) {
      for (int result = 0; result < roof; ++result) {
        view.items.emplace_back().no_roof = fmt::format("roof {}", roof);
      }
    }
    return no_roof_notes(view);
  };
  EXPECT_THAT(notes_of(2),
              ElementsAre("roof 2 (2 results above it)", "roof 1 (1 result above it)"));
  EXPECT_THAT(notes_of(3), SizeIs(3));
  EXPECT_THAT(notes_of(17),
              ElementsAre("roof 17 (17 results above it)", "roof 16 (16 results above it)",
                          "15 more roofs are too low as well (120 results above them)"));
}

// 141 % and 136 % of one connection's rate were seen where three ranks sent to one.
TEST(Roofs, SeveralConnectionsMayCarryMoreThanOne) {
  const OneResult gather(record("bandwidth", "gather", "direct", 4, 1 << 20, 100'000));
  EXPECT_GT(*gather.item().of_bandwidth, 1.3);
  EXPECT_EQ(gather.item().no_roof, "");
  const OneResult impossible(record("bandwidth", "gather", "direct", 4, 1 << 20, 40'000));
  EXPECT_GT(*impossible.item().of_bandwidth, 3.3);
  EXPECT_NE(impossible.item().no_roof, "");
  // A ring sends to one neighbour, and through the very pair that the roof was measured on.
  EXPECT_NE(OneResult(record("bandwidth", "allreduce", "ring", 4, 1 << 20, 300'000)).item().no_roof,
            "");
  // So does what auto became; two ranks have one connection, whatever the algorithm.
  EXPECT_NE(OneResult(record("bandwidth", "allreduce", "auto", 4, 1 << 20, 300'000)).item().no_roof,
            "");
  EXPECT_NE(OneResult(record("bandwidth", "gather", "direct", 2, 1 << 20, 60'000)).item().no_roof,
            "");
}

TEST(Roofs, OfLatency) {
  const OneResult near(record("latency", "reduce", "chain", 2, 8, 4300));  // 113 % were seen
  EXPECT_GT(*near.item().of_latency, 1.1);
  EXPECT_EQ(near.item().no_roof, "");
  const OneResult bad(record("latency", "reduce", "chain", 2, 8, 3000));
  EXPECT_THAT(bad.item().no_roof, HasSubstr("the roof of 4.9"));
  EXPECT_THAT(bad.item().no_roof, HasSubstr("half a round trip"));
  // Operations that follow one another at once overlap.
  Record overlapping = record("latency", "reduce", "chain", 2, 8, 3000);
  overlapping.cell.sync = "none";
  EXPECT_EQ(OneResult(overlapping).item().no_roof, "");
}

Record with_floor(Record result, FloorManner manner, uint64_t bytes) {
  for (const FloorRow& floor : kFloors) result.measurement.extra.erase(floor.key);
  result.measurement.extra[row(manner).key] = static_cast<double>(bytes);
  return result;
}

// Half of a 64 KiB ping-pong was the roof of an exchange of two parts of 32 KiB, which reached 123
// to 168 % of it; and of rows of 1 MiB, which reached 5 %.
TEST(Roofs, TheFloorOfALatencyIsThatOfItsOwnMessagesOrNotShown) {
  const Record split = with_floor(record("latency", "reduce_scatter", "direct", 2, 65536, 14'000),
                                  FloorManner::kBothWays, 32768);
  EXPECT_FALSE(OneResult(split).item().of_latency) << "no such swap was measured";
  EXPECT_EQ(OneResult(split).item().no_roof, "");

  std::vector<Record> records = samples::roofs();
  records.push_back(record("roof", "raw_exchange", "auto", 2, 32768, 12'000));
  records.push_back(record("roof", "raw_exchange", "auto", 2, 65536, 23'000));
  records.push_back(split);
  records.push_back(with_floor(record("latency", "pingpong", "direct", 2, 65536, 50'000),
                               FloorManner::kRoundTrip, 65536));
  records.push_back(with_floor(record("latency", "broadcast", "chain", 2, 1 << 20, 400'000),
                               FloorManner::kOneWay, 1 << 20));
  Record old = record("latency", "allreduce", "direct", 2, 65536, 50'000);
  old.measurement.extra.clear();
  records.push_back(old);
  const View view = make_view(records);
  EXPECT_NEAR(*view.items[7].of_latency, 12.0 / 14, 0.02);
  EXPECT_NEAR(*view.items[8].of_latency, 41.0 / 50, 0.02) << "the whole round trip";
  EXPECT_FALSE(view.items[9].of_latency) << "1 MiB was not measured";
  EXPECT_FALSE(view.items[10].of_latency) << "a record that does not know its messages";
  EXPECT_THAT(no_roof_notes(view), IsEmpty());
}

// What a file claims is not believed beyond what can be.
TEST(Roofs, FloorsThatCannotBeAreNone) {
  Measurement m;
  for (const double bytes : {0.0, -1.0, 1e300, 0.5}) {
    m.extra[row(FloorManner::kOneWay).key] = bytes;
    EXPECT_FALSE(floor_in(m)) << bytes;
  }
  m.extra[row(FloorManner::kOneWay).key] = 4096;
  EXPECT_EQ(floor_in(m)->bytes, 4096u);
}

// 8 bytes on 4 ranks become 0 of each; "4093 % of the roof" stood in the tables.
TEST(Roofs, WhatSendsNothingHasNoShare) {
  const OneResult nothing(record("latency", "alltoall", "direct", 4, 8, 100));
  ASSERT_EQ(nothing.item().record->cell.bytes, 0u);
  EXPECT_FALSE(nothing.item().of_latency);
  EXPECT_EQ(nothing.item().no_roof, "");
  EXPECT_TRUE(
      OneResult(record("latency", "barrier", "dissemination", 2, 0, 9000)).item().of_latency);
}

TEST(Roofs, WhereTheShareIsShownItCarriesARemark) {
  const OneResult bad(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 250'000));
  for (const char* name : {"console", "markdown", "html"}) {
    const std::string text = roofs_text(name, bad.records);
    const bool markdown = std::string(name) == "markdown";
    EXPECT_THAT(text, HasSubstr(markdown ? "130 \\[1\\]" : "130 [1]")) << name;
    EXPECT_THAT(text, HasSubstr("measured at a bad moment")) << name;
  }
  const std::string page = roofs_text("html", bad.records);
  EXPECT_THAT(page, HasSubstr("<strong>Sound, with remarks</strong>"));
  EXPECT_THAT(page, Not(HasSubstr("130 % of the roof")));
  const OneResult good(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 400'000));
  EXPECT_THAT(roofs_text("html", good.records), HasSubstr("<strong>Sound</strong>"));
}

}  // namespace
}  // namespace plumbline
