// One captured packet, decoded as far as the analyser needs it: from the link layer (for the link
// types that captures of such networks have, tcpdump.org/linktypes.html) through IP to TCP, UDP and
// ICMP (RFC 791, 8200, 9293, 768, 792, 4443), and what an ICMP error says in words. Every length in
// a packet may be a lie and every packet may be cut by the capture's snapshot length: a field is
// read only when its bytes are there, and lengths come from the innermost header that is
// believable. Pure functions.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "probes/traces/trace_file.h"

namespace plumbline {

// Captured bytes of a layer. Reads beyond the end give 0, so that only decisions need a check.
struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;

  bool has(size_t n) const { return size >= n; }
  uint8_t u8(size_t at) const { return at < size ? data[at] : uint8_t{0}; }
  uint16_t u16(size_t at) const { return static_cast<uint16_t>((u8(at) << 8) | u8(at + 1)); }
  uint32_t u32(size_t at) const { return (uint32_t{u16(at)} << 16) | u16(at + 2); }
  Bytes from(size_t at) const { return at < size ? Bytes{data + at, size - at} : Bytes{data, 0}; }
  Bytes first(size_t n) const { return {data, n < size ? n : size}; }
};

// IPv4 is kept as ::ffff:a.b.c.d.
struct IpAddress {
  uint64_t high = 0, low = 0;
  // clang-tidy 14 takes the 0 of a defaulted <=> for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  // Of its inner 0, clang-tidy 14 thinks it a pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  std::strong_ordering operator<=>(const IpAddress& other) const = default;
};
std::string ip_text(const IpAddress& address);
IpAddress ipv4_address(uint32_t host_order);
IpAddress ipv6_address(const Bytes& bytes);  // its first 16 bytes

inline constexpr uint8_t kFlagFin = 1, kFlagSyn = 2, kFlagRst = 4, kFlagAck = 16;
inline constexpr uint8_t kProtocolIcmp = 1, kProtocolTcp = 6, kProtocolUdp = 17,
                         kProtocolIcmp6 = 58;

// Captures of all interfaces in the older cooked format do not tell which one it was.
inline constexpr uint32_t kUnknownInterface = 0xffffffff;

// Where a packet was seen: interface and direction. Two sightings of one packet differ in it.
struct Place {
  uint32_t interface = 0;
  uint8_t direction = 0;  // 0 unknown, 1 came in, 2 went out, 3 to others (seen in passing)
  bool operator==(const Place& other) const = default;
};

struct SackBlock {
  uint32_t begin = 0, end = 0;
};

struct TcpFields {
  uint32_t seq = 0, ack = 0;
  uint16_t window = 0;  // as in the header, unscaled
  uint8_t flags = 0;
  int mss = -1, window_scale = -1;  // -1 = option absent
  bool sack_permitted = false;
  bool has_time = false;
  uint32_t time = 0;  // TSval
  int sacks = 0;
  std::array<SackBlock, 4> sack;
};

// The packet that an ICMP error complains about.
struct QuotedPacket {
  bool valid = false;
  uint8_t protocol = 0;  // kProtocolIcmp for ICMPv6, too
  IpAddress from, to;
  uint16_t from_port = 0, to_port = 0;
};

struct Packet {
  enum class Kind { kUndecoded, kArp, kFragment, kOtherIp, kTcp, kUdp, kIcmp };

  Kind kind = Kind::kUndecoded;
  int64_t at_ns = 0;
  Place place;
  bool v6 = false;
  IpAddress from, to;
  uint8_t protocol = 0;
  uint8_t ttl = 0;
  uint16_t ip_id = 0;  // 0 for IPv6
  uint16_t from_port = 0, to_port = 0;
  uint32_t payload = 0;   // bytes of TCP or UDP payload on the wire
  uint16_t checksum = 0;  // of UDP and ICMP: the nearest thing to a name that these packets have
  uint64_t payload_hash = 0;  // of the first bytes of UDP payload; 0 where they were not captured
  uint16_t arp_operation = 0;
  TcpFields tcp;
  uint8_t icmp_type = 0, icmp_code = 0;
  uint32_t icmp_mtu = 0;  // of "fragmentation needed" and "packet too big"
  QuotedPacket quoted;

  // Of a fragment: where its bytes lie in the datagram, and its first bytes when it is the first.
  uint32_t fragment_id = 0, fragment_begin = 0, fragment_end = 0;
  bool fragment_more = false;
  Bytes transport;
};

Packet decode_packet(const RawPacket& raw);

// The layer behind IP; `length` is what lies there on the wire, `bytes` what was captured of it.
void decode_transport(const Bytes& bytes, size_t length, Packet& packet);

// A fast hash of a few 64-bit numbers (splitmix64's finishing step). Not for adversaries: tables
// that use it are bounded.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash += value + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}
template <typename... More>
uint64_t mix(uint64_t hash, uint64_t value, More... more) {
  return mix(mix(hash, value), more...);
}

// "administratively prohibited", "fragmentation needed, MTU 1400"; `mtu` 0 = not told.
std::string icmp_text(bool v6, int type, int code, uint32_t mtu);
// Does it end an attempt to connect (destination unreachable, time exceeded, parameter problem)?
bool icmp_is_hard(bool v6, int type, int code);

// From a frame to the IP or ARP packet in it: link_layer.cc.
struct Frame {
  enum class Content { kUnknown, kIp, kArp };
  Content content = Content::kUnknown;
  Bytes bytes;        // from the IP or ARP header on
  size_t length = 0;  // of the same on the wire, trailers included
  Place place;
};

struct LinkType {
  uint32_t number;
  const char* name;
  Frame (*parse)(const RawPacket& raw);
  bool places;  // says for each packet where it was seen
};

// nullptr for a type that is not understood.
const LinkType* find_link_type(uint32_t number);

}  // namespace plumbline
