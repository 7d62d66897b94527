// Two names never share a file, whatever they are and whether or not the file system knows capital
// letters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/file.h"

namespace plumbline {
namespace {

std::string folded(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "a/b" and "a_b" gave one capture, so did h1 and H1 on macOS.
TEST(FileWord, TwoNamesNeverShareAFile) {
  std::vector<std::string> names = {
      "a/b", "a_b", "a b",  "a:b", "A_B", "a_B",           "h1",  "H1",    "..",    ".",
      "",    "_",   "../x", "x",   ".x",  "a\xE2\x80\xAE", "a\n", "a\x1b", "größe", "CON"};
  // Long names that differ at their end, and names that look like what other names become.
  names.push_back(std::string(300, 'a') + "1");
  names.push_back(std::string(300, 'a') + "2");
  for (size_t i = 0, n = names.size(); i < n; ++i) names.push_back(file_word(names[i]) + "x");
  for (size_t i = 0, n = names.size(); i < n; ++i) {
    const std::string word = file_word(names[i]);
    if (std::find(names.begin(), names.end(), word) == names.end()) names.push_back(word);
  }
  std::map<std::string, std::string> owners;
  for (const std::string& name : names) {
    const std::string word = file_word(name);
    const auto [owner, fresh] = owners.emplace(folded(word), name);
    EXPECT_TRUE(fresh) << name << " and " << owner->second << " share " << word;
    EXPECT_EQ(
        word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"),
        std::string::npos)
        << word;
    EXPECT_NE(word[0], '.');
    EXPECT_LE(word.size(), 128u);
  }
}

TEST(FileWord, UsualNamesStayReadable) {
  for (const char* name : {"h1", "mini1.local", "node-07", "local0", "a_b"}) {
    EXPECT_EQ(file_word(name), name);
  }
}

TEST(FileNames, ANumberStandsBehindWhatIsTaken) {
  FileNames names;
  EXPECT_EQ(names.take("x"), "x");
  EXPECT_EQ(names.take("X"), "X_2");
  EXPECT_EQ(names.take("x_2"), "x_2_2");
  EXPECT_EQ(names.take("x"), "x_3");
}

}  // namespace
}  // namespace plumbline
