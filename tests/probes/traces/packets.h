// Captures built by hand: packets from headers, files from packets. Only what the tests of the
// trace analyser need; checksums are left 0, nobody looks at them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "probes/traces/analyse.h"

namespace plumbline {

using ByteString = std::vector<uint8_t>;

inline void put16(ByteString& out, uint32_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}
inline void put32(ByteString& out, uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}
inline ByteString operator+(ByteString one, const ByteString& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

constexpr int kF = 1, kS = 2, kR = 4, kA = 16;  // TCP flags

// A segment between 10.0.0.1:4000 (a) and 10.0.0.2:80 (b), or the same with fd00::1 and fd00::2.
struct Tcp {
  bool from_a = true;
  int flags = kA;
  uint32_t seq = 0, ack = 0;
  int payload = 0;
  int window = 1000;
  ByteString options = {};
  int a_port = 4000, b_port = 80;
  bool v6 = false;
  int id = 0;  // IP identification
  int ttl = 64;
};

inline ByteString mss_option(int mss) { return {2, 4, uint8_t(mss >> 8), uint8_t(mss & 0xff)}; }
inline ByteString scale_option(int bits) { return {1, 3, 3, static_cast<uint8_t>(bits)}; }
inline ByteString sack_option(std::initializer_list<std::pair<uint32_t, uint32_t>> blocks) {
  ByteString out = {1, 1, 5, static_cast<uint8_t>(2 + 8 * blocks.size())};
  for (const auto& [begin, end] : blocks) {
    put32(out, begin);
    put32(out, end);
  }
  return out;
}

inline ByteString ip4(int protocol, bool from_a, const ByteString& inner, int id = 0, int ttl = 64,
                      uint32_t fragment = 0) {
  ByteString out = {0x45, 0};
  put16(out, static_cast<uint32_t>(20 + inner.size()));
  put16(out, static_cast<uint32_t>(id));
  put16(out, fragment);
  out.push_back(static_cast<uint8_t>(ttl));
  out.push_back(static_cast<uint8_t>(protocol));
  put16(out, 0);
  put32(out, from_a ? 0x0a000001 : 0x0a000002);
  put32(out, from_a ? 0x0a000002 : 0x0a000001);
  return out + inner;
}

inline ByteString ip6(int next, bool from_a, const ByteString& inner, int hops = 64) {
  ByteString out = {0x60, 0, 0, 0};
  put16(out, static_cast<uint32_t>(inner.size()));
  out.push_back(static_cast<uint8_t>(next));
  out.push_back(static_cast<uint8_t>(hops));
  for (const bool source : {true, false}) {
    ByteString address(16, 0);
    address[0] = 0xfd;
    address[15] = source == from_a ? 1 : 2;
    out = out + address;
  }
  return out + inner;
}

inline ByteString tcp_header(const Tcp& tcp) {
  ByteString out;
  put16(out, static_cast<uint32_t>(tcp.from_a ? tcp.a_port : tcp.b_port));
  put16(out, static_cast<uint32_t>(tcp.from_a ? tcp.b_port : tcp.a_port));
  put32(out, tcp.seq);
  put32(out, tcp.ack);
  ByteString options = tcp.options;
  while (options.size() % 4 != 0) options.push_back(0);
  out.push_back(static_cast<uint8_t>((5 + options.size() / 4) << 4));
  out.push_back(static_cast<uint8_t>(tcp.flags));
  put16(out, static_cast<uint32_t>(tcp.window));
  put32(out, 0);
  return out + options;
}

inline ByteString ip_packet(const Tcp& tcp) {
  const ByteString inner = tcp_header(tcp) + ByteString(static_cast<size_t>(tcp.payload), 'x');
  return tcp.v6 ? ip6(6, tcp.from_a, inner, tcp.ttl) : ip4(6, tcp.from_a, inner, tcp.id, tcp.ttl);
}

inline ByteString udp(bool from_a, int payload) {
  ByteString out;
  put16(out, from_a ? 4000 : 53);
  put16(out, from_a ? 53 : 4000);
  put16(out, static_cast<uint32_t>(8 + payload));
  put16(out, 0);
  return out + ByteString(static_cast<size_t>(payload), 'x');
}

// An error about `quoted`, an IP packet, of which the first `kept` bytes are quoted.
inline ByteString icmp_error(int type, int code, const ByteString& quoted, uint32_t rest = 0,
                             size_t kept = 28) {
  ByteString out = {static_cast<uint8_t>(type), static_cast<uint8_t>(code), 0, 0};
  put32(out, rest);
  return out + ByteString(quoted.begin(), quoted.begin() + static_cast<std::ptrdiff_t>(
                                                               std::min(kept, quoted.size())));
}

inline ByteString ethernet(const ByteString& inner, uint32_t type = 0x0800) {
  ByteString out(12, 2);
  put16(out, type);
  return out + inner;
}

inline ByteString ethernet(const Tcp& tcp) {
  return ethernet(ip_packet(tcp), tcp.v6 ? 0x86dd : 0x0800);
}

// Linux cooked capture, version 2; direction 0 = came in, 4 = went out.
inline ByteString cooked(const ByteString& ip, uint32_t interface, int direction) {
  ByteString out;
  put16(out, ip.at(0) >> 4 == 6 ? 0x86dd : 0x0800);
  put16(out, 0);
  put32(out, interface);
  put16(out, 1);
  out.push_back(static_cast<uint8_t>(direction));
  out.push_back(6);
  return out + ByteString(8, 3) + ip;
}

// A pcap file. Times in microseconds since its first second.
class BuiltCapture {
 public:
  explicit BuiltCapture(uint32_t link = 1, bool nanoseconds = false, bool big = true)
      : nanoseconds_(nanoseconds), big_(big) {
    u32(nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
    u16(2);
    u16(4);
    u32(0);
    u32(0);
    u32(262144);
    u32(link);
  }
  // `snap`: only so many bytes are captured.
  BuiltCapture& add_frame(int64_t at_us, const ByteString& frame, size_t snap = 65535) {
    const size_t captured = std::min(snap, frame.size());
    u32(static_cast<uint32_t>(1'000'000 + at_us / 1'000'000));
    u32(static_cast<uint32_t>(at_us % 1'000'000 * (nanoseconds_ ? 1000 : 1)));
    u32(static_cast<uint32_t>(captured));
    u32(static_cast<uint32_t>(frame.size()));
    bytes_.append(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(captured));
    return *this;
  }
  BuiltCapture& add(int64_t at_us, const Tcp& tcp) { return add_frame(at_us, ethernet(tcp)); }
  const std::string& bytes() const { return bytes_; }

  TraceSummary analyse(const TraceLimits& limits = {}) const {
    const Expected<TraceSummary> summary = analyse_trace(bytes_, "test", limits);
    if (!summary) {
      ADD_FAILURE() << summary.error().message();
      return {};
    }
    return *summary;
  }
  // The only flow.
  TraceFlow flow() const {
    const TraceSummary summary = analyse();
    EXPECT_EQ(summary.flows.size(), 1U);
    return summary.flows.empty() ? TraceFlow() : summary.flows[0];
  }

 private:
  void u16(uint32_t value) {
    bytes_ += static_cast<char>(big_ ? value >> 8 : value);
    bytes_ += static_cast<char>(big_ ? value : value >> 8);
  }
  void u32(uint32_t value) {
    u16(big_ ? value >> 16 : value & 0xffff);
    u16(big_ ? value & 0xffff : value >> 16);
  }
  bool nanoseconds_, big_;
  std::string bytes_;
};

// A capture that begins with a handshake: a's numbers begin at 1000, b's at 5000; MSS 1460, window
// scale 2 on both sides; it takes 300 us, the round trip is 200 us.
inline BuiltCapture established(const ByteString& options = mss_option(1460) + scale_option(2) +
                                                            ByteString{1, 1, 4, 2}) {
  BuiltCapture file;
  file.add(0, Tcp{.flags = kS, .seq = 999, .options = options});
  file.add(200,
           Tcp{.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 1000, .options = options});
  file.add(300, Tcp{.seq = 1000, .ack = 5000});
  return file;
}
inline Tcp data(uint32_t seq, int payload) {
  return Tcp{.seq = seq, .ack = 5000, .payload = payload};
}
inline Tcp ack(uint32_t upto, const ByteString& options = {}) {
  return Tcp{.from_a = false, .seq = 5000, .ack = upto, .options = options};
}

}  // namespace plumbline
