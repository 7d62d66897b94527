#include "launch/agent_lines.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace plumbline {
namespace {

using nlohmann::json;

TEST(RequestLine, IsReadAsItWasWritten) {
  const std::string line = format_request_line(7, "connect", 2000, {{"to_ip", "10.0.0.2"}});
  int64_t id = 0;
  const auto request = parse_request_line(line, &id);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(id, 7);
  EXPECT_EQ(request->id, 7);
  EXPECT_EQ(request->request, "connect");
  EXPECT_EQ(request->within_ms, 2000);
  EXPECT_EQ(json::parse(request->params), json({{"to_ip", "10.0.0.2"}}));
}

TEST(RequestLine, LeavesOutWhatMayLack) {
  const auto request = parse_request_line(R"({"id": 1, "request": "time"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->within_ms, 10'000);
  EXPECT_EQ(request->params, "{}");
}

TEST(RequestLine, LimitsAreKeptWhenWriting) {
  EXPECT_EQ(parse_request_line(format_request_line(1, "x", 0, {}))->within_ms, 1);
  EXPECT_EQ(parse_request_line(format_request_line(1, "x", INT64_MAX, {}))->within_ms, 3'600'000);
}

class HostileRequest : public testing::TestWithParam<std::pair<std::string, int64_t>> {};

TEST_P(HostileRequest, IsRefusedAndItsIdToldWhenItHasOne) {
  int64_t id = -1;
  const auto request = parse_request_line(GetParam().first, &id);
  ASSERT_FALSE(request) << GetParam().first;
  EXPECT_EQ(request.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(id, GetParam().second) << GetParam().first;
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileRequest,
    testing::Values(std::pair("", 0), std::pair("Last login: Tue", 0), std::pair("null", 0),
                    std::pair("[]", 0), std::pair("{}", 0), std::pair("{\"id\": 7", 0),
                    std::pair("{\"id\": \"7\"}", 0),
                    std::pair("{\"id\": 7.0, \"request\": \"x\"}", 0),
                    std::pair("{\"id\": 0, \"request\": \"x\"}", 0),
                    std::pair("{\"id\": -1, \"request\": \"x\"}", 0),
                    std::pair("{\"id\": 18446744073709551615, \"request\": \"x\"}", 0),
                    std::pair("{\"id\": 1e999, \"request\": \"x\"}", 0),
                    std::pair("{\"id\": 7}", 7), std::pair("{\"id\": 7, \"request\": 8}", 7),
                    std::pair("{\"id\": 7, \"request\": \"\xff\"}", 0),
                    std::pair("{\"id\": 7, \"request\": \"x\", \"within_ms\": 0}", 7),
                    std::pair("{\"id\": 7, \"request\": \"x\", \"within_ms\": \"9\"}", 7),
                    std::pair("{\"id\": 7, \"request\": \"x\", \"within_ms\": 3600001}", 7),
                    std::pair("{\"id\": 7, \"request\": \"x\", \"params\": []}", 7)));

TEST(RequestLine, AMillionBracketsAreNoProblem) {
  EXPECT_FALSE(
      parse_request_line("{\"id\":1,\"request\":\"x\",\"params\":" + std::string(1'000'000, '[')));
  const std::string deep(1'000'000, '[');
  Expected<json> answer{json()};
  EXPECT_FALSE(
      parse_reply_line("{\"id\":1,\"reply\":" + deep + std::string(1'000'000, ']') + "}", answer));
  // Brackets in a text do not count.
  EXPECT_TRUE(parse_reply_line("{\"id\":1,\"reply\":\"\\\"" + deep + "\"}", answer));
}

TEST(ReplyLine, CarriesRepliesAndErrors) {
  Expected<json> answer{json()};
  EXPECT_EQ(parse_reply_line(format_reply_line(3, json{{"a", 1}}), answer).value(), 3);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("a"), 1);
  const Error error{ErrorCode::kBusy, "port 29500", EADDRINUSE, "end it", "tcp.port_in_use"};
  EXPECT_EQ(parse_reply_line(format_reply_line(4, fail(error)), answer).value(), 4);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message(), error.message());
  EXPECT_EQ(answer.error().cause, error.cause);
  EXPECT_EQ(answer.error().code, error.code);
}

class HostileReply : public testing::TestWithParam<const char*> {};

TEST_P(HostileReply, IsRefused) {
  Expected<json> answer{json()};
  const auto id = parse_reply_line(GetParam(), answer);
  ASSERT_FALSE(id) << GetParam();
  EXPECT_EQ(id.error().code, ErrorCode::kProtocol);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileReply,
    testing::Values("", "ok", "7", "{\"id\": 7}", "{\"reply\": 7}", "{\"id\": 7, \"reply\": 1",
                    "{\"id\": null, \"reply\": 1}", "{\"id\": 7, \"reply\": 1, \"error\": {}}",
                    "{\"id\": 7, \"error\": \"x\"}", "{\"id\": 7, \"error\": {\"what\": 1}}",
                    "{\"id\": 7, \"error\": {\"errno\": 1e300}}",
                    "{\"id\": 7, \"error\": {\"errno\": \"110\"}}",
                    "{\"id\": 7, \"error\": {\"errno\": -1}}",
                    "{\"id\": 7, \"error\": {\"cause\": []}}", "{\"id\": 7, \"reply\": \"\xc3\"}"));

TEST(ReplyLine, TextThatIsNoUtf8IsMendedOnTheWay) {
  Expected<json> answer{json()};
  EXPECT_TRUE(parse_reply_line(format_reply_line(1, json("\xff")), answer));
  EXPECT_EQ(answer->get<std::string>(), "\xef\xbf\xbd");
}

TEST(Excerpt, ShowsTheBeginningInPrintableLetters) {
  EXPECT_EQ(excerpt("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(excerpt(std::string(1000, 'x'), 3), "xxx...");
}

}  // namespace
}  // namespace plumbline
