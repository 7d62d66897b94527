#include "launch/line_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace plumbline {
namespace {

TEST(LineBuffer, CutsWhereverThePiecesEnd) {
  const std::string text = "one\n\nthree\nfour";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineBuffer lines(100);
    std::vector<std::string> seen;
    for (const std::string& piece : {text.substr(0, cut), text.substr(cut)}) {
      lines.feed(piece);
      while (const auto line = lines.next()) seen.push_back(*line);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"one", "", "three"})) << cut;
  }
}

TEST(LineBuffer, DropsWhatIsTooLongAndGoesOn) {
  LineBuffer lines(10);
  lines.feed("short\n" + std::string(11, 'x') + "\nnext\n");
  EXPECT_EQ(lines.next(), "short");
  EXPECT_EQ(lines.next(), "next");
  EXPECT_EQ(lines.overlong(), 1);
  for (int i = 0; i < 1000; ++i) {
    lines.feed(std::string(1000, 'y'));
    EXPECT_EQ(lines.next(), std::nullopt);
  }
  lines.feed("y\nafter\n");
  EXPECT_EQ(lines.next(), "after");
  EXPECT_EQ(lines.overlong(), 2);
  EXPECT_EQ(lines.overlong_text().substr(0, 3), "yyy");
}

TEST(LineBuffer, ALineOfExactlyTheLimitIsALine) {
  LineBuffer lines(4);
  lines.feed("abcd");
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.feed("\n");
  EXPECT_EQ(lines.next(), "abcd");
  EXPECT_EQ(lines.overlong(), 0);
}

TEST(NoSigpipe, TurnsTheSignalIntoAnError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  {
    const NoSigpipe guard;
    const NoSigpipe nested;
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  close(ends[1]);  // still alive: the pending signal was taken
}

TEST(NonBlocking, PutsTheFlagBack) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const NonBlocking guard(ends[0]);
    EXPECT_NE(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
  }
  EXPECT_EQ(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace plumbline
