#include "reports/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plumbline {
namespace {

TEST(Text, WidthOfUtf8) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("größe"), 5U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);         // e and a combining accent
  EXPECT_EQ(display_width("\xFF\xC3"), 2U);          // no UTF-8
  EXPECT_EQ(display_width("\xE6\x97"), 2U);          // cut in the middle
  EXPECT_EQ(display_width("\xC0\xAF"), 2U);          // overlong
  EXPECT_EQ(display_width("\xED\xA0\x80"), 3U);      // a surrogate
  EXPECT_EQ(display_width("\xF4\x90\x80\x80"), 4U);  // beyond U+10FFFF
}

TEST(Text, CleanLeavesNoControlCharacter) {
  EXPECT_EQ(clean("a\nb\tc\r\x1b[31m"), "a b c \\x1b[31m");
  EXPECT_EQ(clean("ok größe 日本"), "ok größe 日本");
  EXPECT_EQ(clean("\xFFx\xC2\x9Bz"), "\\xffx\\x9bz");  // C1 control as UTF-8
  EXPECT_EQ(clean("a\xE2\x80\xAE"
                  "b"),
            "a\\u202eb");  // right-to-left override
  EXPECT_EQ(clean(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Text, FitPadsAndCuts) {
  EXPECT_EQ(fit("ab", 4, true), "ab  ");
  EXPECT_EQ(fit("ab", 4, false), "  ab");
  EXPECT_EQ(fit("abcdef", 4, true), "abc~");
  EXPECT_EQ(fit("日本語", 4, true), "日~ ");
  EXPECT_EQ(fit("abc", 0, true), "");
}

TEST(Text, WrapBreaksWordsThatAreTooLong) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefgh xy", 3), (std::vector<std::string>{"abc", "def", "gh", "xy"}));
  EXPECT_EQ(wrap("one two", 6, "- "), (std::vector<std::string>{"- one", "  two"}));
  EXPECT_EQ(wrap("", 10), (std::vector<std::string>{""}));
  EXPECT_EQ(wrap("a b", 0), (std::vector<std::string>{"a b"}));
  EXPECT_EQ(wrap("日本", 1), (std::vector<std::string>{"日", "本"}));  // no endless loop
}

TEST(Text, Numbers) {
  EXPECT_EQ(us_text(12.3), "0.0123");  // was "0.01"
  EXPECT_EQ(us_text(99.94), "0.0999");
  EXPECT_EQ(us_text(99.96), "0.10");
  EXPECT_EQ(us_text(0.0), "0.00");
  EXPECT_EQ(us_text(9812.0), "9.81");
  EXPECT_EQ(us_text(99'994.0), "99.99");
  EXPECT_EQ(us_text(99'996.0), "100.0");
  EXPECT_EQ(us_text(9'999'600.0), "10000");
  EXPECT_EQ(us_text(std::nullopt), "");
  EXPECT_EQ(us_text(std::nan("")), "");
  EXPECT_EQ(gbps_text(420'000.0), "0.00042");
  EXPECT_EQ(gbps_text(5.634e9), "5.63");
  EXPECT_EQ(gbps_text(118.87e9), "118.9");
  EXPECT_EQ(gbps_text(std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(percent_text(0.614), "61");
  EXPECT_EQ(percent_text(0.0614), "6.1");
  EXPECT_EQ(percent_text(std::nan("")), "");
}

}  // namespace
}  // namespace plumbline
