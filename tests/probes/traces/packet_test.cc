// Packets of every link type and with every kind of lie in them; fragments and copies.
#include "probes/traces/packet.h"

#include <gmock/gmock.h>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;

const Tcp kPacket = {.seq = 1000, .ack = 5000, .payload = 10};

int64_t payload_seen(uint32_t link, const ByteString& frame, size_t snap = 65535) {
  const TraceSummary summary = BuiltCapture(link).add_frame(0, frame, snap).analyse();
  if (summary.flows.size() != 1) return -1;
  return summary.flows[0].a.payload_bytes + summary.flows[0].b.payload_bytes;
}

TEST(TracePacket, EveryLinkType) {
  const ByteString ip = ip_packet(kPacket);
  EXPECT_EQ(payload_seen(1, ethernet(ip)), 10);
  for (const uint32_t link : {12U, 14U, 101U, 228U}) EXPECT_EQ(payload_seen(link, ip), 10);
  EXPECT_EQ(payload_seen(0, ByteString{2, 0, 0, 0} + ip), 10);
  EXPECT_EQ(payload_seen(0, ByteString{0, 0, 0, 2} + ip), 10);
  EXPECT_EQ(payload_seen(108, ByteString{0, 0, 0, 2} + ip), 10);
  EXPECT_EQ(payload_seen(9, ByteString{0xff, 3, 0, 0x21} + ip), 10);
  EXPECT_EQ(payload_seen(9, ByteString{0x21} + ip), 10);
  EXPECT_EQ(payload_seen(276, cooked(ip, 3, 0)), 10);
  const ByteString sll = {0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0};
  EXPECT_EQ(payload_seen(113, sll + ip), 10);
  Tcp v6 = kPacket;
  v6.v6 = true;
  EXPECT_EQ(payload_seen(229, ip_packet(v6)), 10);
  EXPECT_EQ(payload_seen(0, ByteString{30, 0, 0, 0} + ip_packet(v6)), 10);
  EXPECT_EQ(payload_seen(1, ethernet(v6)), 10);
}

TEST(TracePacket, TagsAreStripped) {
  const ByteString ip = ip_packet(kPacket);
  const ByteString vlan = {0, 7, 8, 0}, outer = {0, 9, 0x81, 0};
  EXPECT_EQ(payload_seen(1, ethernet(vlan + ip, 0x8100)), 10);
  EXPECT_EQ(payload_seen(1, ethernet(outer + vlan + ip, 0x88a8)), 10);
  const ByteString snap = {0xaa, 0xaa, 3, 0, 0, 0, 8, 0};
  EXPECT_EQ(payload_seen(1, ethernet(snap + ip, 100)), 10);
  const ByteString pppoe = {0x11, 0, 0, 1, 0, 60, 0, 0x21};
  EXPECT_EQ(payload_seen(1, ethernet(pppoe + ip, 0x8864)), 10);
}

TEST(TracePacket, EndlessTagsEnd) {
  ByteString tags;
  for (int i = 0; i < 1000; ++i) tags = tags + ByteString{0, 1, 0x81, 0};
  EXPECT_EQ(payload_seen(1, ethernet(tags, 0x8100)), -1);
}

TEST(TracePacket, TheTrailerIsNoPayload) {
  EXPECT_EQ(payload_seen(1, ethernet(ip_packet(kPacket)) + ByteString(30, 0)), 10);
}

TEST(TracePacket, TheSnapshotLengthDoesNotShortenThePayload) {
  Tcp large = kPacket;
  large.payload = 1400;
  EXPECT_EQ(payload_seen(1, ethernet(large), 54), 1400);
  EXPECT_EQ(payload_seen(1, ethernet(large), 53), -1);  // not even the header
}

