
#include "core/text.h"

#include <gtest/gtest.h>

#include "probes/actions/ends.h"

namespace plumbline {
namespace {

TEST(Printable, KeepsAsciiAndWritesTheRestOut) {
  EXPECT_EQ(escaped("HTTP/1.1 400\r\n\x01\xff", 100), "HTTP/1.1 400\\r\\n\\x01\\xff");
  EXPECT_EQ(escaped("abcdef", 3), "abc");
  EXPECT_EQ(escaped(std::string_view("\0", 1), 9), "\\x00");
  EXPECT_EQ(escaped("", 9), "");
}

TEST(ValidUtf8, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(valid_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(valid_utf8("\xff\xc3"), "??");            // no such byte; cut sequence
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(valid_utf8("\xe0\x80\xaf"), "???");       // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "???");       // surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "????");  // beyond the last code point
  EXPECT_EQ(valid_utf8("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8(std::string_view("a\xc3\xbc").substr(0, 2)),
            "a?");  // the limit cuts a sequence
}

TEST(Nonce, IsFreshAndUsable) {
  EXPECT_NE(new_nonce(), new_nonce());
  EXPECT_TRUE(usable_nonce(new_nonce()));
  EXPECT_FALSE(usable_nonce(""));
  EXPECT_FALSE(usable_nonce("a b"));
  EXPECT_FALSE(usable_nonce("a\n"));
  EXPECT_FALSE(usable_nonce(std::string(65, 'a')));
}

TEST(ProbeLine, ThereAndBack) {
  const auto line = parse_probe_line(probe_line({"n0nce", "source", 300}));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->nonce, "n0nce");
  EXPECT_EQ(line->mode, "source");
  EXPECT_EQ(line->argument, 300);
}

TEST(ProbeLine, RefusesEverythingElse) {
  for (const char* text :
       {"", "\n", "PLPROBE1", "PLPROBE1\n", "PLPROBE1 n hello\n", "PLPROBE1 n hello 0",
        "PLPROBE1 n hello 0 \n", "PLPROBE1  n hello 0\n", "PLPROBE1 n hello -1\n",
        "PLPROBE1 n hello 1x\n", "PLPROBE1 n hello 99999999999999999999\n", "PLPROBE2 n hello 0\n",
        "plprobe1 n hello 0\n", "PLPROBE1 n\tx hello 0\n", "GET / HTTP/1.1\r\n"}) {
    EXPECT_FALSE(parse_probe_line(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_probe_line("PLPROBE1 n " + std::string(200, 'm') + " 0\n").has_value());
}

TEST(SinkLine, ThereAndBackAndNothingElse) {
  const auto report = parse_sink_line(sink_line({1, 22, 333, 4444}));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->bytes, 1);
  EXPECT_EQ(report->duration_ns, 22);
  EXPECT_EQ(report->cpu_ns, 333);
  EXPECT_EQ(report->segments, 4444);
  const auto older = parse_sink_line("PLPROBE1 got 1 2 3\n");
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->segments, 0);
  EXPECT_FALSE(parse_sink_line("PLPROBE1 got 1 2 3 x\n").has_value());
  EXPECT_FALSE(parse_sink_line("PLPROBE1 got 1 2 3 4 5\n").has_value());
  EXPECT_FALSE(parse_sink_line("PLPROBE1 got 1 2\n").has_value());
  EXPECT_FALSE(parse_sink_line("PLPROBE1 got 1 2 3").has_value());
  EXPECT_FALSE(parse_sink_line("PLPROBE1 got 1 2 -3\n").has_value());
  EXPECT_FALSE(parse_sink_line(ok_line("n")).has_value());
}

}  // namespace
}  // namespace plumbline
