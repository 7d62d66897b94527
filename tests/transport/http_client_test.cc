// The client of HTTP against a server on loopback, and completions against each of its faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/support/endpoint_server.h"
#include "transport/http/client.h"
#include "transport/http/completion.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Patience http_patience(int64_t ms = 20'000) { return {Deadline::after_ms(ms)}; }

EndpointPlace place_at(const std::string& url) {
  EndpointPlace place;
  place.url = parse_http_url(url).value();
  place.addresses = resolve_url(place.url, Deadline::after_ms(5000)).value();
  return place;
}

EndpointAnswer ask(const EndpointServer& server, const CompletionCall& call,
                   int64_t silence_ms = 10'000) {
  return ask_completion(place_at(server.url()), call, silence_ms * kMillisecond, http_patience());
}

// A port on which nobody listens.
int closed_port() {
  const SocketAddress address = make_socket_address("127.0.0.1", 0).value();
  return local_address(listen_on(address, {}).value().get()).port();
}

TEST(HttpClient, AnAddressNeedsNoResolverAndANameThatIsNoneSaysSo) {
  EXPECT_EQ(to_text(resolve_url({"127.0.0.1", 80, ""}, Deadline::after_ms(0)).value().at(0)),
            "127.0.0.1:80");
  EXPECT_EQ(resolve_url({"localhost", 81, ""}, Deadline::after_ms(5000)).value().at(0).port(), 81);
  const auto none = resolve_url({"no-such-name.invalid", 80, ""}, Deadline::after_ms(5000));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUnreachable);
}

TEST(HttpClient, StepsHaveTheirTimes) {
  EndpointServer server({});
  const EndpointPlace place = place_at(server.url());
  const HttpResult result =
      http_exchange(place.url, place.addresses, {"GET", "/health", {}, ""}, {}, http_patience());
  ASSERT_TRUE(result.status) << result.status.error().message();
  EXPECT_EQ(result.head.status, 200);
  EXPECT_THAT(result.body, HasSubstr("ok"));
  const HttpTimes& t = result.times;
  EXPECT_TRUE(0 < t.begun && t.begun <= t.connected && t.connected <= t.sent &&
              t.sent <= t.answered && t.answered <= t.ended);
}

TEST(HttpClient, ARefusedConnectionIsOfTheFirstStep) {
  const HttpUrl url = {"127.0.0.1", closed_port(), ""};
  const HttpResult result = http_exchange(url, resolve_url(url, Deadline::after_ms(100)).value(),
                                          {}, {}, http_patience());
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.step, HttpStep::kConnect);
  EXPECT_EQ(result.status.error().code, ErrorCode::kRefused);
  EXPECT_THAT(result.status.error().message(), Not(HasSubstr("rank")));
}

TEST(HttpClient, TheNextAddressIsTriedWhereOneRefuses) {
  EndpointServer server({});
  EndpointPlace place = place_at(server.url());
  SocketAddress closed = place.addresses.front();
  closed.set_port(static_cast<uint16_t>(closed_port()));
  place.addresses.insert(place.addresses.begin(), closed);
  EXPECT_TRUE(ask_health(place, http_patience()).answered());
}

TEST(HttpClient, ItEndsWhenItsCallerDoes) {
  ServerScript script;
  script.fault = ServerFault::kSilent;
  EndpointServer server(script);
  std::atomic<bool> ended{false};
  Patience patience = http_patience(60'000);
  patience.ended = [&] { return ended.load(); };
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = true;
  });
  const auto answer = ask_completion(place_at(server.url()), {}, std::nullopt, patience);
  ends.join();
  EXPECT_EQ(answer.end, AnswerEnd::kSilent);
}

TEST(HttpClient, AHeadThatNeverEndsIsGivenUp) {
  ServerScript script;
  script.fault = ServerFault::kEndless;
  EndpointServer server(script);
  EXPECT_EQ(ask_health(place_at(server.url()), http_patience()).end, AnswerEnd::kMalformed);
}

TEST(Completion, IsAnsweredWholeAndStreamedByBothApis) {
  ServerScript script;
  script.odd_chunks = true;
  EndpointServer server(script);
  EXPECT_THAT(list_models(place_at(server.url() + "/v1/"), http_patience()).models,
              ElementsAre("test-model"));
  for (const EndpointApi api : {EndpointApi::kChat, EndpointApi::kCompletions}) {
    for (const bool stream : {false, true}) {
      CompletionCall call;
      call.api = api;
      call.stream = stream;
      const EndpointAnswer answer = ask(server, call);
      ASSERT_TRUE(answer.answered()) << answer.error;
      EXPECT_EQ(answer.text, "   4");
      EXPECT_EQ(answer.tokens, 4);
      EXPECT_EQ(answer.model, "test-model");
      EXPECT_EQ(answer.first_token_ns.has_value(), stream);
      EXPECT_EQ(answer.gaps_ns.size(), stream ? 3U : 0U);
    }
  }
}