TEST(TracePacket, SegmentationOffloadLeavesTheLengthOpen) {
  Tcp large = kPacket;
  large.payload = 60'000;
  ByteString frame = ethernet(large);
  frame[16] = frame[17] = 0;  // total length
  EXPECT_EQ(payload_seen(1, frame, 100), 60'000);
  large.v6 = true;
  frame = ethernet(large);
  frame[18] = frame[19] = 0;  // payload length
  EXPECT_EQ(payload_seen(1, frame, 100), 60'000);
}

TEST(TracePacket, LyingLengths) {
  ByteString frame = ethernet(kPacket);
  frame[16] = 0xff;  // longer than the frame
  EXPECT_EQ(payload_seen(1, frame), 10);
  frame = ethernet(kPacket);
  frame[16] = 0;
  frame[17] = 19;  // shorter than its header
  EXPECT_EQ(payload_seen(1, frame), -1);
  frame = ethernet(kPacket);
  frame[14] = 0x41;  // header of 4 bytes
  EXPECT_EQ(payload_seen(1, frame), -1);
  frame = ethernet(kPacket);
  frame[14] = 0x4f;  // header longer than the packet
  EXPECT_EQ(payload_seen(1, frame), -1);
  frame = ethernet(kPacket);
  frame[46] = 0xf0;  // TCP header longer than the segment
  EXPECT_EQ(payload_seen(1, frame), -1);
  frame = ethernet(kPacket);
  frame[46] = 0x40;
  EXPECT_EQ(payload_seen(1, frame), -1);
  frame = ethernet(kPacket);
  frame[14] = 0x75;  // version 7
  EXPECT_EQ(payload_seen(1, frame), -1);
}

TEST(TracePacket, BrokenTcpOptionsDoNotMatter) {
  for (const ByteString& options :
       {ByteString{2, 0, 0, 0}, ByteString{2, 40, 5, 5}, ByteString{3}, ByteString{5, 10, 1, 1},
        ByteString{2, 3, 1, 1}, ByteString{255, 255, 255, 255}}) {
    Tcp syn = {.flags = kS, .seq = 1, .options = options};
    const TraceFlow flow = BuiltCapture().add(0, syn).flow();
    EXPECT_EQ(flow.a.syn, 1);
    EXPECT_FALSE(flow.a.mss.has_value());
  }
}

TEST(TracePacket, Ipv6ExtensionHeaders) {
  const ByteString segment = tcp_header(kPacket) + ByteString(10, 'x');
  const ByteString hop = {43, 0, 1, 4, 0, 0, 0, 0}, routing = {60, 0, 0, 0, 0, 0, 0, 0},
                   options = {6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(payload_seen(229, ip6(0, true, hop + routing + options + segment)), 10);
  ByteString endless;
  for (int i = 0; i < 100; ++i) endless = endless + ByteString{0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(payload_seen(229, ip6(0, true, endless + segment)), -1);
  EXPECT_EQ(payload_seen(229, ip6(60, true, {6, 200, 0, 0, 0, 0, 0, 0})), -1);
}

TEST(TracePacket, OtherProtocolsAreCounted) {
  const TraceSummary summary = BuiltCapture()
                                   .add_frame(0, ethernet(ip4(132, true, ByteString(20, 1))))
                                   .add_frame(1, ethernet(ByteString(40, 1), 0x88cc))
                                   .analyse();
  EXPECT_EQ(summary.other_ip, 1);
  EXPECT_EQ(summary.undecoded, 1);
}

TEST(TracePacket, ArpIsCounted) {
  ByteString arp = {0, 1, 8, 0, 6, 4, 0, 1};
  arp.resize(28);
  ByteString reply = arp;
  reply[7] = 2;
  const TraceSummary summary = BuiltCapture()
                                   .add_frame(0, ethernet(arp, 0x0806))
                                   .add_frame(1, ethernet(arp, 0x0806))
                                   .add_frame(2, ethernet(reply, 0x0806))
                                   .analyse();
  EXPECT_EQ(summary.arp_requests, 2);
  EXPECT_EQ(summary.arp_replies, 1);
  EXPECT_EQ(summary.undecoded, 0);
}

TEST(TracePacket, FragmentsMakeOneSegment) {
  const ByteString segment = tcp_header({.seq = 1000, .ack = 5000}) + ByteString(1000, 'x');
  const ByteString first(segment.begin(), segment.begin() + 512);
  const ByteString rest(segment.begin() + 512, segment.end());
  BuiltCapture file;
  file.add_frame(0, ethernet(ip4(6, true, first, 7, 64, 0x2000)));
  EXPECT_EQ(file.analyse().flows.size(), 0U);
  EXPECT_EQ(file.analyse().incomplete_datagrams, 1);
  EXPECT_THAT(file.analyse().problems, Contains(HasSubstr("lack fragments")));
  file.add_frame(10, ethernet(ip4(6, true, rest, 7, 64, 512 / 8)));
  EXPECT_EQ(file.flow().a.payload_bytes, 1000);
  EXPECT_EQ(file.analyse().fragments, 2);
  EXPECT_EQ(file.analyse().incomplete_datagrams, 0);
}

TEST(TracePacket, FragmentsInAnyOrderAndWithAHeaderInPieces) {
  const ByteString segment = tcp_header({.seq = 1000, .ack = 5000}) + ByteString(100, 'x');
  const ByteString one(segment.begin(), segment.begin() + 64);
  const ByteString other(segment.begin() + 64, segment.end());
  BuiltCapture backwards;
  backwards.add_frame(0, ethernet(ip4(6, true, other, 7, 64, 64 / 8)));
  backwards.add_frame(1, ethernet(ip4(6, true, one, 7, 64, 0x2000)));
  EXPECT_EQ(backwards.flow().a.payload_bytes, 100);
  const ByteString tiny(segment.begin(), segment.begin() + 16);
  const ByteString large(segment.begin() + 16, segment.end());
  BuiltCapture pieces;
  pieces.add_frame(0, ethernet(ip4(6, true, tiny, 7, 64, 0x2000)));
  pieces.add_frame(1, ethernet(ip4(6, true, large, 7, 64, 2)));
  EXPECT_EQ(pieces.flow().a.payload_bytes, 100);
}

TEST(TracePacket, FragmentsOfDifferentPacketsStayApart) {
  const ByteString segment = tcp_header({.seq = 1000, .ack = 5000}) + ByteString(100, 'x');
  BuiltCapture file;
  file.add_frame(0, ethernet(ip4(6, true, segment, 7, 64, 0x2000)));
  file.add_frame(1, ethernet(ip4(6, true, ByteString(8, 1), 8, 64, 15)));
  EXPECT_EQ(file.analyse().flows.size(), 0U);
  EXPECT_EQ(file.analyse().incomplete_datagrams, 2);
}

TEST(TracePacket, ManyIncompleteDatagramsAreBounded) {
  BuiltCapture file;
  for (int i = 0; i < 5000; ++i) {
    file.add_frame(i, ethernet(ip4(17, true, ByteString(64, 1), i, 64, 0x2000)));
  }
  EXPECT_EQ(file.analyse().incomplete_datagrams, 5000);
}

TEST(TracePacket, Ipv6Fragments) {
  const ByteString segment = tcp_header({.seq = 1000, .ack = 5000}) + ByteString(100, 'x');
  const ByteString one(segment.begin(), segment.begin() + 64);
  const ByteString other(segment.begin() + 64, segment.end());
  BuiltCapture file(229);
  file.add_frame(0, ip6(44, true, ByteString{6, 0, 0, 1, 0, 0, 0, 9} + one));
  file.add_frame(1, ip6(44, true, ByteString{6, 0, 0, 64, 0, 0, 0, 9} + other));
  EXPECT_EQ(file.flow().a.payload_bytes, 100);
  // An "atomic" fragment is whole.
  EXPECT_EQ(payload_seen(229, ip6(44, true, ByteString{6, 0, 0, 0, 0, 0, 0, 9} + segment)), 100);
}

// A bridge with two ports: in at one, in at the bridge, out at the other.
TEST(TracePacket, CopiesOnOtherInterfacesAreNoRetransmissions) {
  BuiltCapture file(276);
  for (uint32_t i = 0; i < 5; ++i) {
    const ByteString ip = ip_packet(
        {.seq = 1000 + 100 * i, .ack = 5000, .payload = 100, .id = static_cast<int>(100 + i)});
    const int64_t at = 1000 * i;
    file.add_frame(at, cooked(ip, 2, 3)).add_frame(at + 2, cooked(ip, 4, 0));
    file.add_frame(at + 5, cooked(ip, 3, 4));
  }
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.packets, 5);
  EXPECT_EQ(flow.a.payload_bytes, 500);
  EXPECT_EQ(flow.a.retransmissions, 0);
  EXPECT_EQ(flow.copies, 10);
}

TEST(TracePacket, ARetransmissionSeenTwiceIsOneRetransmission) {
  BuiltCapture file(276);
  const auto segment = [](int id) {
    return ip_packet({.seq = 1000, .ack = 5000, .payload = 100, .id = id});
  };
  file.add_frame(0, cooked(segment(1), 2, 0)).add_frame(5, cooked(segment(1), 3, 4));
  file.add_frame(300'000, cooked(segment(2), 2, 0)).add_frame(300'005, cooked(segment(2), 3, 4));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.packets, 2);
  EXPECT_EQ(flow.a.retransmissions, 1);
  EXPECT_EQ(flow.copies, 2);
}

TEST(TracePacket, TheSamePlaceTwiceIsARetransmission) {
  BuiltCapture file(276);
  const ByteString ip = ip_packet({.seq = 1000, .ack = 5000, .payload = 100});
  file.add_frame(0, cooked(ip, 2, 0)).add_frame(300'000, cooked(ip, 2, 0));
  EXPECT_EQ(file.flow().a.retransmissions, 1);
  EXPECT_EQ(file.flow().copies, 0);
}

TEST(TracePacket, OneInterfaceHasNoCopies) {
  BuiltCapture file;
  const Tcp segment = {.seq = 1000, .ack = 5000, .payload = 100, .id = 9};
  file.add(0, segment).add(5, segment);
  EXPECT_EQ(file.flow().a.retransmissions, 1);
}

TEST(TracePacket, CopiesMayBeCutDifferently) {
  BuiltCapture file(276);
  const auto segment = [](uint32_t seq, int payload, int id) {
    return ip_packet({.seq = seq, .ack = 5000, .payload = payload, .id = id});
  };
  file.add_frame(0, cooked(segment(1000, 100, 1), 2, 0));
  file.add_frame(2, cooked(segment(1000, 100, 1), 3, 4));
  file.add_frame(10, cooked(segment(1100, 300, 2), 2, 0));
  for (int i = 0; i < 3; ++i) {
    file.add_frame(12 + i,
                   cooked(segment(1100 + 100 * static_cast<uint32_t>(i), 100, 2 + i), 3, 4));
  }
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions, 0);
  EXPECT_EQ(flow.copies, 4);
}

TEST(TracePacket, DirectionsAreCounted) {
  BuiltCapture file(276);
  file.add_frame(0, cooked(ip_packet({.flags = kS, .seq = 9}), 2, 4));
  file.add_frame(9, cooked(ip_packet({.from_a = false, .flags = kR | kA, .ack = 10}), 2, 0));
  EXPECT_EQ(file.flow().a.outgoing, 1);
  EXPECT_EQ(file.flow().a.incoming, 0);
  EXPECT_EQ(file.flow().b.incoming, 1);
}

TEST(TracePacket, ManyFlowsAreBounded) {
  BuiltCapture file;
  for (int i = 0; i < 100'000; ++i) {
    file.add(i, {.flags = kS, .seq = 1, .a_port = 1 + i % 60'000, .b_port = 1 + i / 60'000});
  }
  const TraceSummary summary = file.analyse();
  EXPECT_EQ(summary.flows.size(), 10'000U);
  EXPECT_EQ(summary.packets, 100'000);
  EXPECT_THAT(summary.problems, Contains(HasSubstr("90000 packets of further ones")));
  const TraceSummary few = file.analyse({.max_packets = 50, .max_flows = 10});
  EXPECT_EQ(few.packets, 50);
  EXPECT_EQ(few.flows.size(), 10U);
  EXPECT_THAT(few.problems, Contains(HasSubstr("only the first 50 packets")));
}

TEST(TracePacket, EveryTruncationOfEveryPacketIsHarmless) {
  Tcp v6 = {.flags = kS, .seq = 1, .payload = 3, .options = mss_option(1460), .v6 = true};
  Tcp v4 = v6;
  v4.v6 = false;
  const ByteString quoted = icmp_error(3, 1, ip_packet(v4), 0, 60);
  for (const ByteString& frame : {ethernet(v4), ethernet(v6), ethernet(ip4(1, true, quoted))}) {
    for (size_t size = 0; size <= frame.size(); ++size) {
      const ByteString exact(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      for (const uint32_t link : {0U, 1U, 9U, 101U, 113U, 276U}) {
        RawPacket raw;
        raw.link = link;
        raw.data = exact.data();
        raw.captured = size;
        raw.wire_len = static_cast<uint32_t>(size);
        decode_packet(raw);
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
