// Link cells over queue pairs of their own, on a verbs library without hardware, with ranks as
// threads.
#include <gmock/gmock.h>

#include "collectives/links/link_measure.h"
#include "tests/support/collective_case.h"
#include "tests/transport/rdma_world.h"
#include "transport/rdma/bare_verbs.h"

namespace plumbline {
namespace {

using test::Groups;
using test::kCard;
using test::kMac;
using test::rdma_row;
using test::run_ranks;
using testing::HasSubstr;

class LinkVerbs : public test::Rdma {
  using Rdma = test::Rdma;

 protected:
  // The cell on all ranks of a world over `row`; the links of all, judged.
  Measurement measure(const std::string& measure, uint64_t bytes, int pairs = 1,
                      TransportRow row = rdma_row(), int ranks = 2) {
    Cell cell;
    cell.kind = CellKind::kLink;
    cell.op = "link";
    cell.measure = measure;
    cell.ranks = ranks;
    cell.bytes = bytes;
    cell.outstanding = pairs;
    OpenedWorld world;
    if (finds_device_ && row.name == std::string_view("rdma")) {
      row.name = "rdma with the device that is found";
      set(world, "transport", "rdma");
      set(world, "rdma_library", test::fake_verbs_library());
    }
    std::string wrong;
    Groups groups = open_all(row, ranks, world, wrong);
    EXPECT_EQ(wrong, "");
    if (groups.empty()) return {};
    std::vector<Measurement> parts(groups.size());
    run_ranks(groups, [&](Group& group) {
      Executor executor(group, test_kernels());
      MeasureContext context;
      context.group = &group;
      context.executor = &executor;
      context.options = &world.options;
      MeasureSettings settings;
      settings.throughput_time_ns = 40 * kMillisecond;
      const Expected<Measurement> measured = measure_links(cell, settings, context);
      ASSERT_TRUE(measured) << measured.error().message();
      parts[static_cast<size_t>(group.rank())] = *measured;
    });
    Measurement all = parts.front();
    for (size_t rank = 1; rank < parts.size(); ++rank) {
      all.links.insert(all.links.end(), parts[rank].links.begin(), parts[rank].links.end());
    }
    judge_links(all);
    return all;
  }

  void use(const std::string& settings) {
    Rdma::use(settings);
    finds_device_ = settings.starts_with(kCard);
  }

