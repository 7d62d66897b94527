// Capture files: both formats in both byte orders, and files that lie, end early, or are none.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const Tcp kPacket = {.flags = kS, .seq = 999};

// pcapng, block by block.
class Blocks {
 public:
  explicit Blocks(bool big) : big_(big) {}
  Blocks& section() {
    std::string body;
    u32(body, 0x1a2b3c4d);
    u16(body, 1);
    u16(body, 0);
    return block(0x0a0d0d0a, body + std::string(8, '\xff'));
  }
  Blocks& interface(uint32_t link, const std::string& options = {}, uint32_t snap = 0) {
    std::string body;
    u16(body, link);
    u16(body, 0);
    u32(body, snap);
    return block(1, body + options);
  }
  Blocks& packet(uint32_t interface, uint64_t ticks, const ByteString& frame,
                 const std::string& options = {}) {
    std::string body;
    u32(body, interface);
    u32(body, static_cast<uint32_t>(ticks >> 32));
    u32(body, static_cast<uint32_t>(ticks));
    u32(body, static_cast<uint32_t>(frame.size()));
    u32(body, static_cast<uint32_t>(frame.size()));
    return block(6, body + padded(frame) + options);
  }
  Blocks& simple(const ByteString& frame) {
    std::string body;
    u32(body, static_cast<uint32_t>(frame.size()));
    return block(3, body + padded(frame));
  }
  Blocks& block(uint32_t type, const std::string& body) {
    u32(bytes, type);
    u32(bytes, static_cast<uint32_t>(body.size() + 12));
    bytes += body;
    u32(bytes, static_cast<uint32_t>(body.size() + 12));
    return *this;
  }
  std::string option(uint32_t code, const std::string& value) const {
    std::string out;
    u16(out, code);
    u16(out, static_cast<uint32_t>(value.size()));
    return out + value + std::string((4 - value.size() % 4) % 4, '\0');
  }
  std::string number(uint32_t value) const {
    std::string out;
    u32(out, value);
    return out;
  }
  TraceSummary analyse() const {
    const auto summary = analyse_trace(bytes, "test");
    if (!summary) ADD_FAILURE() << summary.error().message();
    return summary ? *summary : TraceSummary();
  }
  std::string bytes;

 private:
  static std::string padded(const ByteString& frame) {
    return std::string(frame.begin(), frame.end()) + std::string((4 - frame.size() % 4) % 4, '\0');
  }
  void u16(std::string& out, uint32_t value) const {
    out += static_cast<char>(big_ ? value >> 8 : value);
    out += static_cast<char>(big_ ? value : value >> 8);
  }
  void u32(std::string& out, uint32_t value) const {
    u16(out, big_ ? value >> 16 : value & 0xffff);
    u16(out, big_ ? value & 0xffff : value >> 16);
  }
  bool big_;
};