// No machine makes a server early; how near the times come is for many answers to say
// (tests/collectives/endpoint_measure_test.cc).
TEST(Completion, TimesAreNoShorterThanTheServerTook) {
  ServerScript script;
  script.first_token_ms = 200;
  script.gap_ms = 80;
  script.tokens = 6;
  EndpointServer server(script);
  const EndpointAnswer answer = ask(server, {});
  ASSERT_TRUE(answer.answered()) << answer.error;
  const int64_t all = std::accumulate(answer.gaps_ns.begin(), answer.gaps_ns.end(), int64_t{0});
  EXPECT_GE(*answer.first_token_ns, 200 * kMillisecond);
  EXPECT_GE(*answer.first_token_ns + all, (200 + 5 * 80) * kMillisecond);
  EXPECT_LE(*answer.first_token_ns + all, answer.took_ns);
  EXPECT_EQ(server.served().size(), 1U);
}

TEST(Completion, EachFaultEndsInItsWord) {
  struct Row {
    ServerFault fault;
    AnswerEnd end, whole_end;
  };
  const Row rows[] = {
      {ServerFault::kSilent, AnswerEnd::kSilent, AnswerEnd::kSilent},
      {ServerFault::kGone, AnswerEnd::kGone, AnswerEnd::kGone},
      {ServerFault::kCutStream, AnswerEnd::kBroken, AnswerEnd::kBroken},
      {ServerFault::kNoDone, AnswerEnd::kBroken, AnswerEnd::kAnswered},
      {ServerFault::kStreamError, AnswerEnd::kBroken, AnswerEnd::kAnswered},
      {ServerFault::kNoJson, AnswerEnd::kMalformed, AnswerEnd::kMalformed},
      {ServerFault::kNoHttp, AnswerEnd::kMalformed, AnswerEnd::kMalformed},
      {ServerFault::kEndless, AnswerEnd::kMalformed, AnswerEnd::kMalformed},
      {ServerFault::kDrops, AnswerEnd::kBroken, AnswerEnd::kBroken},
  };
  for (const Row& row : rows) {
    ServerScript script;
    script.fault = row.fault;
    EndpointServer server(script);
    for (const bool stream : {true, false}) {
      CompletionCall call;
      call.stream = stream;
      const EndpointAnswer answer = ask(server, call, 300);
      EXPECT_EQ(answer.end, stream ? row.end : row.whole_end)
          << static_cast<int>(row.fault) << " " << to_string(answer.end) << ": " << answer.error;
      EXPECT_EQ(answer.error.empty(), answer.answered());
    }
  }
}

TEST(Completion, AFullQueueIsBusyAndTheOthersAreServed) {
  ServerScript script;
  script.at_once = 1;
  script.queue = 0;
  script.first_token_ms = 300;
  EndpointServer server(script);
  EndpointAnswer first;
  std::thread asks([&] { first = ask(server, {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const EndpointAnswer second = ask(server, {});
  asks.join();
  const bool first_busy = first.end == AnswerEnd::kBusy;  // on a machine that was busy itself
  EXPECT_TRUE((first_busy ? second : first).answered());
  const EndpointAnswer& turned_away = first_busy ? first : second;
  EXPECT_EQ(turned_away.end, AnswerEnd::kBusy);
  EXPECT_EQ(turned_away.status, 429);
  EXPECT_THAT(turned_away.error, HasSubstr("the queue is full"));
}

TEST(Completion, TheKeyIsSentAndStandsInNoMessage) {
  ServerScript script;
  script.key = "s3cret";
  EndpointServer server(script);
  EndpointPlace place = place_at(server.url());
  const EndpointAnswer without = ask_completion(place, {}, kSecond, http_patience());
  EXPECT_EQ(without.end, AnswerEnd::kRefused);
  EXPECT_EQ(without.status, 401);
  place.key = "s3cret";
  EXPECT_TRUE(ask_completion(place, {}, kSecond, http_patience()).answered());
  place.key = "s3cret\r\nX: y";
  const EndpointAnswer bad = ask_completion(place, {}, kSecond, http_patience());
  EXPECT_FALSE(bad.answered());
  EXPECT_THAT(bad.error, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace plumbline
