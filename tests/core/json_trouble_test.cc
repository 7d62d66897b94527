#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <vector>

#include "core/error.h"
#include "core/json.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string trouble_of(const std::string& text) {
  try {
    nlohmann::json::parse(text).get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    return json_trouble(error);
  }
  return "";
}

TEST(JsonTrouble, SaysWhatIsWrongAndNeverWhatWasRead) {
  const std::string secret = "hunter2";
  for (const std::string& text :
       {"\"" + secret, "\"" + secret + "\x01\"", "{\"" + secret + "\\q\": 1}",
        "9" + std::string(400, '9') + ".0e9999", "[1, " + secret, "{\"a\": tru" + secret,
        "\"" + std::string(1 << 20, '\0') + secret}) {
    const std::string trouble = trouble_of(text);
    EXPECT_NE(trouble, "");
    EXPECT_LT(trouble.size(), 320u);
    EXPECT_THAT(trouble, Not(HasSubstr(secret)));
    EXPECT_THAT(trouble, Not(HasSubstr("99999")));
  }
  EXPECT_THAT(trouble_of("[1,\n\"ab"), HasSubstr("line 2"));
  EXPECT_THAT(trouble_of("1"), HasSubstr("must be string, but is number"));
}

// Neither the library's names for its errors nor C++'s.
TEST(JsonTrouble, HoldsNoTextOfALibrary) {
  std::vector<std::string> said;
  const auto note = [&said](auto act) {
    try {
      act();
    } catch (const std::exception& error) {
      said.push_back(json_trouble(error));
      said.push_back(exception_words(error));
    }
  };
  using nlohmann::json;
  note([] { json::parse("{\"a\" 1}").dump(); });
  note([] { json(5).at("a").dump(); });
  note([] { json::object().at("a").dump(); });
  note([] { json::array().at(3).dump(); });
  note([] { json("x").get<bool>(); });
  note([] { json("x").get<double>(); });
  note([] { json(5).push_back(6); });
  note([] { json(5).value("a", 1); });
  note([] { json("\xff").dump(); });
  note([] { json::parse("1e999").dump(); });
  note([] { std::string("a").substr(5).clear(); });
  note([] { std::vector<int>().at(1) = 1; });
  note([] { throw std::bad_alloc(); });
  note([] { std::regex("(", std::regex::extended).flags(); });
  ASSERT_EQ(said.size(), 28u);
  for (const std::string& text : said) {
    EXPECT_FALSE(text.empty());
    for (const char* word :
         {"json.exception", "parse_error", "parse error", "syntax error", "cannot use",
          "type must be", "basic_string", "std::", "__", "regex", "vector", "parsing"}) {
      EXPECT_THAT(text, Not(HasSubstr(word)));
    }
  }
}

}  // namespace
}  // namespace plumbline
