
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/command.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(SplitWords, BlanksAndQuotes) {
  const std::pair<const char*, Words> cases[] = {
      {"uname -r", {"uname", "-r"}},
      {"  a\t b  ", {"a", "b"}},
      {"a 'b c' d", {"a", "b c", "d"}},
      {"a \"b c\" ''", {"a", "b c", ""}},
      {"a'b'\"c\"d", {"abcd"}},
      {R"(a\ b \'c "\"d\\" "\e")", {"a b", "'c", "\"d\\", "\\e"}},
      {"'$x;|&<>`*?'", {"$x;|&<>`*?"}},
      {"\"a;b*\" \\; \\$", {"a;b*", ";", "$"}},
      {"a=b --c=/d:e,f@g%h+i~j#k!l[m]{n}", {"a=b", "--c=/d:e,f@g%h+i~j#k!l[m]{n}"}},
  };
  for (const auto& [text, words] : cases) {
    const auto split = split_words(text);
    ASSERT_TRUE(split) << text << ": " << split.error().message();
    EXPECT_EQ(*split, words) << text;
  }
}

// There is no shell: a text that means something to one only is not run as something else.
TEST(SplitWords, WhatOnlyAShellUnderstandsIsRefused) {
  for (const char* text : {"",       "  ",      "a | b",   "a;b",    "a && b", "a > f",  "a < f",
                           "a $(b)", "a `b`",   "a $HOME", "ls *.c", "ls ?",   "(a)",    "a\nb",
                           "\"$a\"", "\"`a`\"", "'a",      "\"a",    "a \\",   "a \"b\\"}) {
    const auto split = split_words(text);
    ASSERT_FALSE(split) << text;
    EXPECT_EQ(split.error().code, ErrorCode::kConfig);
    EXPECT_THAT(split.error().message(), HasSubstr("without a shell"));
  }
}

// What shell_line quotes comes back, from us and from a shell.
TEST(SplitWords, ReadsBackWhatShellLineWrites) {
  std::mt19937 random(20);
  const std::string alphabet = "ab '\"\\$;|&<>`*?()~#!\n\t\x01\x7f";
  for (int i = 0; i < 300; ++i) {
    Words words(1 + random() % 4);
    for (std::string& word : words) {
      for (size_t n = random() % 8; n > 0; --n) word += alphabet[random() % alphabet.size()];
    }
    const std::string line = shell_line(words);
    const auto split = split_words(line);
    ASSERT_TRUE(split) << line << ": " << split.error().message();
    EXPECT_EQ(*split, words) << line;
  }
  const Words words = {"printf", "%s|", "a b", "'", "$x", ""};
  const auto done = run_command({"sh", "-c", shell_line(words)}, Deadline::after_ms(20'000));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "a b|'|$x||");
}

}  // namespace
}  // namespace plumbline
