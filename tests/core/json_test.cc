#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

struct Numbers {
  uint64_t bytes = 7;
  int ranks = 2;
  std::optional<int64_t> at_ns;
  std::vector<uint16_t> ports;
  std::map<std::string, int64_t> counters;
  std::pair<int, int> range{0, 0};
  double ratio = 0.5;
  bool whole = true;
};
PLUMBLINE_JSON_FIELDS(Numbers, bytes, ranks, at_ns, ports, counters, range, ratio, whole)

namespace {

using nlohmann::json;
using ::testing::HasSubstr;

template <typename T>
std::string refusal(const std::string& text) {
  try {
    const T value = json::parse(text).get<T>();
    static_cast<void>(value);
    return "";
  } catch (const json::exception& error) {
    return json_reason(error);
  }
}

// get<uint64_t>() of -1.5e99 was undefined behaviour, and of -1 a very large number.
TEST(Json, IntegersOutOfRangeAreErrors) {
  for (const char* text : {"-1.5e99", "1e99", "-1", "18446744073709551616", "0.5", "\"5\"", "null",
                           "true", "[]", "{}", "1.8446744073709552e19"}) {
    EXPECT_NE(refusal<uint64_t>(text), "") << text;
  }
  for (const char* text : {"-1.5e99", "1e99", "9223372036854775808", "-9223372036854777856", "0.5",
                           "9.223372036854775808e18"}) {
    EXPECT_NE(refusal<int64_t>(text), "") << text;
  }
  for (const char* text : {"2147483648", "-2147483649", "1099511627776", "1e300", "-0.001"}) {
    EXPECT_NE(refusal<int>(text), "") << text;
  }
  for (const char* text : {"65536", "-1", "1e5"}) EXPECT_NE(refusal<uint16_t>(text), "") << text;
  EXPECT_NE(refusal<std::vector<uint32_t>>("[1, 2, -3]"), "");
  EXPECT_NE((refusal<std::map<std::string, int>>("{\"a\": 1e12}")), "");
  EXPECT_NE((refusal<std::pair<uint32_t, uint64_t>>("[4294967296, 1]")), "");
  EXPECT_THAT(refusal<uint16_t>("70000"), HasSubstr("70000 is no whole number from 0 to 65535"));
}

TEST(Json, IntegersAtTheEdgeAreTaken) {
  EXPECT_EQ(json::parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json::parse("9223372036854775807").get<int64_t>(), INT64_MAX);
  EXPECT_EQ(json::parse("-9223372036854775808").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(json::parse("-9.223372036854775808e18").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(json::parse("-2147483648").get<int>(), INT32_MIN);
  EXPECT_EQ(json::parse("65535").get<uint16_t>(), 65535);
  EXPECT_EQ(json::parse("5.0").get<int>(), 5);
  EXPECT_EQ(json::parse("1e3").get<uint64_t>(), 1000u);
  EXPECT_EQ(json::parse("-0.0").get<uint64_t>(), 0u);
  EXPECT_EQ(json(int8_t{-3}).dump(), "-3");
  EXPECT_EQ(json(UINT64_MAX).dump(), "18446744073709551615");
}

TEST(Json, ANumberOutOfRangeInAFieldNamesItsKey) {
  for (const auto& [key, text] :
       std::vector<std::pair<std::string, std::string>>{{"bytes", "-1.5e99"},
                                                        {"ranks", "1e10"},
                                                        {"at_ns", "1e30"},
                                                        {"ports", "[80, 99999]"},
                                                        {"counters", "{\"lost\": -1e19}"},
                                                        {"range", "[1, 3000000000]"},
                                                        {"ratio", "\"x\""},
                                                        {"whole", "1"}}) {
    EXPECT_THAT(refusal<Numbers>("{\"" + key + "\": " + text + "}"),
                ::testing::StartsWith(key + ": "));
  }
  EXPECT_NE(refusal<Numbers>("[]"), "");
  EXPECT_NE(refusal<Numbers>("null"), "");
}

TEST(Json, FieldsMayBeMissingOrUnknown) {
  const auto numbers = json::parse("{\"new\": 1e99, \"ranks\": 4.0}").get<Numbers>();
  EXPECT_EQ(numbers.bytes, 7u);
  EXPECT_EQ(numbers.ranks, 4);
  EXPECT_FALSE(numbers.at_ns);
  json back = numbers;
  EXPECT_EQ(back["at_ns"], nullptr);
  EXPECT_EQ(json(back.get<Numbers>()), back);
}

}  // namespace
}  // namespace plumbline
