// What reports say of servers of language models.
#include "reports/endpoint_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/report.h"
#include "reports/rules.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A server that answers two side by side in a second each, ten tokens.
Record served(int at_once) {
  Record record;
  record.cell.kind = CellKind::kEndpoint;
  record.cell.op = "endpoint";
  record.cell.ranks = 1;
  record.cell.url = "http://mini1:8080";
  record.cell.api = "chat";
  record.cell.answer = "stream";
  record.cell.max_tokens = 64;
  record.cell.outstanding = at_once;
  Measurement& m = record.measurement;
  const double waits = std::max(1.0, at_once / 2.0);
  m.samples_ns = {200'000'000};
  m.hist.add(200'000'000);
  m.iterations = 1;
  m.extra = {{kEndpointRequests, 12},     {"endpoint_answered_count", 10},
             {"endpoint_busy_count", 2},  {kEndpointTokenRate, 10 * std::min(at_once, 2)},
             {kEndpointAnswerRate, 12.5}, {kEndpointAnswerTime, 1e9 * waits},
             {kEndpointGap50, 80e6}};
  m.verified = true;
  recompute(record);
  return record;
}

std::string markdown_of(const std::vector<Record>& records) {
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const ReportRow* row = find_report("markdown");
  EXPECT_NE(row, nullptr);
  if (row == nullptr) return {};
  EXPECT_TRUE(row->write(input, target));
  return out.str();
}

TEST(EndpointView, ASweepHasOneTableAndItsKnee) {
  const std::string text = markdown_of({served(4), served(1), served(8), served(2)});
  EXPECT_THAT(text, HasSubstr("http://mini1:8080 chat stream, at most 64 tokens"));
  EXPECT_THAT(text, HasSubstr("knee: 2 at once, 20 tokens/s, an answer in 1"));
  EXPECT_LT(text.find("| 1 |"), text.find("| 8 |"));
  EXPECT_THAT(markdown_of({served(1), served(2)}), Not(HasSubstr("knee: 2")));
}

TEST(EndpointView, WhatWentWrongIsToldAndNothingMovesTheCursor) {
  Record broken = served(2);
  broken.cell.url = "http://mini1:8080/\x1b[31m";
  broken.measurement.outcome = Outcome::kFailed;
  broken.measurement.cause = "endpoint.stalled";
  broken.measurement.reason = "the server gave up:\x1b[2J out of memory";
  const std::string text = markdown_of({broken});
  EXPECT_THAT(text, HasSubstr("endpoint.stalled"));
  EXPECT_THAT(text, HasSubstr("out of memory"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(EndpointView, RulesCanAskForEachNumber) {
  const std::vector<Record> records = {served(2)};
  const View view = make_view(records);
  const Item& item = view.items.at(0);
  const auto value = [&](const char* name) {
    const auto metric = find_metric(name);
    EXPECT_TRUE(metric) << name;
    EXPECT_TRUE(metric->means_something_for(records[0].cell)) << name;
    return metric->row->value(view, item).number.value_or(-1);
  };
  EXPECT_EQ(value("tokens_per_s"), 20);
  EXPECT_EQ(value("answer_tokens_per_s"), 12.5);
  EXPECT_EQ(value("answer"), 1e9);
  EXPECT_EQ(value("gap_p50"), 80e6);
  EXPECT_EQ(value("gap_p99"), -1) << "it was not told";
  EXPECT_EQ(value("busy"), 2);
  EXPECT_EQ(value("unanswered"), 0);
  EXPECT_EQ(value("wrong_answers"), 0);
  EXPECT_EQ(value("p50"), 2e8);
  EXPECT_FALSE(find_metric("busbw")->means_something_for(records[0].cell));
}

}  // namespace
}  // namespace plumbline
