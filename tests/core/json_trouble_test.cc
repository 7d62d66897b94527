#include "core/json_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_THAT(trouble_of("1"), HasSubstr("type must be string"));
}

}  // namespace
}  // namespace plumbline
