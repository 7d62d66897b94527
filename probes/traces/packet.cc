#include "probes/traces/packet.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"

namespace plumbline {
namespace {

constexpr int kMaxExtensions = 16;
constexpr size_t kHashedPayload = 16;  // bytes that tell datagrams apart

void decode_arp(const Frame& frame, Packet& packet) {
  if (!frame.bytes.has(8)) return;
  packet.kind = Packet::Kind::kArp;
  packet.arp_operation = frame.bytes.u16(6);
  // Ethernet and IPv4: the addresses of who asks and who is asked.
  if (frame.bytes.has(28) && frame.bytes.u16(2) == 0x0800 && frame.bytes.u8(4) == 6 &&
      frame.bytes.u8(5) == 4) {
    packet.from = ipv4_address(frame.bytes.u32(14));
    packet.to = ipv4_address(frame.bytes.u32(24));
  }
}

// `transport`: what is there of the `rest` bytes behind the headers, from `begin` of the datagram
// on.
void set_fragment(uint32_t id, uint32_t begin, size_t rest, bool more, const Bytes& transport,
                  Packet& packet) {
  packet.kind = Packet::Kind::kFragment;
  packet.fragment_id = id;
  packet.fragment_begin = begin;
  packet.fragment_end = begin + static_cast<uint32_t>(rest);
  packet.fragment_more = more;
  packet.transport = transport.first(rest);
}

void decode_ip4(const Bytes& bytes, size_t length, Packet& packet) {
  const size_t header = (bytes.u8(0) & 15U) * size_t{4};
  if (!bytes.has(20) || header < 20) return;
  size_t total = bytes.u16(2);
  // 0: the sender's network card cuts it into segments later. Larger than the frame: a lie.
  if (total == 0 || total > length) total = length;
  if (total < header) return;
  packet.from = ipv4_address(bytes.u32(12));
  packet.to = ipv4_address(bytes.u32(16));
  packet.ttl = bytes.u8(8);
  packet.protocol = bytes.u8(9);
  packet.ip_id = bytes.u16(4);
  const uint32_t offset = (bytes.u16(6) & 0x1fffU) * 8U;
  const bool more = (bytes.u16(6) & 0x2000U) != 0;
  const size_t rest = total - header;
  const Bytes inner = bytes.from(header).first(rest);  // not the frame's trailer
  if (offset == 0 && !more) return decode_transport(inner, rest, packet);
  set_fragment(packet.ip_id, offset, rest, more, inner, packet);
}

bool is_extension(uint8_t protocol) {
  constexpr uint8_t kExtensions[] = {0, 43, 51, 60, 135, 139, 140};
  return std::find(std::begin(kExtensions), std::end(kExtensions), protocol) !=
         std::end(kExtensions);
}

// Fills in the fragment's place in its datagram; false when it is a whole one (RFC 6946).
bool decode_fragment_header(const Bytes& header, size_t rest, Packet& packet) {
  packet.protocol = header.u8(0);
  const uint32_t offset = header.u16(2) & 0xfff8U;
  const bool more = (header.u16(2) & 1U) != 0;
  if (offset == 0 && !more) return false;
  set_fragment(header.u32(4), offset, rest, more, header.from(8), packet);
  return true;
}

void decode_ip6(const Bytes& bytes, size_t length, Packet& packet) {
  if (!bytes.has(40)) return;
  size_t rest = bytes.u16(4);
  // 0: a jumbogram or one that is cut into segments later.
  if (rest == 0 || rest + 40 > length) rest = length - std::min<size_t>(length, 40);
  packet.v6 = true;
  packet.from = ipv6_address(bytes.from(8));
  packet.to = ipv6_address(bytes.from(24));
  packet.ttl = bytes.u8(7);
  packet.protocol = bytes.u8(6);
  Bytes inner = bytes.from(40).first(rest);
  for (int i = 0; i < kMaxExtensions; ++i) {
    if (packet.protocol == 44) {
      if (!inner.has(8) || rest < 8) return;
      if (decode_fragment_header(inner, rest - 8, packet)) return;
      inner = inner.from(8);
      rest -= 8;
      continue;
    }
    if (!is_extension(packet.protocol)) return decode_transport(inner, rest, packet);
    const size_t units = inner.u8(1);
    const size_t size = packet.protocol == 51 ? (units + 2) * 4 : (units + 1) * 8;
    if (!inner.has(2) || size > rest) return;
    packet.protocol = inner.u8(0);
    inner = inner.from(size);
    rest -= size;
  }
}

void read_sack(const Bytes& option, TcpFields& tcp) {
  for (size_t at = 2; at + 8 <= option.size && tcp.sacks < 4; at += 8) {
    tcp.sack[static_cast<size_t>(tcp.sacks++)] = {option.u32(at), option.u32(at + 4)};
  }
}

void decode_tcp_options(Bytes options, TcpFields& tcp) {
  while (options.size > 0) {
    const uint8_t kind = options.u8(0);
    if (kind == 0) return;
    if (kind == 1) {
      options = options.from(1);
      continue;
    }
    const size_t size = options.u8(1);
    if (size < 2 || size > options.size) return;
    const Bytes option = {options.data, size};
    if (kind == 2 && size == 4) tcp.mss = option.u16(2);
    if (kind == 3 && size == 3) tcp.window_scale = std::min<int>(option.u8(2), 14);
    if (kind == 4 && size == 2) tcp.sack_permitted = true;
    if (kind == 5) read_sack(option, tcp);
    if (kind == 8 && size == 10) {
      tcp.has_time = true;
      tcp.time = option.u32(2);
    }
    options = options.from(size);
  }
}

void decode_tcp(const Bytes& bytes, size_t length, Packet& packet) {
  if (!bytes.has(20)) return;
  const size_t header = (bytes.u8(12) >> 4) * size_t{4};
  if (header < 20 || header > length) return;
  packet.kind = Packet::Kind::kTcp;
  packet.from_port = bytes.u16(0);
  packet.to_port = bytes.u16(2);
  packet.payload = static_cast<uint32_t>(length - header);
  TcpFields& tcp = packet.tcp;
  tcp.seq = bytes.u32(4);
  tcp.ack = bytes.u32(8);
  tcp.flags = bytes.u8(13);
  tcp.window = bytes.u16(14);
  decode_tcp_options(bytes.from(20).first(header - 20), tcp);
}

// An error quotes at least the IP header and 8 bytes behind it: the ports are there.
QuotedPacket decode_quoted(const Bytes& bytes) {
  QuotedPacket quoted;
  const int version = bytes.u8(0) >> 4;
  Bytes inner;
  if (version == 4 && bytes.has(20) && (bytes.u8(0) & 15U) >= 5) {
    quoted.from = ipv4_address(bytes.u32(12));
    quoted.to = ipv4_address(bytes.u32(16));
    quoted.protocol = bytes.u8(9);
    if ((bytes.u16(6) & 0x1fffU) == 0) inner = bytes.from((bytes.u8(0) & 15U) * size_t{4});
  } else if (version == 6 && bytes.has(40)) {
    quoted.from = ipv6_address(bytes.from(8));
    quoted.to = ipv6_address(bytes.from(24));
    quoted.protocol = bytes.u8(6);
    inner = bytes.from(40);
    for (int i = 0; i < kMaxExtensions && inner.has(2) && is_extension(quoted.protocol); ++i) {
      const size_t size = (inner.u8(1) + size_t{1}) * 8;
      quoted.protocol = inner.u8(0);
      inner = inner.from(size);
    }
  } else {
    return quoted;
  }
  if (quoted.protocol == kProtocolTcp || quoted.protocol == kProtocolUdp) {
    quoted.from_port = inner.u16(0);
    quoted.to_port = inner.u16(2);
    quoted.valid = inner.has(4);
  } else if (quoted.protocol == kProtocolIcmp || quoted.protocol == kProtocolIcmp6) {
    quoted.protocol = kProtocolIcmp;
    quoted.valid = true;
  }
  return quoted;
}

void decode_icmp(const Bytes& bytes, bool v6, Packet& packet) {
  if (!bytes.has(4)) return;
  packet.kind = Packet::Kind::kIcmp;
  packet.icmp_type = bytes.u8(0);
  packet.icmp_code = bytes.u8(1);
  packet.checksum = bytes.u16(2);
  const bool error = v6 ? packet.icmp_type >= 1 && packet.icmp_type <= 4
                        : packet.icmp_type == 3 || packet.icmp_type == 4 || packet.icmp_type == 5 ||
                              packet.icmp_type == 11 || packet.icmp_type == 12;
  if (!error) return;
  if (v6 && packet.icmp_type == 2) packet.icmp_mtu = bytes.u32(4);
  if (!v6 && packet.icmp_type == 3 && packet.icmp_code == 4) packet.icmp_mtu = bytes.u16(6);
  packet.quoted = decode_quoted(bytes.from(8));
}

struct Row {
  bool v6;
  int type, code;  // code -1 = any
  const char* text;
};

// RFC 792, 1122, 1812 and 4443; IANA's registries.
constexpr Row kRows[] = {
    {false, 3, 0, "network unreachable"},
    {false, 3, 1, "host unreachable"},
    {false, 3, 2, "protocol unreachable"},
    {false, 3, 3, "port unreachable"},
    {false, 3, 4, "fragmentation needed"},
    {false, 3, 5, "source route failed"},
    {false, 3, 6, "network unknown"},
    {false, 3, 7, "host unknown"},
    {false, 3, 8, "source isolated"},
    {false, 3, 9, "network administratively prohibited"},
    {false, 3, 10, "host administratively prohibited"},
    {false, 3, 11, "network unreachable for this type of service"},
    {false, 3, 12, "host unreachable for this type of service"},
    {false, 3, 13, "administratively prohibited"},
    {false, 3, 14, "host precedence violation"},
    {false, 3, 15, "precedence cut off"},
    {false, 3, -1, "destination unreachable"},
    {false, 4, -1, "source quench"},
    {false, 5, -1, "redirect"},
    {false, 11, 0, "time to live exceeded"},
    {false, 11, 1, "fragments did not arrive in time"},
    {false, 11, -1, "time exceeded"},
    {false, 12, -1, "parameter problem"},
    {true, 1, 0, "no route to destination"},
    {true, 1, 1, "administratively prohibited"},
    {true, 1, 2, "beyond the scope of the source address"},
    {true, 1, 3, "address unreachable"},
    {true, 1, 4, "port unreachable"},
    {true, 1, 5, "source address failed a policy"},
    {true, 1, 6, "route to destination rejected"},
    {true, 1, -1, "destination unreachable"},
    {true, 2, -1, "packet too big"},
    {true, 3, 0, "hop limit exceeded"},
    {true, 3, 1, "fragments did not arrive in time"},
    {true, 3, -1, "time exceeded"},
    {true, 4, -1, "parameter problem"},
};

}  // namespace

IpAddress ipv4_address(uint32_t host_order) { return {0, (uint64_t{0xffff} << 32) | host_order}; }

IpAddress ipv6_address(const Bytes& bytes) {
  return {(uint64_t{bytes.u32(0)} << 32) | bytes.u32(4),
          (uint64_t{bytes.u32(8)} << 32) | bytes.u32(12)};
}

std::string ip_text(const IpAddress& address) {
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(address.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<uint8_t>(address.low >> (56 - 8 * i));
  }
  const bool v4 = address.high == 0 && (address.low >> 32) == 0xffff;
  return to_text(ip_of_bytes(v4 ? bytes.data() + 12 : bytes.data(), !v4));
}

void decode_transport(const Bytes& bytes, size_t length, Packet& packet) {
  packet.kind = Packet::Kind::kUndecoded;  // until its header is found whole
  switch (packet.protocol) {
    case kProtocolTcp:
      decode_tcp(bytes, length, packet);
      break;
    case kProtocolUdp:
      if (!bytes.has(8)) break;
      packet.kind = Packet::Kind::kUdp;
      packet.from_port = bytes.u16(0);
      packet.to_port = bytes.u16(2);
      packet.payload = static_cast<uint32_t>(length - std::min<size_t>(length, 8));
      packet.checksum = bytes.u16(6);
      if (bytes.has(8 + kHashedPayload)) {
        packet.payload_hash =
            mix(mix(bytes.u32(8), bytes.u32(12)), mix(bytes.u32(16), bytes.u32(20)));
      }
      break;
    case kProtocolIcmp:
    case kProtocolIcmp6:
      if ((packet.protocol == kProtocolIcmp6) == packet.v6) decode_icmp(bytes, packet.v6, packet);
      break;
    default:
      packet.kind = Packet::Kind::kOtherIp;
  }
}

Packet decode_packet(const RawPacket& raw) {
  Packet packet;
  packet.at_ns = raw.at_ns;
  const LinkType* type = find_link_type(raw.link);
  if (type == nullptr) return packet;
  const Frame frame = type->parse(raw);
  packet.place = frame.place;
  if (frame.content == Frame::Content::kArp) decode_arp(frame, packet);
  if (frame.content != Frame::Content::kIp) return packet;
  const int version = frame.bytes.u8(0) >> 4;
  if (version == 4) decode_ip4(frame.bytes, frame.length, packet);
  if (version == 6) decode_ip6(frame.bytes, frame.length, packet);
  return packet;
}

std::string icmp_text(bool v6, int type, int code, uint32_t mtu) {
  for (const Row& row : kRows) {
    if (row.v6 != v6 || row.type != type || (row.code >= 0 && row.code != code)) continue;
    std::string text = row.text;
    if (row.code < 0 && code != 0) text += fmt::format(", code {}", code);
    if (mtu != 0) text += fmt::format(", MTU {}", mtu);
    return text;
  }
  return fmt::format("type {}, code {}", type, code);
}

bool icmp_is_hard(bool v6, int type, int code) {
  if (v6) return type == 1 || type == 3 || type == 4;
  return (type == 3 && code != 4) || type == 11 || type == 12;
}

}  // namespace plumbline
