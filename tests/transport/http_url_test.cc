// URLs of HTTP servers: what is one, what is refused, and that nothing secret is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/http/url.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view text) {
  const auto url = parse_http_url(text);
  EXPECT_FALSE(url) << text;
  if (url) return "";
  EXPECT_EQ(url.error().code, ErrorCode::kConfig);
  const std::string message = url.error().message();
  EXPECT_EQ(message.find_first_of("\r\n\x1b"), std::string::npos) << message;
  return message;
}

TEST(HttpUrl, IsHostPortAndPath) {
  EXPECT_EQ(parse_http_url("http://Mini1.local:8080").value(), (HttpUrl{"mini1.local", 8080, ""}));
  EXPECT_EQ(parse_http_url("HTTP://10.0.0.1/").value(), (HttpUrl{"10.0.0.1", 80, ""}));
  EXPECT_EQ(parse_http_url("http://a_b-c:1/v1//").value(), (HttpUrl{"a_b-c", 1, "/v1"}));
  EXPECT_EQ(parse_http_url("http://[::1]:65535/x/y").value(), (HttpUrl{"::1", 65535, "/x/y"}));
}

TEST(HttpUrl, AZoneIsKeptForTheSocketAndNotSent) {
  const HttpUrl url = parse_http_url("http://[fe80::1%25en2]:8080").value();
  EXPECT_EQ(url, parse_http_url("http://[fe80::1%en2]:8080").value());
  EXPECT_EQ(url.host, "fe80::1%en2");
  EXPECT_EQ(authority(url), "[fe80::1]:8080");
  EXPECT_EQ(parse_http_url(to_text(url)).value(), url);
}

TEST(HttpUrl, HttpsIsRefusedWithALocalProxy) {
  EXPECT_THAT(refusal("https://api.example:443/v1"), HasSubstr("local proxy"));
}

TEST(HttpUrl, SecretsAreRefusedAndNeverShown) {
  for (const char* text : {"http://me:s3cret@host:80", "http://host/?key=s3cret", "s3cret@host",
                           "http://host/#s3cret", "https://s3cret@host"}) {
    EXPECT_THAT(refusal(text), Not(HasSubstr("s3cret"))) << text;
  }
}

TEST(HttpUrl, NonsenseIsRefused) {
  const std::string long_name(300, 'a'), long_url = "http://a/" + std::string(5000, 'x');
  for (const std::string& text : {std::string(),
                                  std::string("mini1:8080"),
                                  std::string("http://"),
                                  std::string("http:///v1"),
                                  std::string("ftp://mini1"),
                                  std::string("http://mini1:"),
                                  std::string("http://mini1:0"),
                                  std::string("http://mini1:65536"),
                                  std::string("http://mini1:80x"),
                                  std::string("http://mini1:-1"),
                                  std::string("http://mini 1"),
                                  std::string("http://a..b"),
                                  std::string("http://a\r\nX: y"),
                                  std::string("http://a/\x1b[31m"),
                                  std::string("http://\xff\xfe"),
                                  std::string("http://a\0b", 10),
                                  std::string("http://[::1"),
                                  std::string("http://[::1]x"),
                                  std::string("http://[10.0.0.1]"),
                                  std::string("http://[]"),
                                  std::string("http://::1"),
                                  std::string("http://[fe80::1%e/../n]"),
                                  std::string("http://127.1"),
                                  std::string("http://0x7f000001"),
                                  std::string("http://2130706433"),
                                  std::string("http://1.2.3.256"),
                                  "http://" + long_name,
                                  long_url}) {
    refusal(text);
  }
}

}  // namespace
}  // namespace plumbline
