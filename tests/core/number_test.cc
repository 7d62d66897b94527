// Numbers in text: the whole text is one or it is none, and there is one reader of them.
#include "core/number.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/support/sanitized.h"
#include "tests/support/source_lines.h"

namespace plumbline {
namespace {

TEST(Numbers, AreTheWholeTextOrNone) {
  EXPECT_EQ(parse_whole("0"), 0);
  EXPECT_EQ(parse_whole("-7"), -7);
  EXPECT_EQ(parse_whole("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_whole<uint64_t>("18446744073709551615"), UINT64_MAX);
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv, "x"sv, "2x"sv, " 2"sv, "2 "sv, "+2"sv, "0x2"sv, "2.0"sv,
                                      "1e3"sv, "--2"sv, "2\0"sv, "9223372036854775808"sv}) {
    EXPECT_EQ(parse_whole(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_whole<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_whole<unsigned char>("256"), std::nullopt);
}

TEST(Numbers, OutsideTheirBoundsAreNone) {
  EXPECT_EQ(parse_whole("1", 1, 3), 1);
  EXPECT_EQ(parse_whole("3", 1, 3), 3);
  EXPECT_EQ(parse_whole("0", 1, 3), std::nullopt);
  EXPECT_EQ(parse_whole("4", 1, 3), std::nullopt);
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* text : {"0", "-0", "65536", "80x", ""}) {
    EXPECT_EQ(parse_port(text), std::nullopt) << text;
  }
}

TEST(Numbers, HexadecimalOnesHaveNoMarkInFront) {
  EXPECT_EQ(parse_hex("ff"), 255u);
  EXPECT_EQ(parse_hex("FFFFFFFF"), 0xffffffffu);
  for (const char* text : {"", "0xff", "g", "-1", "100000000"}) {
    EXPECT_EQ(parse_hex(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_hex<uint16_t>("10000"), std::nullopt);
}

TEST(Numbers, AtTheStartOfAText) {
  EXPECT_EQ(leading_whole("4711 (python3)"), 4711);
  EXPECT_EQ(leading_whole(" 4711"), std::nullopt);
  EXPECT_EQ(leading_whole(""), std::nullopt);
  EXPECT_EQ(leading_whole<int>("99999999999 packets"), std::nullopt);
}

TEST(Numbers, DecimalOnesArePlain) {
  EXPECT_EQ(parse_decimal("1.5"), 1.5);
  EXPECT_EQ(parse_decimal("-.5"), -.5);
  EXPECT_EQ(parse_decimal("+2."), 2);
  EXPECT_EQ(parse_decimal("1e-3"), 1e-3);
  for (const char* text :
       {"", "-", "+-1", "nan", "inf", "0x10", " 1", "1 ", "1e", "1e999", "1,5", ".", "1.2.3"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  }
  std::string_view text = "0.045 ms";
  EXPECT_EQ(take_decimal(text), 0.045);
  EXPECT_EQ(text, " ms");
  EXPECT_EQ(take_decimal(text), std::nullopt);
  EXPECT_EQ(text, " ms");
}

// Readers that stop at what they do not understand, or take it for 0, and the one below all others.
const std::regex& forbidden() {
  static const std::regex words(
      R"(\b(ato[ifl]l?|strto[a-z]+|sto(i|l|ll|ul|ull|f|d|ld)|from_chars)\s*\()");
  return words;
}

TEST(Numbers, AreReadInOnePlace) {
  if (test::kSanitized) GTEST_SKIP() << test::kSources;
  ASSERT_TRUE(std::regex_search("value = std::atoi(text.c_str());", forbidden()));
  ASSERT_TRUE(std::regex_search("std::from_chars(a, b, c)", forbidden()));
  ASSERT_FALSE(std::regex_search("restore(x)", forbidden()));
  // JSON has rules of its own for its numbers.
  expect_only_in({"core/number.h", "core/number.cc", "core/json_lexer.cc"}, forbidden());
}

}  // namespace
}  // namespace plumbline
