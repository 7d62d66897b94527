// Cells of servers of language models, against a server that does what the test wants.
#include "collectives/endpoints/endpoint_measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/support/endpoint_server.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Cell endpoint_cell(const std::string& url, int at_once = 1) {
  Cell cell;
  cell.kind = CellKind::kEndpoint;
  cell.op = "endpoint";
  cell.ranks = 1;
  cell.url = url;
  cell.api = "chat";
  cell.answer = "stream";
  cell.max_tokens = 64;
  cell.outstanding = at_once;
  return cell;
}

Measurement measured(const Cell& cell, int64_t time_ms, int64_t silence_ms = 20'000) {
  MeasureSettings settings;
  settings.throughput_time_ns = time_ms * kMillisecond;
  settings.endpoint_silence_ms = silence_ms;
  auto result = measure_endpoint(cell, settings, {});
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return result ? *result : Measurement();
}

double share(double seen, double done) { return seen / done; }

// Of what the server did, by the same clock: a loaded machine makes both late.
TEST(EndpointCell, TimesAndRatesAreWithinFivePercentOfWhatTheServerDid) {
  ServerScript script;
  script.first_token_ms = 400;
  script.gap_ms = 120;
  script.tokens = 6;
  EndpointServer server(script);
  const Measurement m = measured(endpoint_cell(server.url()), 2500);
  ASSERT_EQ(m.outcome, Outcome::kPassed) << m.reason;
  EXPECT_TRUE(m.verified);
  const std::vector<ServedQuestion> did = server.served();
  ASSERT_EQ(m.iterations, did.size());
  ASSERT_GE(did.size(), 2U);
  std::vector<int64_t> first, gaps;
  for (const ServedQuestion& one : did) {
    first.push_back(one.token_ns.front() - one.came_ns);
    for (size_t i = 1; i < one.token_ns.size(); ++i) {
      gaps.push_back(one.token_ns[i] - one.token_ns[i - 1]);
    }
  }
  std::sort(first.begin(), first.end());
  std::sort(gaps.begin(), gaps.end());
  // Where the server itself cannot keep its times, nobody can.
  constexpr double kBusyMachine = 1.02;
  const auto first_did = static_cast<double>(quantile_sorted(first, 0.5));
  const auto gap_did = static_cast<double>(quantile_sorted(gaps, 0.5));
  if (first_did > kBusyMachine * 400e6 || gap_did > kBusyMachine * 120e6) {
    GTEST_SKIP() << "this machine is too busy to tell 5 % of these times";
  }
  const TimeSummary seen = time_of(m);
  EXPECT_NEAR(share(*seen.p50, first_did), 1, 0.05);
  EXPECT_NEAR(share(*extra_of(m, kEndpointGap50), gap_did), 1, 0.05);
  EXPECT_FALSE(extra_of(m, kEndpointGap99)) << "too few gaps for it";
  const double seconds =
      static_cast<double>(did.back().token_ns.back() - did.front().came_ns) / 1e9;
  const double tokens = 6.0 * static_cast<double>(did.size());
  EXPECT_EQ(extra_of(m, kEndpointTokens), tokens);
  EXPECT_NEAR(share(*extra_of(m, kEndpointTokenRate), tokens / seconds), 1, 0.05);
  EXPECT_NEAR(share(*m.ops_per_s, static_cast<double>(did.size()) / seconds), 1, 0.05);
  // And of what it was told, as far as no machine makes it early.
  EXPECT_GE(*seen.min, 400e6);
  EXPECT_GE(*extra_of(m, kEndpointGap50), 0.95 * 120e6);
}

TEST(EndpointCell, AnswersThatComeWholeAreTimedWhole) {
  ServerScript script;
  script.first_token_ms = 100;
  script.gap_ms = 20;
  script.tokens = 6;
  EndpointServer server(script);
  Cell cell = endpoint_cell(server.url());
  cell.answer = "whole";
  cell.api = "completions";
  const Measurement m = measured(cell, 100);
  ASSERT_EQ(m.outcome, Outcome::kPassed) << m.reason;
  EXPECT_GE(*time_of(m).min, 200e6);
  EXPECT_EQ(extra_of(m, kEndpointTokens), 6.0 * static_cast<double>(m.iterations));
  EXPECT_FALSE(extra_of(m, kEndpointGap50));
}

TEST(EndpointCell, SeveralClientsAskAtATime) {
  ServerScript script;
  script.first_token_ms = 300;
  script.tokens = 1;
  EndpointServer server(script);
  const Measurement m = measured(endpoint_cell(server.url(), 4), 100);
  EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
  EXPECT_EQ(m.iterations, 4U) << "each client once at least, and the time was over then";
}

TEST(EndpointCell, AFullQueueIsCountedAndNoFailureWhileOthersAreServed) {
  ServerScript script;
  script.at_once = 1;
  script.queue = 1;
  script.first_token_ms = 200;
  EndpointServer server(script);
  const Measurement m = measured(endpoint_cell(server.url(), 6), 500);
  EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
  EXPECT_GT(extra_of(m, "endpoint_busy_count").value_or(0), 0);
  EXPECT_GT(extra_of(m, "endpoint_answered_count").value_or(0), 0);
}

