// A program's standard input in frames, and the guard that hands it on.
#include <gtest/gtest.h>

#include <string>

#include "launch/line_io.h"

namespace plumbline {
namespace {

TEST(InputFrames, ComeOutAsTheyWentInHoweverTheyAreCut) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
  const std::string stream = "\n" + input_frame(bytes) + "\n\n" + input_frame("") +
                             input_frame("\ne\nd 5\n") + end_of_input_frame();
  for (const size_t cut :
       {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{999}, stream.size()}) {
    InputFrames frames;
    for (size_t at = 0; at < stream.size(); at += cut) {
      EXPECT_FALSE(frames.ended());
      ASSERT_TRUE(frames.feed(std::string_view(stream).substr(at, cut)));
    }
    EXPECT_TRUE(frames.ended());
    EXPECT_EQ(frames.input(), bytes + "\ne\nd 5\n");
  }
}

TEST(InputFrames, NonsenseIsRefusedForGood) {
  for (const char* wrong : {"x\n", "d\n", "d \n", "d -1\n", "d 5x\n", "d 1048577\n",
                            "d 99999999999999999999\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    InputFrames frames;
    EXPECT_FALSE(frames.feed(wrong)) << wrong;
    EXPECT_FALSE(frames.feed(end_of_input_frame()));
    EXPECT_EQ(frames.input(), "");
    EXPECT_FALSE(frames.ended());
  }
}

}  // namespace
}  // namespace plumbline
