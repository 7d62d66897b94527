// The BPF programs that faults hand to tc, run here on packets made by hand and compared with what
// the match says in words.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

#include "lab/address.h"
#include "lab/fault_tools.h"

namespace plumbline {
namespace {

struct Instruction {
  unsigned code = 0, jt = 0, jf = 0;
  uint32_t k = 0;
};

std::vector<Instruction> parse(const std::string& text) {
  std::istringstream in(text);
  std::string count, part;
  std::getline(in, count, ',');
  std::vector<Instruction> out;
  while (std::getline(in, part, ',')) {
    Instruction it;
    std::istringstream fields(part);
    fields >> it.code >> it.jt >> it.jf >> it.k;
    out.push_back(it);
  }
  EXPECT_EQ(out.size(), std::stoul(count));
  return out;
}

// The part of the kernel's filter machine that these programs use. True = the packet is dropped.
bool dropped(const std::vector<Instruction>& program, const std::vector<uint8_t>& packet,
             uint32_t random) {
  uint32_t a = 0, x = 0;
  const auto load = [&](size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      EXPECT_LT(at + i, packet.size());
      value = value << 8 | (at + i < packet.size() ? packet[at + i] : 0);
    }
    return value;
  };
  for (size_t pc = 0; pc < program.size(); ++pc) {
    const Instruction& it = program[pc];
    switch (it.code) {
      case 0x20:
        a = it.k == 0xfffff038 ? random : load(it.k, 4);
        break;
      case 0x28:
        a = load(it.k, 2);
        break;
      case 0x30:
        a = load(it.k, 1);
        break;
      case 0x48:
        a = load(x + it.k, 2);
        break;
      case 0x50:
        a = load(x + it.k, 1);
        break;
      case 0xb1:
        x = 4 * (load(it.k, 1) & 15);
        break;
      case 0x54:
        a &= it.k;
        break;
      case 0x94:
        a %= it.k;
        break;
      case 0x05:
        pc += it.k;
        break;
      case 0x15:
        pc += a == it.k ? it.jt : it.jf;
        break;
      case 0x25:
        pc += a > it.k ? it.jt : it.jf;
        break;
      case 0x35:
        pc += a >= it.k ? it.jt : it.jf;
        break;
      case 0x06:
        return it.k == 2;
      default:
        ADD_FAILURE() << "code " << it.code;
        return false;
    }
  }
  ADD_FAILURE() << "ran off the end";
  return false;
}

struct Packet {
  std::string from, to;
  int protocol = 6, from_port = 0, to_port = 0, flags = 0x02, length = 60, options = 0;
};

std::vector<uint8_t> bytes_of(const Packet& packet) {
  const bool v6 = is_v6(packet.from);
  std::vector<uint8_t> out(1600);
  const auto put16 = [&](size_t at, int value) {
    out[at] = static_cast<uint8_t>(value >> 8);
    out[at + 1] = static_cast<uint8_t>(value);
  };
  put16(12, v6 ? 0x86dd : 0x0800);
  size_t tcp = 14 + 40;
  if (v6) {
    out[14] = 0x60;
    put16(18, packet.length - 40);
    out[20] = static_cast<uint8_t>(packet.protocol);
    inet_pton(AF_INET6, packet.from.c_str(), &out[22]);
    inet_pton(AF_INET6, packet.to.c_str(), &out[38]);
  } else {
    const int words = 5 + packet.options;
    out[14] = static_cast<uint8_t>(0x40 | words);
    put16(16, packet.length);
    out[23] = static_cast<uint8_t>(packet.protocol);
    inet_pton(AF_INET, packet.from.c_str(), &out[26]);
    inet_pton(AF_INET, packet.to.c_str(), &out[30]);
    tcp = 14 + 4 * static_cast<size_t>(words);
  }
  put16(tcp, packet.from_port);
  put16(tcp + 2, packet.to_port);
  out[tcp + 13] = static_cast<uint8_t>(packet.flags);
  return out;
}

// What the match means, in plain words.
bool should_drop(const PacketMatch& match, const Packet& packet, uint32_t random) {
  const bool v6 = is_v6(packet.from);
  if (match.tcp_only && packet.protocol != 6) return false;
  if (!match.tcp_only && v6 && packet.protocol == 58) return false;
  if (!match.from.empty() && match.from != packet.from) return false;
  if (!match.to.empty() && match.to != packet.to) return false;
  if (match.syn_only && !v6 && (packet.flags & 0x12) != 0x02) return false;
  if (match.longer_than > 0 && packet.length <= match.longer_than) return false;
  if (match.percent < 100 && random % 100 >= static_cast<uint32_t>(match.percent)) return false;
  if (match.tcp_only && !match.ports.empty()) {
    const int port = match.source_ports ? packet.from_port : packet.to_port;
    return std::count(match.ports.begin(), match.ports.end(), port) > 0;
  }
  return true;
}

TEST(Bytecode, DropsWhatTheMatchSays) {
  std::mt19937 random(11);
  const auto pick = [&](std::vector<int> from) { return from[random() % from.size()]; };
  int hits = 0, all = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool v6 = random() % 2 == 0;
    const std::vector<std::string> hosts =
        v6 ? std::vector<std::string>{"fd00::1", "fd00::2", "fd00:0:0:1::1"}
           : std::vector<std::string>{"10.0.0.1", "10.0.0.2", "200.1.2.3"};
    PacketMatch match;
    if (random() % 2 == 0) match.from = hosts[0];
    if (random() % 2 == 0) match.to = hosts[1];
    match.tcp_only = random() % 3 != 0;
    if (random() % 2 == 0) match.ports = {29500, 29600, 29601, 29602, 29604};
    match.source_ports = random() % 2 == 0;
    match.syn_only = random() % 3 == 0 && match.tcp_only;
    match.longer_than = pick({0, 0, 1400});
    match.percent = pick({100, 100, 7});
    const auto program = parse(tc_bytecode(match, v6));
    ASSERT_LT(program.size(), 200U);
    for (int i = 0; i < 40; ++i) {
      Packet packet;
      packet.from = hosts[random() % 3];
      packet.to = hosts[random() % 3];
      packet.protocol = pick({6, 6, 6, 17, v6 ? 58 : 1});
      packet.from_port = pick({29500, 29600, 29602, 29603, 29604, 29605, 40000, 29599});
      packet.to_port = pick({29500, 29600, 29602, 29603, 29604, 29605, 40000, 29499});
      packet.flags = pick({0x02, 0x12, 0x10, 0x04});
      packet.length = pick({60, 1400, 1401, 1500});
      packet.options = v6 ? 0 : pick({0, 0, 3});
      const uint32_t drawn = static_cast<uint32_t>(random());
      const bool expected = should_drop(match, packet, drawn);
      ASSERT_EQ(dropped(program, bytes_of(packet), drawn), expected)
          << tc_bytecode(match, v6) << " port " << packet.to_port;
      hits += expected ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(hits, all / 50);
  EXPECT_LT(hits, all / 2);
}

TEST(Bytecode, LetsOtherProtocolsOfTheWireAlone) {
  std::vector<uint8_t> arp(60);
  arp[12] = 0x08;
  arp[13] = 0x06;
  PacketMatch everything;
  everything.tcp_only = false;
  EXPECT_FALSE(dropped(parse(tc_bytecode(everything, false)), arp, 0));
  EXPECT_FALSE(dropped(parse(tc_bytecode(everything, true)), arp, 0));
}

}  // namespace
}  // namespace plumbline
