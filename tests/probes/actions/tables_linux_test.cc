// The kernel's tables and the frames that ask the link, as bytes.
#include <gmock/gmock.h>

#include "probes/actions/netlink_linux.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

TEST(TcpTable, OfIpv4AndIpv6) {
  const auto rows = parse_tcp_table(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:73A0 0200000A:1F90 03 00000000:00000000 01:00000014 00000000     0        0 "
      "0 1\n"
      "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "1234 1 0\n",
      false);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].ip, "127.0.0.1");
  EXPECT_EQ(rows[0].port, 29600);
  EXPECT_EQ(rows[0].peer_ip, "10.0.0.2");
  EXPECT_EQ(rows[0].peer_port, 8080);
  EXPECT_EQ(rows[0].state, kTcpSynReceived);
  EXPECT_EQ(rows[1].state, kTcpListen);
  EXPECT_EQ(rows[1].inode, 1234u);
  const auto six = parse_tcp_table(
      "0: 00000000000000000000000001000000:0050 000080FE000000000000000001000000:0051 0A 0:0 0:0 0 "
      "0 0 9\n",
      true);
  ASSERT_EQ(six.size(), 1u);
  EXPECT_EQ(six[0].ip, "::1");
  EXPECT_EQ(six[0].peer_ip, "fe80::1");
}

TEST(TcpTable, NonsenseIsLeftOut) {
  for (const char* text :
       {"", "\n\n", "0: 0100007F 0200000A:1F90 03 0 0 0 0 0 0\n",
        "0: 0100007:73A0 0200000A:1F90 03 0 0 0 0 0 0\n",
        "0: 0100007F:73A0 0200000A:1F90 XX 0 0 0 0 0 0\n", "0: 0100007F:73A0 0200000A:1F90 03\n"}) {
    EXPECT_TRUE(parse_tcp_table(text, false).empty()) << text;
  }
  EXPECT_TRUE(parse_tcp_table("0: 0100007F:73A0 0200000A:1F90 03 0 0 0 0 0 0\n", true).empty());
}

LinkQuery query(const std::string& own, const std::string& wanted) {
  LinkQuery out;
  out.mac = {2, 0, 0, 0, 0, 1};
  out.own = make_socket_address(own, 0).value();
  out.wanted = make_socket_address(wanted, 0).value();
  return out;
}

std::string arp_reply(const std::string& mac, const std::string& ip) {
  return std::string("\0\1\x08\0\6\4\0\2", 8) + mac + ip + std::string(10, '\0');
}

TEST(LinkQuery, ArpRequestAndReply) {
  const LinkQuery asked = query("10.0.0.1", "10.0.0.2");
  const std::string request = link_request(asked);
  ASSERT_EQ(request.size(), 28u);
  // Nobody shall learn our address from a question (RFC 5227 section 1.1).
  EXPECT_EQ(request.substr(14, 4), std::string(4, '\0'));
  EXPECT_EQ(request.substr(24, 4), std::string("\x0a\0\0\2", 4));
  const std::string mac("\2\0\0\0\xaa\xff", 6), ip("\x0a\0\0\2", 4);
  EXPECT_EQ(link_answer(asked, arp_reply(mac, ip)), "02:00:00:00:aa:ff");
  EXPECT_EQ(link_answer(asked, arp_reply(mac, ip) + std::string(18, '\0')), "02:00:00:00:aa:ff");
  EXPECT_EQ(link_answer(asked, arp_reply(mac, std::string("\x0a\0\0\3", 4))), "");
  for (size_t cut = 0; cut < 28; ++cut) {
    EXPECT_EQ(link_answer(asked, arp_reply(mac, ip).substr(0, cut)), "") << cut;
  }
}

// A host whose filter drops the ARP that comes in still asks: that is no answer of it.
TEST(LinkQuery, AQuestionOfTheWantedHostIsNoAnswer) {
  LinkQuery asked = query("10.0.0.1", "10.0.0.2");
  std::string request =
      arp_reply(std::string("\2\0\0\0\xaa\xff", 6), "\x0a" + std::string(2, '\0') + "\2");
  request[7] = 1;
  EXPECT_EQ(link_answer(asked, request), "");
  asked.duplicate = true;  // but a second owner of an address shows up by it
  EXPECT_EQ(link_answer(asked, request), "02:00:00:00:aa:ff");
}

TEST(LinkQuery, ProbesForDuplicatesHaveNoSender) {
  LinkQuery asked = query("10.0.0.1", "10.0.0.1");
  asked.duplicate = true;
  EXPECT_EQ(link_request(asked).substr(14, 4), std::string(4, '\0'));
  asked = query("fe80::1%lo", "fe80::1%lo");
  asked.duplicate = true;
  EXPECT_EQ(link_request(asked).substr(8, 16), std::string(16, '\0'));
  EXPECT_EQ(link_request(asked).size(), 40u + 24u);
}

TEST(LinkQuery, Ipv6SolicitationAndAdvertisement) {
  const LinkQuery asked = query("fd00::1", "fd00::2");
  const std::string request = link_request(asked);
  ASSERT_EQ(request.size(), 40u + 32u);
  // The checksum over everything, itself included, must come out as all ones (RFC 1071).
  std::string all = request.substr(8, 32) + std::string("\0\0\0\x20\0\0\0\x3a", 8);
  all += request.substr(40);
  unsigned sum = 0;
  for (size_t i = 0; i < all.size(); i += 2) {
    sum += static_cast<unsigned>(static_cast<unsigned char>(all[i])) << 8 |
           static_cast<unsigned char>(all[i + 1]);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  EXPECT_EQ(sum, 0xffffu);

  const std::string wanted = request.substr(48, 16);
  std::string answer = request.substr(0, 40) + std::string("\x88\0\0\0\x60\0\0\0", 8) + wanted +
                       std::string("\2\1\2\0\0\0\0\x42", 8);
  EXPECT_EQ(link_answer(asked, answer), "02:00:00:00:00:42");
  for (size_t cut = 0; cut < answer.size(); ++cut) {
    EXPECT_EQ(link_answer(asked, answer.substr(0, cut)), "") << cut;
  }
  std::string routed = answer;
  routed[7] = 64;  // came from another link
  EXPECT_EQ(link_answer(asked, routed), "");
  answer[65] = 0;  // an option of no length must not be looped over
  EXPECT_EQ(link_answer(asked, answer), "");
}

TEST(Netlink, DamagedAttributesEndTheReading) {
  alignas(nlmsghdr) char bytes[64] = {};
  auto* header = reinterpret_cast<nlmsghdr*>(bytes);
  header->nlmsg_len = NLMSG_LENGTH(4) + 8;
  const rtattr lying{400, 1};
  std::copy_n(reinterpret_cast<const char*>(&lying), sizeof lying, bytes + NLMSG_LENGTH(4));
  EXPECT_TRUE(netlink_attributes(*header, 4).empty());
  const rtattr tiny{1, 1};
  std::copy_n(reinterpret_cast<const char*>(&tiny), sizeof tiny, bytes + NLMSG_LENGTH(4));
  EXPECT_TRUE(netlink_attributes(*header, 4).empty());
  header->nlmsg_len = 3;
  EXPECT_TRUE(netlink_attributes(*header, 4).empty());
}

}  // namespace
}  // namespace plumbline
