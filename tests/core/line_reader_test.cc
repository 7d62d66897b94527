#include "core/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "core/temporary_folder.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each line as "number:bytes:text", with "~" where the newline is missing and "!" when too long.
std::vector<std::string> lines_of(const std::string& path, size_t longest) {
  auto reader = LineReader::open(path, longest);
  if (!reader) return {reader.error().message()};
  std::vector<std::string> out;
  TextLine line;
  for (;;) {
    const Expected<bool> more = reader->next(line);
    if (!more) return {more.error().message()};
    if (!*more) return out;
    out.push_back(std::to_string(line.number) + ":" + std::to_string(line.bytes) + ":" +
                  std::string(line.text) + (line.ended ? "" : "~") + (line.too_long ? "!" : ""));
  }
}

class LineReaderTest : public ::testing::Test {
 protected:
  std::string file(const std::string& content) const {
    const std::string path = (folder_.path() / "lines").string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(LineReaderTest, LinesOfAllKinds) {
  EXPECT_THAT(lines_of(file("a\n\nbc\r\nd"), 10),
              ElementsAre("1:1:a", "2:0:", "3:3:bc\r", "4:1:d~"));
  EXPECT_THAT(lines_of(file("a\n"), 10), ElementsAre("1:1:a"));
  EXPECT_THAT(lines_of(file("\n"), 10), ElementsAre("1:0:"));
  EXPECT_THAT(lines_of(file(""), 10), IsEmpty());
}

TEST_F(LineReaderTest, LinesBeyondTheLimitAreCountedOnly) {
  EXPECT_THAT(lines_of(file("1234\n12345\n123456789012345678901234567890\nab\n1234567"), 4),
              ElementsAre("1:4:1234", "2:5:!", "3:30:!", "4:2:ab", "5:7:~!"));
}

TEST_F(LineReaderTest, LinesLongerThanTheFirstBuffer) {
  const std::string longer(3'000'000, 'x');
  const auto lines =
      lines_of(file("a\n" + longer + "\nb\n" + longer + longer + "\nc\n"), 4'000'000);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[1], "2:3000000:" + longer);
  EXPECT_EQ(lines[2], "3:1:b");
  EXPECT_EQ(lines[3], "4:6000000:!");
  EXPECT_EQ(lines[4], "5:1:c");
}

TEST_F(LineReaderTest, APipeIsReadAsItComes) {
  const std::string path = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(path);
    for (int i = 0; i < 3; ++i) out << "line" << std::flush << i << "\n" << std::flush;
  });
  EXPECT_THAT(lines_of(path, 100), ElementsAre("1:5:line0", "2:5:line1", "3:5:line2"));
  writer.join();
}

// What somebody has read already, to find out what it is, comes first.
TEST_F(LineReaderTest, GoesOnBehindWhatWasReadBefore) {
  const std::string path = file("cd\nef\n");
  for (const std::string& start : {std::string("ab"), std::string("x\nab"), std::string(),
                                   std::string("ab\n12345678901234567890"), std::string("ab\n")}) {
    for (const size_t longest : {4U, 5U, 1000U}) {
      auto reader = LineReader::open(path, longest, start);
      ASSERT_TRUE(reader);
      std::ofstream(path + "_all", std::ios::binary) << start << "cd\nef\n";
      TextLine line;
      std::vector<std::string> seen;
      while (*reader->next(line)) {
        seen.push_back(std::to_string(line.number) + ":" + std::to_string(line.bytes) + ":" +
                       std::string(line.text) + (line.ended ? "" : "~") +
                       (line.too_long ? "!" : ""));
      }
      EXPECT_EQ(seen, lines_of(path + "_all", longest)) << start << " " << longest;
    }
  }
}

TEST_F(LineReaderTest, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(lines_of("/nonexistent/file", 10),
              ElementsAre(::testing::HasSubstr("open /nonexistent/file")));
  EXPECT_THAT(lines_of(folder_.path().string(), 10),
              ElementsAre(::testing::HasSubstr("read " + folder_.path().string())));
}

}  // namespace
}  // namespace plumbline