  bool finds_device_ = false;  // by the address; on a Mac it is named
};

bool is_latency(const std::string& measure) { return measure.ends_with("_lat"); }

TEST_F(LinkVerbs, EveryMeasureOfTheTableFillsEveryOrderedPair) {
  size_t rows = 0;
  for (const LinkMeasureRow& row : link_measure_table()) {
    if (!row.verbs) continue;
    ++rows;
    for (const uint64_t bytes : {1, 4096, 100'000}) {
      SCOPED_TRACE(std::string(row.name) + " " + std::to_string(bytes));
      use(kCard);
      const Measurement m = measure(row.name, bytes, is_latency(row.name) ? 1 : 3);
      EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
      EXPECT_EQ(m.resolved.transport, "rdma");
      ASSERT_EQ(m.links.size(), 2u);
      for (const LinkResult& link : m.links) {
        EXPECT_EQ(link.error, "");
        EXPECT_EQ(link.queue_pair, "RC mlx5_0");
        EXPECT_EQ(link.rtt.has_value(), is_latency(row.name));
        ASSERT_EQ(link.rate_Bps.has_value(), !is_latency(row.name));
        if (!link.rate_Bps) continue;
        ASSERT_EQ(link.streams.size(), 3u);
        uint64_t total = 0;
        for (const LinkStream& stream : link.streams) total += stream.bytes;
        EXPECT_GT(total, 0u);
        const double seconds = static_cast<double>(link.elapsed_ns) * 1e-9;
        EXPECT_NEAR(*link.rate_Bps * seconds, static_cast<double>(total), 1);
        EXPECT_NEAR(*link.messages_per_s * static_cast<double>(bytes), *link.rate_Bps,
                    *link.rate_Bps * 1e-9);
      }
    }
  }
  EXPECT_EQ(rows, 8u);
}

TEST_F(LinkVerbs, ThreeRanksAreMeasuredInRounds) {
  use(kCard);
  const Measurement m = measure("send_bw", 65'536, 1, rdma_row(), 3);
  EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
  EXPECT_EQ(m.links.size(), 6u);
}

// What Apple's devices cannot do is no failure of the link.
TEST_F(LinkVerbs, WhatAProviderHasNotIsSkippedWithTheReason) {
  const struct {
    const char* measure;
    uint64_t bytes;
    const char* why;
  } rows[] = {{"read_lat", 4096, "UC on rdma_en1 has no RDMA READ"},
              {"read_bw", 4096, "UC on rdma_en1 has no RDMA READ"},
              {"write_bw", 4096, "on UC nobody tells how many RDMA WRITEs came"},
              {"send_lat", 2, "messages on rdma_en1 are 4 KiB x 2^k long"}};
  for (const auto& row : rows) {
    use(kMac);
    const Measurement m = measure(row.measure, row.bytes);
    EXPECT_EQ(m.outcome, Outcome::kSkipped) << row.measure;
    EXPECT_THAT(m.reason, HasSubstr(row.why));
  }
  for (const char* possible : {"send_lat", "send_bw", "send_bibw", "write_lat"}) {
    use(kMac);
    const Measurement m = measure(possible, 8192);
    EXPECT_EQ(m.outcome, Outcome::kPassed) << possible << ": " << m.reason;
    EXPECT_EQ(m.links[0].queue_pair, "UC rdma_en1");
  }
}

TEST_F(LinkVerbs, MessagesThatGotLostOnUcAreAnErrorOfTheLink) {
  use(std::string(kMac) + "lose 10 65536\n");  // and none of the ranks' own
  const Measurement m = measure("send_bw", 65'536);
  EXPECT_EQ(m.outcome, Outcome::kFailed);
  EXPECT_EQ(m.cause, "rdma.path");
  EXPECT_THAT(m.reason, HasSubstr("were sent on the queue pairs, and"));
}

// The last credits are posted, and not yet sent, when all messages have come.
TEST_F(LinkVerbs, AReceiverStaysUntilItsCreditsHaveArrived) {
  use(std::string(kMac) + "linger 20 4096\n");
  for (const char* name : {"send_bw", "send_bibw"}) {
    const Measurement m = measure(name, 65'536);
    EXPECT_EQ(m.outcome, Outcome::kPassed) << name << ": " << m.reason;
  }
}

TEST_F(LinkVerbs, WhereRanksTalkOverTcpItSaysSo) {
  use(kCard);
  const Measurement m = measure("send_lat", 2, 1, **find_transport("tcp", true));
  EXPECT_EQ(m.outcome, Outcome::kFailed);
  EXPECT_THAT(m.reason, HasSubstr("these ranks do not talk over RDMA"));
}

// The peer has no more queue pairs: both ends know it at once.
TEST_F(LinkVerbs, AnEndThatCannotMakeOneIsAnErrorAtOnce) {
  use(std::string(kCard) + "most qp 5\n");  // two of the ranks' own
  const auto start = monotonic_ns();
  const Measurement m = measure("send_bw", 4096, 4);
  EXPECT_EQ(m.outcome, Outcome::kFailed);
  EXPECT_EQ(m.cause, "rdma.qp_limit") << m.reason;
  EXPECT_LT(monotonic_ns() - start, 6 * kSecond);
}

TEST_F(LinkVerbs, NumbersThatAreNoQueuePairsAreRefused) {
  use(kCard);
  const auto verbs = *shared_verbs(test::fake_verbs_library());
  static_cast<void>(rdma_devices(*verbs));
  const auto port = *RdmaPort::open(verbs, "mlx5_0", {}, "127.0.0.1");
  const auto pair = *BareVerbs::create(port, VerbsMove::kSend, 64, "the other end");
  const BareVerbs::EndWords own = pair->end();
  for (const auto& [word, value] : {std::pair<size_t, uint64_t>{2, own[2] & ~0xff0000ull},
                                    {2, own[2] | 0xff0000ull},
                                    {2, own[2] + (uint64_t{1} << 30)},
                                    {3, UINT64_MAX},
                                    {5, UINT64_MAX}}) {
    BareVerbs::EndWords spoilt = own;
    spoilt[word] = value;
    const Status connected = pair->connect(spoilt);
    ASSERT_FALSE(connected) << word;
    EXPECT_EQ(connected.error().code, ErrorCode::kProtocol);
  }
  BareVerbs::EndWords other = own;
  other[2] = (own[2] & 0xffffff) | uint64_t{kUnreliable} << 24;
  const Status connected = pair->connect(other);
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("of the type RC, the other one of UC"));
  EXPECT_FALSE(BareVerbs::create(port, VerbsMove::kSend, 0, "the other end"));
  EXPECT_FALSE(BareVerbs::create(port, VerbsMove::kSend, BareVerbs::kMostBytes + 1, "x"));
}

}  // namespace
}  // namespace plumbline