TEST(TraceFile, PcapInEveryKind) {
  for (const bool nanoseconds : {false, true}) {
    for (const bool big : {false, true}) {
      BuiltCapture file(1, nanoseconds, big);
      const TraceSummary summary = file.add(250'000, kPacket).add(1'250'001, kPacket).analyse();
      EXPECT_EQ(summary.format, nanoseconds ? "pcap-ns" : "pcap");
      EXPECT_EQ(summary.link, "ethernet");
      EXPECT_EQ(summary.packets, 2);
      EXPECT_EQ(summary.bytes, 2 * 54);
      EXPECT_EQ(summary.first_time, "1970-01-12T13:46:40.250000Z");
      EXPECT_EQ(summary.duration_ns, 1'000'001'000);
      EXPECT_FALSE(summary.truncated);
      EXPECT_THAT(summary.problems, IsEmpty());
      EXPECT_EQ(summary.flows.size(), 1U);
    }
  }
}

TEST(TraceFile, PcapngInEitherByteOrder) {
  for (const bool big : {false, true}) {
    Blocks blocks(big);
    const std::string nanoseconds = blocks.option(9, "\x09");
    blocks.section().interface(1, nanoseconds).packet(0, 5'000'000'000, ethernet(kPacket));
    blocks.block(0x0bad, std::string(40, 'x'));  // a type that nobody knows
    blocks.packet(0, 5'000'000'700, ethernet(kPacket)).simple(ethernet(kPacket));
    const TraceSummary summary = blocks.analyse();
    EXPECT_EQ(summary.format, "pcapng");
    EXPECT_EQ(summary.packets, 3);
    EXPECT_EQ(summary.duration_ns, 700);
    EXPECT_EQ(summary.first_time, "1970-01-01T00:00:05.000000Z");
    EXPECT_THAT(summary.problems, IsEmpty());
    EXPECT_EQ(summary.flows.at(0).a.syn, 3);
  }
}

TEST(TraceFile, PcapngInterfacesHaveTheirOwnLinkAndClock) {
  Blocks blocks(false);
  const std::string binary = blocks.option(9, "\x8a");  // 2^-10 s
  const std::string shifted = blocks.option(14, std::string("\x0a\0\0\0\0\0\0\0", 8));
  blocks.section().interface(1).interface(101, binary + shifted);
  blocks.packet(0, 20'000'000, ethernet(kPacket));
  Tcp other = kPacket;
  other.a_port = 4001;
  blocks.packet(1, 10 * 1024 + 512, ip_packet(other));
  const TraceSummary summary = blocks.analyse();
  EXPECT_EQ(summary.link, "ethernet, raw");
  EXPECT_EQ(summary.duration_ns, 500'000'000);
  ASSERT_EQ(summary.flows.size(), 2U);
  EXPECT_EQ(summary.flows[1].a.first_ns, 500'000'000);
}

TEST(TraceFile, ResolutionsDoNotOverflow) {
  for (const int resolution : {0, 6, 9, 12, 19, 30, 127, 0x80, 0xa0, 0xbf, 0xc0, 0xff}) {
    Blocks blocks(false);
    const std::string option = blocks.option(9, std::string(1, static_cast<char>(resolution)));
    blocks.section().interface(1, option).packet(0, UINT64_MAX, ethernet(kPacket));
    EXPECT_EQ(blocks.analyse().packets, 1) << resolution;
  }
}

TEST(TraceFile, PcapngTellsDirections) {
  Blocks blocks(false);
  const std::string out = blocks.option(2, blocks.number(2)),
                    in = blocks.option(2, blocks.number(1));
  blocks.section().interface(1).packet(0, 1, ethernet(kPacket), out);
  blocks.packet(0, 2, ethernet(Tcp{.from_a = false, .flags = kR | kA, .ack = 1000}), in);
  const TraceSummary summary = blocks.analyse();
  EXPECT_EQ(summary.flows.at(0).a.outgoing, 1);
  EXPECT_EQ(summary.flows.at(0).b.incoming, 1);
}

TEST(TraceFile, ASecondSectionBeginsAnew) {
  Blocks blocks(true);
  blocks.section().interface(1).packet(0, 1, ethernet(kPacket));
  Blocks second(false);
  second.section().interface(101).packet(0, 2, ip_packet(kPacket));
  blocks.bytes += second.bytes;
  EXPECT_EQ(blocks.analyse().flows.at(0).a.syn, 2);
}

TEST(TraceFile, PacketsOfNoInterfaceAreTold) {
  Blocks blocks(false);
  blocks.section().packet(0, 1, ethernet(kPacket)).packet(7, 1, ethernet(kPacket));
  const TraceSummary summary = blocks.analyse();
  EXPECT_EQ(summary.packets, 0);
  EXPECT_THAT(summary.problems, Contains(HasSubstr("does not describe")));
}

TEST(TraceFile, ClaimsOfGigabytesEndTheReading) {
  BuiltCapture file;
  file.add(0, kPacket);
  std::string bytes = file.bytes();
  bytes += std::string("\0\0\0\1\0\0\0\1\xc0\0\0\0\xc0\0\0\0", 16) + std::string(100, 'x');
  const auto summary = analyse_trace(bytes, "test");
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->packets, 1);
  EXPECT_THAT(summary->problems, Contains(HasSubstr("claims 3221225472 captured bytes")));

  for (const uint32_t length : {0U, 8U, 13U, 0xfffffff0U}) {
    Blocks blocks(false);
    blocks.section().interface(1).packet(0, 1, ethernet(kPacket));
    blocks.bytes += blocks.number(6) + blocks.number(length) + std::string(64, 'x');
    const TraceSummary told = blocks.analyse();
    EXPECT_EQ(told.packets, 1);
    EXPECT_TRUE(told.truncated || !told.problems.empty()) << length;
  }
}

TEST(TraceFile, APacketLargerThanItsBlockEndsTheReading) {
  Blocks blocks(false);
  std::string body(20, '\0');
  body[12] = 100;  // captured bytes
  blocks.section().interface(1).block(6, body);
  EXPECT_THAT(blocks.analyse().problems, Contains(HasSubstr("claims a packet of 100")));
}

TEST(TraceFile, EveryCutIsTold) {
  BuiltCapture file;
  file.add(0, kPacket).add(10, kPacket);
  const std::string& bytes = file.bytes();
  for (size_t size = 24; size < bytes.size(); ++size) {
    const auto summary = analyse_trace(bytes.substr(0, size), "test");
    ASSERT_TRUE(summary) << size;
    const bool between = size == 24 || size == 24 + 16 + 54;
    EXPECT_EQ(summary->truncated, !between) << size;
    EXPECT_EQ(summary->packets, size < 24 + 16 + 54 ? 0 : 1);
  }
}

TEST(TraceFile, NoCaptures) {
  EXPECT_THAT(analyse_trace("", "x.pcap").error().what, HasSubstr("x.pcap is empty"));
  EXPECT_THAT(analyse_trace("hello, world", "x").error().what, HasSubstr("no capture file"));
  EXPECT_THAT(analyse_trace("\n", "x").error().what, HasSubstr("no capture file"));
  EXPECT_THAT(analyse_trace("\x1f\x8b\x08", "x").error().hint, HasSubstr("gunzip"));
  EXPECT_THAT(analyse_trace("\xd4\xc3\xb2\xa1 short", "x").error().what, HasSubstr("header"));
  EXPECT_EQ(analyse_trace("", "x").error().code, ErrorCode::kConfig);
  EXPECT_EQ(analyse_trace_file("/proc/nonexistent/x.pcap").error().sys_errno, ENOENT);
  EXPECT_THAT(analyse_trace_file("/").error().what, HasSubstr("is a folder"));
}

TEST(TraceFile, UnknownLinkTypesAreTold) {
  const TraceSummary summary = BuiltCapture(105).add(0, kPacket).analyse();
  EXPECT_EQ(summary.undecoded, 1);
  EXPECT_EQ(summary.link, "type 105");
  EXPECT_THAT(summary.problems, Contains(HasSubstr("link type 105")));
}

TEST(TraceFile, AnEmptyCaptureIsTold) {
  EXPECT_THAT(BuiltCapture().analyse().problems, Contains("the trace holds no packet"));
}

TEST(TraceFile, TimesThatGoBackwardsAreTold) {
  BuiltCapture file = established();
  file.add(5'000'000, data(1000, 100)).add(1'000'000, data(1100, 100)).add(6'000'000, ack(1200));
  const TraceSummary summary = file.analyse();
  EXPECT_THAT(summary.problems, Contains(HasSubstr("1 packets carry an earlier time")));
  EXPECT_EQ(summary.duration_ns, 6'000'000'000);
  EXPECT_EQ(summary.flows.at(0).a.payload_bytes, 200);
}

TEST(TraceFile, ReadsFilesLargerThanItsBuffer) {
  const std::string path = testing::TempDir() + "trace_file_test_large.pcap";
  {
    BuiltCapture file = established();
    std::ofstream out(path, std::ios::binary);
    out << file.bytes();
    const Tcp large = {.seq = 1000, .ack = 5000, .payload = 30'000};
    const std::string record = BuiltCapture().add(1000, large).bytes().substr(24);
    for (int i = 0; i < 200; ++i) out << record;
  }
  const auto summary = analyse_trace_file(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->packets, 203);
  EXPECT_EQ(summary->flows.at(0).a.payload_bytes, 200 * 30'000);
  EXPECT_EQ(summary->file, "trace_file_test_large.pcap");
}

}  // namespace
}  // namespace plumbline
