// Server-sent events in every cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/http/events.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> data_of(std::string_view text) {
  std::vector<std::string> first;
  for (const size_t piece : {size_t{1000}, size_t{1}, size_t{2}, size_t{5}}) {
    EventReader reader;
    std::vector<ServerEvent> events;
    for (size_t at = 0; at < text.size(); at += piece) {
      EXPECT_TRUE(reader.feed(text.substr(at, piece), events));
    }
    std::vector<std::string> data;
    for (const ServerEvent& event : events) data.push_back(event.data);
    if (piece == 1000) first = data;
    EXPECT_EQ(data, first) << "in pieces of " << piece;
  }
  return first;
}

TEST(ServerEvents, EndWithAnEmptyLineHoweverLinesEnd) {
  EXPECT_THAT(data_of("data: a\n\ndata: b\n\n"), ElementsAre("a", "b"));
  EXPECT_THAT(data_of("data: a\r\n\r\ndata: b\r\n\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(data_of("data: a\r\rdata: b\r\r"), ElementsAre("a", "b"));
  EXPECT_THAT(data_of("data: {\"x\": 1}\n\ndata: [DONE]\n\n"), ElementsAre("{\"x\": 1}", "[DONE]"));
}

TEST(ServerEvents, HaveLinesAndCommentsAndFieldsOfNoUse) {
  EXPECT_THAT(data_of("data: a\ndata:b\ndata\n\n"), ElementsAre("a\nb\n"));
  EXPECT_THAT(data_of(": ping\n\nid: 5\nretry: 9\n\n"), IsEmpty());
  EXPECT_THAT(data_of("data:  two\nfoo: x\nDATA: y\n\n"), ElementsAre(" two"));
  EXPECT_THAT(data_of("\xef\xbb\xbf"
                      "data: a\n\n"),
              ElementsAre("a"));
  EXPECT_THAT(data_of("data:\n\n"), ElementsAre(""));
}

TEST(ServerEvents, OneThatIsNotCompleteIsNone) {
  EXPECT_THAT(data_of("data: a\n"), IsEmpty());
  EventReader reader;
  std::vector<ServerEvent> events;
  ASSERT_TRUE(reader.feed("event: error\ndata: a\n", events));
  EXPECT_TRUE(reader.inside());
  ASSERT_TRUE(reader.feed("\n", events));
  EXPECT_FALSE(reader.inside());
  EXPECT_EQ(events.at(0).name, "error");
}

TEST(ServerEvents, NeverGrowWithoutEndAndStayBroken) {
  const std::string much(700'000, 'x');
  for (const std::string& text :
       {"data: " + much + much, "data: " + much + "\ndata: " + much,
        "event: " + much + "\nevent: " + much, std::string("data\0", 5)}) {
    EventReader reader;
    std::vector<ServerEvent> events;
    EXPECT_FALSE(reader.feed(text, events));
    EXPECT_FALSE(reader.feed("data: a\n\n", events));
    EXPECT_THAT(events, IsEmpty());
  }
}

}  // namespace
}  // namespace plumbline
