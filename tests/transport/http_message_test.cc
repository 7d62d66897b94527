// Messages of HTTP: what may be sent, and responses in every cut, hostile ones too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/http/message.h"

namespace plumbline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// What a reader makes of a whole connection.
struct ReadWhole {
  Status status;
  HttpHead head;
  std::string body;
  bool done = false;
};

ReadWhole read_in_pieces(std::string_view text, size_t piece, HttpLimits limits = {}) {
  ReadWhole out;
  HttpResponseReader reader(limits);
  while (out.status && !text.empty()) {
    const size_t count = std::min(piece, text.size());
    out.status = reader.feed(text.substr(0, count), out.body);
    text.remove_prefix(count);
  }
  if (out.status) out.status = reader.end();
  out.head = reader.head();
  out.done = reader.done();
  return out;
}

// Every cut must give the same.
ReadWhole read_response(std::string_view text, HttpLimits limits = {}) {
  const ReadWhole whole = read_in_pieces(text, text.size() + 1, limits);
  for (const size_t piece : {1, 2, 3, 7}) {
    const ReadWhole cut = read_in_pieces(text, piece, limits);
    EXPECT_EQ(cut.status.has_value(), whole.status.has_value()) << text;
    EXPECT_EQ(cut.done, whole.done) << text;
    if (whole.status) {
      EXPECT_EQ(cut.body, whole.body) << text;
    }
    if (!whole.status && !cut.status) {
      EXPECT_EQ(cut.status.error().code, whole.status.error().code);
    }
  }
  return whole;
}

ErrorCode code_of(std::string_view text) {
  const ReadWhole read = read_response(text);
  EXPECT_FALSE(read.status) << text;
  return read.status ? ErrorCode::kSystem : read.status.error().code;
}

const HttpUrl kServer = {"::1", 8080, ""};

TEST(HttpRequest, IsWrittenWithItsLength) {
  HttpRequest request{"POST", "/v1/completions", {{"Authorization", "Bearer k"}}, "{}"};
  EXPECT_EQ(request_text(kServer, request).value(),
            "POST /v1/completions HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: plumbline\r\n"
            "Connection: close\r\nAuthorization: Bearer k\r\nContent-Length: 2\r\n\r\n{}");
  request.body.clear();
  EXPECT_THAT(request_text(kServer, request).value(), EndsWith("Content-Length: 0\r\n\r\n"));
}

TEST(HttpRequest, NothingCanEndALine) {
  const std::vector<HttpHeader> headers = {
      {"A", "k\r\nX: y"}, {"A", "k\n"},    {"A", " k"},   {"A", "\xc3\xa9"},      {"A:", "k"},
      {"", "k"},          {"A\r\nB", "k"}, {"Host", "k"}, {"content-length", "9"}};
  for (const HttpHeader& header : headers) {
    const auto text = request_text(kServer, {"GET", "/", {header}, ""});
    EXPECT_FALSE(text) << header.name << header.value;
  }
  for (const char* target : {"", "v1", "/a b", "/a\r\nX: y", "/\x7f"}) {
    EXPECT_FALSE(request_text(kServer, {"GET", target, {}, ""})) << target;
  }
  EXPECT_FALSE(request_text(kServer, {"GE T", "/", {}, ""}));
  EXPECT_FALSE(request_text(kServer, {"", "/", {}, ""}));
}

TEST(HttpRequest, AKeyThatCannotBeSentIsNotShown) {
  const auto text = request_text(kServer, {"GET", "/", {{"Authorization", "Bearer s3cret\n"}}, ""});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message(), Not(HasSubstr("s3cret")));
}

TEST(HttpResponse, EndsByLengthChunksOrWithTheConnection) {
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").body, "abc");
  EXPECT_EQ(read_response("HTTP/1.0 200\nContent-length:  3 \n\nabc").body, "abc");
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\n\r\nabc").body, "abc");
  EXPECT_EQ(read_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
                          "2;x=\"y\"\r\nab\r\nA\r\n0123456789\r\n0\r\nT: u\r\n\r\n")
                .body,
            "ab0123456789");
  EXPECT_TRUE(read_response("HTTP/1.1 204 No Content\r\n\r\n").done);
  EXPECT_TRUE(read_response("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n").done);
}

TEST(HttpResponse, HeadersAreFoundByLowerCaseNames) {
  const HttpHead head = read_response("HTTP/1.1 429 \r\nRetry-After: 5\r\nX:\r\n\r\n").head;
  EXPECT_EQ(head.status, 429);
  EXPECT_EQ(head.value("retry-after"), "5");
  EXPECT_EQ(head.value("x"), "");
  EXPECT_EQ(head.value("y"), "");
}

TEST(HttpResponse, AnInterimOneIsNotTheAnswer) {
  const ReadWhole read = read_response(
      "HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(read.head.status, 200);
  EXPECT_EQ(read.head.headers.size(), 1U);
  EXPECT_EQ(read.body, "x");
  EXPECT_EQ(code_of("HTTP/1.1 101 Switching\r\n\r\n"), ErrorCode::kProtocol);
}

TEST(HttpResponse, WhatIsCutOffIsLostAndNotBroken) {
  for (const char* text : {"", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b",
                           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"}) {
    EXPECT_EQ(code_of(text), ErrorCode::kPeerLost) << text;
  }
}

TEST(HttpResponse, WhatIsNoneSaysWhere) {
  for (const char* text :
       {"SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/2 200\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 999 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "\r\n",
        "HTTP/1.1 200 O\x01K\r\n",
        "HTTP/1.1 200 OK\r\nno header\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"}) {
    EXPECT_EQ(code_of(text), ErrorCode::kProtocol) << text;
  }
  std::string body;
  HttpResponseReader reader;
  const Status read = reader.feed("HTTP/1.1 200 OK\r\nA: b\r\n\x1b[2J\r\n", body);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("at byte 29 of the response"));
  EXPECT_THAT(read.error().message(), Not(HasSubstr("\x1b")));
  EXPECT_FALSE(reader.feed("HTTP/1.1 200 OK\r\n", body)) << "it has to stay broken";
  EXPECT_FALSE(reader.end());
}

TEST(HttpResponse, NothingGrowsWithoutEnd) {
  const HttpLimits limits = {100, 10};
  const auto code = [&](const std::string& text) {
    const ReadWhole read = read_response(text, limits);
    return read.status ? ErrorCode::kSystem : read.status.error().code;
  };
  const std::string much(101, 'a'), head = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(code(much), ErrorCode::kProtocol);
  EXPECT_EQ(code(head + "A: " + much), ErrorCode::kProtocol);
  std::string interim;
  for (int i = 0; i < 5; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(code(interim), ErrorCode::kProtocol);
  EXPECT_EQ(code(head + "\r\n" + std::string(11, 'x')), ErrorCode::kProtocol);
  EXPECT_EQ(code(head + "Content-Length: 11\r\n\r\n"), ErrorCode::kProtocol);
  EXPECT_EQ(code(chunked + "b\r\n" + std::string(11, 'x')), ErrorCode::kProtocol);
  EXPECT_EQ(code(chunked + "1\r\nx\r\na\r\n0123456789"), ErrorCode::kProtocol);
  EXPECT_EQ(code(chunked + "1;" + much), ErrorCode::kProtocol);
  EXPECT_EQ(code(chunked + "0\r\nT: " + much), ErrorCode::kProtocol);
}

}  // namespace
}  // namespace plumbline