TEST(EndpointCell, EachFaultHasItsCause) {
  struct Row {
    ServerFault fault;
    const char* cause;
    const char* count;
  };
  const Row rows[] = {
      {ServerFault::kSilent, "endpoint.stalled", "endpoint_silent_count"},
      {ServerFault::kGone, "endpoint.stalled", "endpoint_gone_count"},
      {ServerFault::kCutStream, "endpoint.stalled", "endpoint_broken_count"},
      {ServerFault::kNoDone, "endpoint.stalled", "endpoint_broken_count"},
      {ServerFault::kStreamError, "endpoint.stalled", "endpoint_broken_count"},
      {ServerFault::kDrops, "endpoint.stalled", "endpoint_broken_count"},
      {ServerFault::kNoJson, "endpoint.wrong_answer", "endpoint_malformed_count"},
      {ServerFault::kNoHttp, "endpoint.wrong_answer", "endpoint_malformed_count"},
      {ServerFault::kWrongAnswer, "endpoint.wrong_answer", "endpoint_wrong_count"},
  };
  for (const Row& row : rows) {
    ServerScript script;
    script.fault = row.fault;
    EndpointServer server(script);
    Cell cell = endpoint_cell(server.url(), 2);
    cell.model = "test-model";
    cell.answer_has = "4";
    const Measurement m = measured(cell, 50, 500);
    EXPECT_EQ(m.outcome, Outcome::kFailed) << row.count;
    EXPECT_EQ(m.cause, row.cause) << m.reason;
    EXPECT_FALSE(m.verified);
    EXPECT_FALSE(m.reason.empty());
    EXPECT_GT(extra_of(m, row.count).value_or(0), 0) << row.count;
  }
}

TEST(EndpointCell, NobodyThereIsAResultToo) {
  int port = 0;
  {
    EndpointServer gone({});
    port = gone.port();
  }
  const Measurement m = measured(endpoint_cell("http://127.0.0.1:" + std::to_string(port)), 100);
  EXPECT_EQ(m.outcome, Outcome::kFailed);
  EXPECT_EQ(m.cause, "endpoint.unreachable");
  EXPECT_EQ(measured(endpoint_cell("http://no-such-name.invalid"), 100).cause,
            "endpoint.unreachable");
  EXPECT_FALSE(measure_endpoint(endpoint_cell("https://x"), {}, {}));
}

TEST(EndpointCell, AnInterruptionEndsIt) {
  ServerScript script;
  script.fault = ServerFault::kSilent;
  EndpointServer server(script);
  MeasureSettings settings;
  settings.endpoint_silence_ms = 60'000;
  MeasureContext context;
  const int64_t begin = monotonic_ns();
  context.interrupted = [begin] { return monotonic_ns() - begin > 100 * kMillisecond; };
  const auto m = measure_endpoint(endpoint_cell(server.url(), 3), settings, context);
  ASSERT_TRUE(m);
  EXPECT_LT(monotonic_ns() - begin, 30 * kSecond);
  EXPECT_EQ(m->stop_reason, "interrupted");
  EXPECT_EQ(m->outcome, Outcome::kSkipped);
}

TEST(EndpointCell, TheKeyStandsInNoMeasurement) {
  ServerScript script;
  script.key = "s3cret";
  EndpointServer server(script);
  MeasureSettings settings;
  settings.throughput_time_ns = kMillisecond;
  Cell cell = endpoint_cell(server.url());
  const auto without = measure_endpoint(cell, settings, {});
  EXPECT_EQ(without.value().cause, "endpoint.wrong_answer");
  EXPECT_THAT(without->reason, HasSubstr("401"));
  settings.endpoint_key = "s3cret";
  EXPECT_EQ(measure_endpoint(cell, settings, {}).value().outcome, Outcome::kPassed);
  settings.endpoint_key = "s3cret\r\n";
  EXPECT_THAT(measure_endpoint(cell, settings, {}).value().reason, Not(HasSubstr("s3cret")));
}

TEST(EndpointCell, AQuestionIsAsLongAsIsAskedFor) {
  for (const EndpointApi api : {EndpointApi::kChat, EndpointApi::kCompletions}) {
    const std::string least = endpoint_prompt(api, 0);
    EXPECT_EQ(endpoint_prompt(api, 10), least);
    EXPECT_EQ(endpoint_prompt(api, 1000).size(), 1000U);
    EXPECT_THAT(endpoint_prompt(api, 1000), HasSubstr(least));
    EXPECT_EQ(endpoint_prompt(api, least.size() + 1).size(), least.size() + 1);
  }
}

TEST(EndpointCell, TheWorstDecidesAndNothingIsNoResult) {
  const Cell cell = endpoint_cell("http://a");
  EXPECT_EQ(judge_answers(cell, {}, 0).outcome, Outcome::kSkipped);
  EndpointAnswer good, busy, gone;
  good.first_token_ns = 5;
  good.tokens = 3;
  good.gaps_ns = {10, 20};
  busy.end = AnswerEnd::kBusy;
  busy.error = "429";
  gone.end = AnswerEnd::kGone;
  gone.error = "504";
  EXPECT_EQ(judge_answers(cell, {good, busy}, kSecond).outcome, Outcome::kPassed);
  EXPECT_EQ(judge_answers(cell, {busy}, kSecond).cause, "endpoint.busy");
  const Measurement m = judge_answers(cell, {busy, good, gone}, kSecond);
  EXPECT_EQ(m.cause, "endpoint.stalled");
  EXPECT_EQ(m.reason, "504");
  EXPECT_EQ(extra_of(m, kEndpointTokenRate), 3.0);
  EXPECT_NEAR(*extra_of(m, kEndpointAnswerRate), 2e9 / 30, 1);
  EXPECT_FALSE(m.wrong) << "nobody asked for it";
}

}  // namespace
}  // namespace plumbline
