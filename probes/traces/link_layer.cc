#include <algorithm>
#include <array>

#include "probes/traces/packet.h"

namespace plumbline {
namespace {

constexpr uint16_t kEtherIp4 = 0x0800, kEtherArp = 0x0806, kEtherIp6 = 0x86dd, kEtherVlan = 0x8100,
                   kEtherQinQ = 0x88a8, kEtherOldQinQ = 0x9100, kEtherPppoe = 0x8864;
constexpr int kMaxTags = 8;

Frame begin(const RawPacket& raw) {
  Frame frame;
  frame.bytes = {raw.data, raw.captured};
  frame.length = raw.wire_len;
  frame.place = {raw.interface, raw.direction};
  return frame;
}

void advance(Frame& frame, size_t header) {
  frame.bytes = frame.bytes.from(header);
  frame.length -= std::min(frame.length, header);
}

void set_ip(Frame& frame) { frame.content = Frame::Content::kIp; }

// PPP's protocol field, RFC 1661: one byte when it is odd.
void parse_ppp_protocol(Frame& frame) {
  const bool one = (frame.bytes.u8(0) & 1U) != 0;
  const uint16_t protocol = one ? frame.bytes.u8(0) : frame.bytes.u16(0);
  advance(frame, one ? 1 : 2);
  if (protocol == 0x21 || protocol == 0x57) set_ip(frame);
}

// From an EtherType on: tags are stripped; below 1536 it is a length, and LLC with SNAP follows.
void parse_ether_type(Frame& frame, uint16_t type) {
  for (int tag = 0; tag < kMaxTags; ++tag) {
    if (type == kEtherIp4 || type == kEtherIp6) {
      set_ip(frame);
    } else if (type == kEtherArp) {
      frame.content = Frame::Content::kArp;
    } else if (type == kEtherVlan || type == kEtherQinQ || type == kEtherOldQinQ) {
      type = frame.bytes.u16(2);
      advance(frame, 4);
      continue;
    } else if (type < 1536 && frame.bytes.u16(0) == 0xaaaa && frame.bytes.u8(2) == 3 &&
               frame.bytes.u16(6) >= 1536) {
      type = frame.bytes.u16(6);
      advance(frame, 8);
      continue;
    } else if (type == kEtherPppoe) {
      advance(frame, 6);
      parse_ppp_protocol(frame);
    }
    return;
  }
}

Frame parse_ethernet(const RawPacket& raw) {
  Frame frame = begin(raw);
  const uint16_t type = frame.bytes.u16(12);
  advance(frame, 14);
  parse_ether_type(frame, type);
  return frame;
}

Frame parse_raw(const RawPacket& raw) {
  Frame frame = begin(raw);
  set_ip(frame);
  return frame;
}

// The address family in the byte order of the machine that captured (NULL) or of the network
// (LOOP); its numbers differ between systems, the IP version tells the rest.
Frame parse_null(const RawPacket& raw) {
  Frame frame = begin(raw);
  const uint32_t big = frame.bytes.u32(0);
  const uint32_t family = big < 0x10000 ? big : ((big >> 24) | ((big >> 8) & 0xff00U));
  advance(frame, 4);
  constexpr std::array<uint32_t, 6> kFamilies = {2, 10, 23, 24, 28, 30};
  if (std::find(kFamilies.begin(), kFamilies.end(), family) != kFamilies.end()) set_ip(frame);
  return frame;
}

Frame parse_ppp(const RawPacket& raw) {
  Frame frame = begin(raw);
  if (frame.bytes.u16(0) == 0xff03) advance(frame, 2);  // HDLC's address and control
  parse_ppp_protocol(frame);
  return frame;
}

// Linux's packet types: 0 to us, 1 broadcast, 2 multicast, 3 to others, 4 sent by us.
uint8_t cooked_direction(uint32_t type) { return type == 4 ? 2 : type == 3 ? 3 : 1; }

constexpr uint16_t kArphrdEthernet = 1, kArphrdLoopback = 772, kArphrdNone = 0xfffe;

void parse_cooked(Frame& frame, uint16_t arphrd, uint16_t protocol, size_t header) {
  advance(frame, header);
  // For other hardware (netlink, 802.11 monitors) the protocol field means something else.
  const bool usual = arphrd == kArphrdEthernet || arphrd == kArphrdLoopback ||
                     arphrd == kArphrdNone || protocol == kEtherIp4 || protocol == kEtherIp6;
  if (usual) parse_ether_type(frame, protocol);
}

Frame parse_sll(const RawPacket& raw) {
  Frame frame = begin(raw);
  if (!frame.bytes.has(16)) return frame;
  frame.place = {kUnknownInterface, cooked_direction(frame.bytes.u16(0))};
  parse_cooked(frame, frame.bytes.u16(2), frame.bytes.u16(14), 16);
  return frame;
}

Frame parse_sll2(const RawPacket& raw) {
  Frame frame = begin(raw);
  if (!frame.bytes.has(20)) return frame;
  frame.place = {frame.bytes.u32(4), cooked_direction(frame.bytes.u8(10))};
  parse_cooked(frame, frame.bytes.u16(8), frame.bytes.u16(0), 20);
  return frame;
}

constexpr std::array<LinkType, 11> kLinkTypes = {{
    {1, "ethernet", parse_ethernet, false},
    {0, "null", parse_null, false},
    {108, "loop", parse_null, false},
    {9, "ppp", parse_ppp, false},
    {12, "raw", parse_raw, false},
    {14, "raw", parse_raw, false},
    {101, "raw", parse_raw, false},
    {228, "ipv4", parse_raw, false},
    {229, "ipv6", parse_raw, false},
    {113, "linux-sll", parse_sll, true},
    {276, "linux-sll2", parse_sll2, true},
}};

}  // namespace

const LinkType* find_link_type(uint32_t number) {
  for (const LinkType& type : kLinkTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}

}  // namespace plumbline
