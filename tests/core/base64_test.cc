#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/encode.h"

namespace plumbline {
namespace {

TEST(Base64, OfRfc4648) {
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {"\xff\xfe", "//4="},
                                                        {std::string("\0\0\0\0", 4), "AAAAAA=="}}) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes) << text;
  }
}

TEST(Base64, NothingElseIsRead) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "=", "====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-_"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace plumbline
