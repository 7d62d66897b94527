#include "core/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string_view>
#include <thread>

#include "core/file.h"

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

// On the standard input only: a FIFO by its name is refused (input_file_test.cc).
TEST_F(LineReaderTest, APipeIsReadAsItComes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd ours(dup(STDIN_FILENO));
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  close(ends[0]);
  std::thread writer([&] {
    for (const std::string_view part : {"li", "ne0\nline", "1\n", "line2\n"}) {
      EXPECT_EQ(write(ends[1], part.data(), part.size()), static_cast<ssize_t>(part.size()));
    }
    close(ends[1]);
  });
  EXPECT_THAT(lines_of("-", 100), ElementsAre("1:5:line0", "2:5:line1", "3:5:line2"));
  writer.join();
  dup2(ours.get(), STDIN_FILENO);
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
  EXPECT_THAT(lines_of("/proc/nonexistent/file", 10),
              ElementsAre(::testing::HasSubstr("open /proc/nonexistent/file")));
  EXPECT_THAT(lines_of(folder_.path().string(), 10),
              ElementsAre(::testing::HasSubstr(folder_.path().string() + " is a folder")));
}

}  // namespace
}  // namespace plumbline
