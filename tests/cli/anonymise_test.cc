#include "cli/anonymise.h"

#include <gtest/gtest.h>

#include <cstring>

namespace plumbline {
namespace {

TEST(anonymise, the_same_thing_gets_the_same_ordinal_everywhere) {
  Anonymiser anonymiser({"mini1", "mini2"});
  EXPECT_EQ(anonymiser.text("mini1 > mini2, mini1.local, \"mini2\""),
            "host1 > host2, host1.local, \"host2\"");
  EXPECT_EQ(anonymiser.text("tcp/mini1>mini2:29600"), "tcp/host1>host2:29600");
  // Names inside of other words are those words.
  EXPECT_EQ(anonymiser.text("minimum mini12"), "minimum mini12");
}

TEST(anonymise, one_letter_is_replaced_where_it_is_known_to_be_a_host) {
  Anonymiser anonymiser({"a", "host2", "mini1", "a"});
  EXPECT_EQ(anonymiser.text("a host2 mini1"), "a host1 host2");
  EXPECT_EQ(anonymiser.host("a"), "host3");
  EXPECT_EQ(anonymiser.text(anonymiser.host("a")), "host3");
  EXPECT_EQ(anonymiser.host("b"), "b");          // nobody's name
  EXPECT_EQ(anonymiser.host("mini1"), "mini1");  // text() does that
  // Somebody else is called what it would become.
  Anonymiser taken({"a", "host2"});
  EXPECT_EQ(taken.text(taken.host("a")), "host3");
  EXPECT_EQ(taken.text("host2"), "host1");
}

TEST(anonymise, further_names_are_found_between_dots) {
  Anonymiser anonymiser({"mini1"});
  anonymiser.also("if", {"wg-acme", "x", "mini1"});
  EXPECT_EQ(
      anonymiser.text("if.wg-acme.rx_packets wg-acme: \"wg-acme\" net.ipv4.conf.wg-acme.rp_filter"),
      "if.if1.rx_packets if1: \"if1\" net.ipv4.conf.if1.rp_filter");
  EXPECT_EQ(anonymiser.text("wg-acme2 mini1"), "wg-acme2 host1");
}

TEST(anonymise, addresses_that_share_a_subnet_still_do) {
  Anonymiser anonymiser({});
  const std::string a = anonymiser.text("192.168.50.1"), b = anonymiser.text("192.168.50.2:29600"),
                    c = anonymiser.text("192.168.51.0/24");
  EXPECT_EQ(a.substr(0, a.rfind('.')), b.substr(0, b.rfind('.')));
  EXPECT_NE(a.substr(0, a.rfind('.')), c.substr(0, c.rfind('.')));
  EXPECT_EQ(c.substr(c.size() - 5), ".0/24");
  EXPECT_EQ(a.find("192.168"), std::string::npos);
  EXPECT_EQ(anonymiser.text("127.0.0.1 0.0.0.0 255.255.255.255 169.254.3.4"),
            "127.0.0.1 0.0.0.0 255.255.255.255 169.254.3.4");
}

TEST(anonymise, ipv6_macs_and_users) {
  Anonymiser anonymiser({});
  const std::string text =
      anonymiser.text("fe80::a8bb:ccff:fedd:eeff%eth0 2001:db8:1::5/64 AA:BB:cc:dd:ee:ff " +
                      std::string("/home/") + "ann/x");
  EXPECT_EQ(text.find("a8bb"), std::string::npos) << text;
  EXPECT_EQ(text.find("db8"), std::string::npos) << text;
  EXPECT_EQ(text.find("ann"), std::string::npos) << text;
  EXPECT_NE(text.find("fe80::1%eth0"), std::string::npos) << text;
  EXPECT_NE(text.find("02:00:00:00:00:01"), std::string::npos) << text;
  EXPECT_EQ(anonymiser.text("::1 ::"), "::1 ::");
}

std::string packet_file(uint32_t link, const std::string& packet) {
  std::string out(24 + 16, '\0');
  const uint32_t magic = 0xa1b23c4d, length = static_cast<uint32_t>(packet.size());
  std::memcpy(out.data(), &magic, 4);
  std::memcpy(out.data() + 20, &link, 4);
  std::memcpy(out.data() + 32, &length, 4);
  std::memcpy(out.data() + 36, &length, 4);
  return out + packet;
}

TEST(anonymise, a_trace_loses_addresses_and_payload) {
  std::string packet(14 + 20 + 20, '\0');
  packet[0] = packet[6] = '\x0a';
  packet[12] = '\x08';
  packet[14] = '\x45';
  packet[14 + 9] = 6;
  std::memcpy(packet.data() + 14 + 12, "\xc0\xa8\x32\x01\xc0\xa8\x32\x02", 8);
  packet[14 + 20 + 12] = '\x50';
  packet += "secret payload";
  Anonymiser anonymiser({});
  const std::string out = anonymiser.trace(packet_file(1, packet));
  EXPECT_EQ(out.size(), 24u + 16 + 54);
  EXPECT_EQ(out.find("secret"), std::string::npos);
  EXPECT_EQ(out.find("\xc0\xa8\x32\x01"), std::string::npos);
  EXPECT_EQ(out[24 + 16], '\0');
}

TEST(anonymise, hostile_traces_do_no_harm) {
  Anonymiser anonymiser({});
  EXPECT_EQ(anonymiser.trace(""), "");
  EXPECT_EQ(anonymiser.trace(std::string(100, 'x')), "");
  const std::string whole = packet_file(276, std::string(40, '\x45'));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_LE(anonymiser.trace(whole.substr(0, length)).size(), whole.size());
  }
  std::string lies = whole;
  std::memset(lies.data() + 32, 0xff, 4);
  EXPECT_EQ(anonymiser.trace(lies).size(), 24u);
}

}  // namespace
}  // namespace plumbline
