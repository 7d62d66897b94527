// What the program prints steers no terminal, however its bytes come.
#include "cli/safe_output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

// `piece` bytes at a time.
std::string printed(const std::string& text, bool terminal, size_t piece = SIZE_MAX) {
  std::ostringstream out;
  {
    const SafeOutput safe(out, terminal);
    for (size_t i = 0; i < text.size(); i += std::min(piece, text.size())) {
      out << text.substr(i, piece) << std::flush;
    }
  }
  return out.str();
}

const std::string kEvil =
    "a\x1b]0;title\x07\x1b[2Jb\x7f\xC2\x9B\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8\x9b"
    "c\td \xE6\x97\xA5\n";

TEST(SafeOutput, NothingButTextPasses) {
  for (const bool terminal : {false, true}) {
    const std::string text = printed(kEvil, terminal);
    EXPECT_EQ(text,
              "a\\u001b]0;title\\u0007\\u001b[2Jb\\u007f\\u009b\\u202e\\u2066\\u2028\\u009bc\td "
              "\xE6\x97\xA5\n");
  }
}

TEST(SafeOutput, WhereverTheTextIsCut) {
  const std::string own = "\r\x1b[31;1mred\x1b[0m\x1b[K" + kEvil;
  for (const bool terminal : {false, true}) {
    const std::string whole = printed(own, terminal);
    for (size_t piece = 1; piece < own.size(); ++piece) {
      EXPECT_EQ(printed(own, terminal, piece), whole) << piece;
    }
  }
}

TEST(SafeOutput, OurOwnColoursAndLinesPassOnATerminalOnly) {
  const std::string own = "\r\x1b[31;1mred\x1b[0m\x1b[K\n";
  EXPECT_EQ(printed(own, true), own);
  EXPECT_EQ(printed(own, false), "\\u000d\\u001b[31;1mred\\u001b[0m\\u001b[K\n");
  // What looks like one of ours and is not.
  for (const char* other :
       {"\x1b[2K", "\x1b[31H", "\x1b[?25l", "\033c", "\x1b[1;1;1;1;1;1;1;1;1;1m"}) {
    EXPECT_EQ(printed(other, true).find('\x1b'), std::string::npos) << other + 1;
  }
}

TEST(SafeOutput, JsonStaysTheSameValue) {
  const nlohmann::json json = {{"name", "x\x7f\xE2\x80\xAE\\"}};
  EXPECT_EQ(nlohmann::json::parse(printed(json.dump(), false)), json);
}

TEST(SafeOutput, WhatIsCutAtTheEndIsNotLostAndDoesNoHarm) {
  for (const char* end : {"\x1b", "\x1b[31", "\xE2\x80", "\xC2"}) {
    const std::string text = printed(std::string("x") + end, true);
    EXPECT_GT(text.size(), 1u);
    EXPECT_TRUE(is_printable(text)) << text;
  }
}

TEST(SafeOutput, ProgramsOfTheUserMayPrintWhatTheyLike) {
  std::ostringstream out;
  {
    const SafeOutput safe(out, false);
    {
      const RawOutput raw(out);
      out << "\x1b[2J";
    }
    out << "\x1b[2J";
  }
  EXPECT_EQ(out.str(), "\x1b[2J\\u001b[2J");
  std::ostringstream plain;
  const RawOutput nothing(plain);
  plain << "\x1b";
  EXPECT_EQ(plain.str(), "\x1b");
}

TEST(SafeOutput, AStreamThatFailedStaysFailed) {
  std::ostringstream out;
  {
    const SafeOutput safe(out, false);
    out.setstate(std::ios_base::badbit);
  }
  EXPECT_TRUE(out.bad());
  out.clear();
  out << "x";
  EXPECT_EQ(out.str(), "x");  // its own buffer is back
}

}  // namespace
}  // namespace plumbline
