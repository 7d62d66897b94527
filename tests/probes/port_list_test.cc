#include <gmock/gmock.h>

#include "probes/ports.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PortList, Reads) {
  EXPECT_THAT(parse_port_list("29600-29602,65432").value(),
              ElementsAre(29600, 29601, 29602, 65432));
  EXPECT_THAT(parse_port_list("[7, 5,5, 6-7]").value(), ElementsAre(5, 6, 7));
  EXPECT_THAT(parse_port_list("").value(), IsEmpty());
  EXPECT_THAT(parse_port_list(" [] ").value(), IsEmpty());
  EXPECT_EQ(parse_port_list("1-65535").value().size(), 65535u);
}

TEST(PortList, RefusesAndNamesThePart) {
  for (const char* bad : {"0", "65536", "5-4", "1,,2", "a", "1-", "-1", "1-2-3", "1;2", "0x10",
                          "99999999999999999999", "1.5", "+5"}) {
    EXPECT_FALSE(parse_port_list(bad)) << bad;
  }
  EXPECT_THAT(parse_port_list("1,http,2").error().what, HasSubstr("'http'"));
}

TEST(PortList, WritesTheShortestForm) {
  EXPECT_EQ(format_port_list({3, 1, 2, 7}), "1-3,7");
  EXPECT_EQ(format_port_list({5, 5, 6}), "5-6");
  EXPECT_EQ(format_port_list({}), "");
  EXPECT_EQ(format_port_list({65535}), "65535");
}

}  // namespace
}  // namespace plumbline
