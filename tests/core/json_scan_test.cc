// JSON that a person wrote: what is wrong with it is said as whoever has to mend it would say it,
// and every value has its line.
#include "core/json_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

std::string first_fault(const std::string& text) {
  const JsonScan scan = scan_json(text);
  if (scan.faults.empty()) return "";
  const JsonFault& fault = scan.faults.front();
  return spot_text(fault.spot) + ": " + fault.what + "; " + fault.hint;
}

struct Broken {
  const char* text;
  const char* said;
};

TEST(JsonScan, SaysWhatIsMissingAndWhere) {
  const std::vector<Broken> table = {
      {"{\n\"a\": 1\n\"b\": 2}", "3:1: a comma is missing after 1 on line 2"},
      {"{\n\"a\": \"x\" \"b\": 2}", "2:10: a comma is missing after \"x\" on line 2"},
      {"[{\"a\": 1}\n\n{\"a\": 2}]", "3:1: a comma is missing after } on line 1"},
      {"[1 2]", "1:4: a comma is missing after 1 on line 1"},
      {"{\"a\": 1,\n}", "2:1: the comma of line 1 is one too many: nothing follows it before '}'"},
      {"[1, 2,]", "1:7: the comma of line 1 is one too many: nothing follows it before ']'"},
      {"[1,, 2]", "1:4: a value is missing behind the ',' of line 1"},
      {"{\"a\":, \"b\": 1}", "1:6: a value is missing behind the ':' of line 1"},
      {"{\"a\" 1}", "1:6: a colon is missing after the key \"a\" on line 1"},
      {"{\"a\" = 1}",
       "1:6: a colon is missing after the key \"a\" on line 1; write ':' in place of"},
      {"{\"a\": \"x,\n\"b\": 1}", "1:7: the quote that closes this text is missing"},
      {"{\"a\": x\", \"b\": 1}", "1:7: the quote before 'x' is missing"},
      {"{a\": 1}", "1:2: the quote before 'a' is missing"},
      {"{\"a: \"x\"}", "1:7: the quotes do not pair up: the text \"a: \" ends here"},
      {"{\"a\": \"x, \"b\": 1}", "1:12: the quotes do not pair up: the text \"x, \" ends here"},
      {"{a: 1}", "1:2: the key 'a' is not in double quotes"},
      {"{\"a\": ring}", "1:7: 'ring' is not in double quotes"},
      {"{\"a\": True}", "1:7: 'True' is not in double quotes; did you mean true?"},
      {"{\"a\": 64Ki}", "1:7: '64Ki' is no number; numbers are written as"},
      {"{\"a\": 007}", "1:7: '007' is no number"},
      {"{\"a\": .5}", "1:7: '.5' is no number"},
      {"{\"a\": NaN}", "1:7: JSON has no 'NaN'"},
      {"{\"a\": -Infinity}", "1:7: JSON has no '-Infinity'"},
      {"{\"a\": 1e999}", "1:7: '1e999' is too large a number"},
      {"{'a': 1}", "1:2: a text stands in double quotes, not in '''"},
      {"{\"a\": \xe2\x80\x9cx\xe2\x80\x9d}", "1:7: a text stands in double quotes, not in"},
      {"# a comment\n{}", "1:1: '#' begins no comment here; a comment is written //"},
      {"{\"a\": 1} / x", "1:10: a single '/' begins no comment"},
      {"{\"a\": 1} /* x", "1:10: this comment is never closed"},
      {"{\n\"a\": [1,\n2}",
       "3:2: this '}' cannot close the '[' of line 2; a ']' is missing before"},
      {"{\n\"a\": [1,\n{\"b\": 2]}", "3:8: this ']' cannot close the '{' of line 3"},
      {"{\n\"a\": [1,\n2\n",
       "4:1: the file ends here, and the '[' of line 2 is not closed; write the"},
      {"{\"a\": 1}}", "1:9: this '}' closes nothing; it is one too many"},
      {"{\"a\": 1}\n{}", "2:1: the file goes on behind its end, the } of line 1"},
      {"{\"a\": 1; \"b\": 2}", "1:8: ';' stands where ',' or '}' should be"},
      {"{\"a\": \"\\q\"}", "1:8: '\\q' is no escape"},
      {"{\"a\": \"\\ud800\"}", "1:8: '\\ud800' is half a character"},
      {"{\"a\": \"\t\"}", "1:8: a control character (0x09) within a text"},
      {"{\"a\": \"\xff\"}", "1:8: this byte is not UTF-8"},
      {"// only this", "1:1: there is no value in this file"},
      {"", "1:1: there is no value in this file"},
      {"{\"a\": 1, \"b\": 2,\n\"a\": 3}", "2:1: key 'a' is there twice"},
  };
  for (const Broken& row : table)
    EXPECT_THAT(first_fault(row.text), HasSubstr(row.said)) << row.text;
}

TEST(JsonScan, EveryValueHasItsLine) {
  const JsonScan scan = scan_json(
      "// first\n{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": [10,\n 20]},\n    5], \"d e\": {}\n}");
  ASSERT_TRUE(scan.faults.empty());
  const auto at = [&](const char* path) { return spot_text(scan.places.find(path)); };
  EXPECT_EQ(at("$"), "2:1");
  EXPECT_EQ(at("$.a"), "3:3");
  EXPECT_EQ(at("$.b"), "4:3");
  EXPECT_EQ(at("$.b[0]"), "5:5");
  EXPECT_EQ(at("$.b[0].c"), "5:6");
  EXPECT_EQ(at("$.b[0].c[1]"), "6:2");
  EXPECT_EQ(at("$.b[1]"), "7:5");
  EXPECT_EQ(at("$['d e']"), "7:9");
  // What is not there is where it would be.
  EXPECT_EQ(at("$.b[0].x.y"), "5:5");
  EXPECT_EQ(at("$.z"), "2:1");
}

// What is not told as a fault must be JSON, and the other way round: the program parses what
// passes.
TEST(JsonScan, AgreesWithTheParser) {
  const std::string good =
      "/* c */ {\"a\": [1, -0.5e+3, true, null, \"x\\u00e9\\n\"], // d\n \"b\": {\"c\": {}}, "
      "\"d\": []}";
  size_t broken = 0;
  const auto check = [&](const std::string& text) {
    const JsonScan scan = scan_json(text);
    const bool parses = nlohmann::json::accept(text, true);
    broken += parses ? 0 : 1;
    EXPECT_EQ(!scan.broken, parses) << text;
  };
  const std::string letters = "{}[],:\"'/*# \n\\19-+.eEtnux\x01";
  for (size_t at = 0; at < good.size(); ++at) {
    check(good.substr(0, at));
    check(good.substr(0, at) + good.substr(at + 1));
    for (const char c : letters) {
      check(good.substr(0, at) + c + good.substr(at));
      check(good.substr(0, at) + c + good.substr(at + 1));
    }
  }
  EXPECT_GT(broken, 2000u);
}

TEST(JsonScan, DepthAndSizeAreSurvived) {
  const std::string open(500'000, '['), close(500'000, ']');
  EXPECT_FALSE(scan_json(open + close).broken);
  EXPECT_THAT(first_fault(open), HasSubstr("is not closed"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(scan_json(objects).broken);
  std::string twice = "{";
  for (int i = 0; i < 10'000; ++i) twice += "\"a\": 1, ";
  const JsonScan scan = scan_json(twice + "\"a\": 1}");
  EXPECT_FALSE(scan.broken);
  EXPECT_LE(scan.faults.size(), 200u);
}

}  // namespace
}  // namespace plumbline
