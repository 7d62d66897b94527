#include "core/record/json_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> split(std::string_view text) {
  std::vector<JsonMember> members;
  std::vector<std::pair<std::string, std::string>> out;
  if (!split_object(text, members)) return {{"no", "object"}};
  for (const auto& [key, value] : members) out.emplace_back(key, value);
  return out;
}

TEST(JsonSlices, AnObjectIsCutIntoItsMembers) {
  EXPECT_THAT(split(R"( {"a" : 1 ,"b":{"c":[1,{"d":"}]"}]}, "e\"": "x,\"y\\" , "f":null} )"),
              ElementsAre(Pair("a", "1"), Pair("b", R"({"c":[1,{"d":"}]"}]})"),
                          Pair(R"(e\")", R"("x,\"y\\")"), Pair("f", "null")));
  EXPECT_THAT(split("{}"), IsEmpty());
  EXPECT_THAT(split(" { } "), IsEmpty());
}

TEST(JsonSlices, WhatIsNoObjectIsRefused) {
  for (const char* text :
       {"", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":[1}", "{a:1}",
        "{\"a\":1}x", "{\"a\":\"", "{\"a\":\"\\\"}", "{\"a\":1 \"b\":2", "{,}", "{\"a", "nul"}) {
    EXPECT_THAT(split(text), ElementsAre(Pair("no", "object"))) << text;
  }
  EXPECT_THAT(split("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
              ElementsAre(Pair("no", "object")));
}

TEST(JsonSlices, ListsOfWholeNumbers) {
  std::vector<int64_t> numbers;
  EXPECT_TRUE(read_integers("[1, -2,9223372036854775807 ]", numbers));
  EXPECT_THAT(numbers, ElementsAre(1, -2, INT64_MAX));
  EXPECT_TRUE(read_integers("[]", numbers));
  EXPECT_THAT(numbers, IsEmpty());
  for (const char* text : {"", "[", "[1", "[1,]", "[1.5]", "[1e3]", "[9223372036854775808]",
                           "[1 2]", "[007]", "[-]", "[+1]", "[null]", "[1]x", "1", "[-01]"}) {
    EXPECT_FALSE(read_integers(text, numbers)) << text;
  }
  std::vector<std::pair<uint32_t, uint64_t>> pairs;
  EXPECT_TRUE(read_integer_pairs("[[1,2], [ 3 , 18446744073709551615 ]]", pairs));
  EXPECT_THAT(pairs, ElementsAre(Pair(1, 2), Pair(3, UINT64_MAX)));
  for (const char* text :
       {"[[1,-2]]", "[[4294967296,1]]", "[[1]]", "[[1,2,3]]", "[1,2]", "[[1,2]"}) {
    EXPECT_FALSE(read_integer_pairs(text, pairs)) << text;
  }
  uint64_t one = 0;
  EXPECT_TRUE(read_integer("12", one));
  EXPECT_EQ(one, 12u);
  EXPECT_FALSE(read_integer("-12", one));
  EXPECT_FALSE(read_integer("12 ", one));
}

TEST(JsonSlices, WordsForNoNumberBecomeNull) {
  EXPECT_EQ(without_nonfinite(R"({"a":NaN,"b":[-Infinity, inf,+INF],"c":"NaN","d":"\"nan"})"),
            R"({"a":null,"b":[null, null,null],"c":"NaN","d":"\"nan"})");
  EXPECT_FALSE(without_nonfinite(R"({"a":1,"b":"NaN \" Infinity","c":null,"d":infinite})"));
  EXPECT_FALSE(without_nonfinite(""));
  EXPECT_FALSE(without_nonfinite("\"\\"));
  EXPECT_EQ(without_nonfinite("nan"), "null");
}

}  // namespace
}  // namespace plumbline
