// What steers a terminal or turns the direction of writing is found wherever it stands.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

std::string utf8(char32_t value) {
  std::string out;
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0 | (value >> 6));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (value >> 12));
    out += static_cast<char>(0x80 | ((value >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  }
  return out;
}

// Written out once more, so that a hole in the table is seen.
bool expected_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
         c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

TEST(Printable, EveryCharacterOfTheBasicPlane) {
  for (char32_t c = 0; c < 0xD800; ++c) {
    const std::string text = "a" + utf8(c) + "b";
    ASSERT_EQ(is_control(c), expected_control(c)) << static_cast<unsigned>(c);
    ASSERT_EQ(is_printable(text), !expected_control(c)) << static_cast<unsigned>(c);
    char escape[16];
    std::snprintf(escape, sizeof escape, c < 0x100 ? "a\\x%02xb" : "a\\u%04xb",
                  static_cast<unsigned>(c));
    ASSERT_EQ(escaped(text), expected_control(c) ? escape : text) << static_cast<unsigned>(c);
    const bool blank = c >= '\t' && c <= '\r';
    ASSERT_EQ(printable(text), blank ? "a b" : escaped(text)) << static_cast<unsigned>(c);
  }
}

TEST(Printable, BytesThatAreNoUtf8) {
  for (const char* bad :
       {"\x9b", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x80", "\xFF"}) {
    EXPECT_FALSE(is_printable(bad));
    const std::string text = printable(bad);
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(text.substr(0, 2), "\\x") << text;
  }
}

TEST(Printable, JsonStaysTheSameValue) {
  const std::string evil = "a\x1b[2J\x7f" + utf8(0x9b) + utf8(0x202E) + "\xE6\x97\xA5\"\\" +
                           utf8(0x2028) + "\\" + utf8(0x85);
  const nlohmann::json json = {{evil, evil}, {"list", {evil, 1}}};
  const std::string text = printable_json(json.dump());
  EXPECT_EQ(nlohmann::json::parse(text), json);
  EXPECT_TRUE(is_printable(text)) << text;
  EXPECT_EQ(printable_json("{\"a\": 1}"), "{\"a\": 1}");
}

}  // namespace
}  // namespace plumbline
