// What the transport `rdma` says, and goes on over, where a pair cannot: each limit and fault that
// providers were seen to have, ends that differ, options that mean nothing, bytes of strangers.
#include <gmock/gmock.h>

#include <random>

#include "tests/transport/rdma_world.h"

namespace plumbline {
namespace {

using test::auto_row;
using test::exchange;
using test::Groups;
using test::kCard;
using test::kMac;
using test::rails_on;
using test::Rdma;
using test::rdma_row;
using test::run_ranks;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(Rdma, EveryLimitAndFaultIsItsCause) {
  const struct {
    std::string faults, cause, says;
  } rows[] = {
      {"fail open 13", "rdma.no_device", "open rdma_en1"},
      {"port 1", "rdma.port_down", "is not active"},
      {"gids 1", "rdma.no_gid", "no GID at index 1"},
      {"late 1000", "rdma.no_gid", "no GID at index 1"},
      {"fail pd 0", "rdma.pd", "protection domain"},
      {"most cq 0", "rdma.cq_limit", "completion queue"},
      {"most qp 0", "rdma.qp_limit", "type UC"},
      {"most mr 0", "rdma.memlock", "register"},
      {"fail mr 55", "rdma.mr_limit", "register"},
      {"posts 31", "rdma.qp_limit", "post receive 32 of 32"},
      {"fail init 22", "rdma.rtr", "INIT"},
      {"fail rtr 96", "rdma.rtr", "ready to receive"},
      {"fail rts 22", "rdma.rtr", "ready to send"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.faults);
    use(kMac + row.faults);
    auto [first, second] = test::connected_streams();
    RdmaTerms one(*first, 0, 1, true, rails_on("rdma_en1"));
    RdmaTerms other(*second, 1, 0, true, rails_on("rdma_en1"));
    const Deadline deadline = Deadline::after_ms(5000);
    bool settled = false;
    while (!settled && !deadline.passed()) {
      const Expected<bool> a = one.step(), b = other.step();
      ASSERT_TRUE(a && b);
      settled = *a && *b;
    }
    ASSERT_TRUE(settled);
    ASSERT_TRUE(one.cannot() && other.cannot());
    EXPECT_EQ(one.cannot()->cause, row.cause);
    EXPECT_THAT(one.cannot()->what, HasSubstr(row.says));
    EXPECT_THAT(one.reason(), HasSubstr(row.says));
    EXPECT_THAT(one.cannot()->hint, HasSubstr("--transport auto"));
  }
}

TEST_F(Rdma, AloneItIsAnErrorThatNamesThePairAndTheReason) {
  use("");
  OpenedWorld world;
  set(world, "transport", "rdma");
  EXPECT_THAT(refusal(rdma_row(), world),
              AllOf(HasSubstr("transport rdma: rank 0 on here and rank 1 on here"),
                    HasSubstr("lists no device")));
  OpenedWorld other;
  use(std::string(kMac) + "most qp 0\n");
  set(other, "transport", "rdma");
  EXPECT_THAT(refusal(rdma_row(), other),
              AllOf(HasSubstr("rank 0 and rank 1"), HasSubstr("queue pair of the type UC")));
}

// Two machines with RDMA between them; one pair cannot.
TEST_F(Rdma, AutoTakesItBetweenMachinesAndTcpWithTheReasonWhereItFails) {
  for (const char* faults : {"", "most qp 0\n"}) {
    use(std::string(kMac) + faults);
    OpenedWorld world;
    world.options = test::with_rdma(world.options);
    world.heard = on_machines({0, 1});
    std::string wrong;
    Groups groups = open_all(auto_row(), 4, world, wrong);
    ASSERT_EQ(wrong, "");
    const bool sound = std::string(faults).empty();
    run_ranks(groups, [&](Group& group) {
      EXPECT_TRUE(exchange(group, 300'000, 1));
      for (int peer = 0; peer < 4; ++peer) {
        if (peer == group.rank()) continue;
        const PairTransport& pair = group.pair_transports()[static_cast<size_t>(peer)];
        const bool near = (peer - group.rank()) % 2 == 0;
        EXPECT_EQ(pair.name, near ? "shm" : sound ? "rdma" : "tcp");
        if (near || sound) {
          EXPECT_EQ(pair.reason, "");
        } else {
          EXPECT_THAT(pair.reason, HasSubstr("queue pair"));
        }
      }
    });
  }
}

TEST_F(Rdma, AutoSaysWhyNotWhereAHostFileNamesDevices) {
  use("");
  OpenedWorld world;
  world.options = test::with_rdma(world.options);
  world.heard = on_machines({0, 1});
  std::string wrong;
  const Groups groups = open_all(auto_row(), 2, world, wrong);
  ASSERT_EQ(wrong, "");
  EXPECT_EQ(groups[0]->transport_name(), "tcp");
  EXPECT_THAT(groups[0]->pair_transports()[1].reason,
              AllOf(HasSubstr("rank 0 on here"), HasSubstr("lists no device")));
}

TEST_F(Rdma, OptionsThatMeanNothingThereAreRefusedByName) {
  const struct {
    const char *option, *value, *says;
  } rows[] = {
      {"rdma_qp", "rc", "rdma_qp = rc means nothing on rdma_en1 (profile apple)"},
      {"rdma_frame_bytes", "1Mi", "512 KiB at most"},
      {"rdma_frame_bytes", "5000", "4 KiB, 8 KiB"},
  };
  for (const auto& row : rows) {
    for (const TransportRow* transport : {&rdma_row(), &auto_row()}) {
      use(kMac);
      OpenedWorld world;
      world.options = test::with_rdma(world.options);
      world.heard = on_machines({0, 1});
      set(world, row.option, row.value);
      EXPECT_THAT(refusal(*transport, world), HasSubstr(row.says)) << transport->name;
    }
  }
}

// RC beside UC, frames of other sizes: at both ends, with both ranks, before any data.
TEST_F(Rdma, EndsThatAreNotAlikeAreRefusedWithBothRanks) {
  use(kCard);
  const std::vector<RdmaOptions> kinds = {
      {"", {}, kReliable, -1, 0}, {"", {}, kUnreliable, -1, 0}, {"", {}, kReliable, -1, 8192}};
  for (const auto& [kind, asked] :
       std::vector<std::pair<size_t, bool>>{{1, true}, {2, true}, {1, false}}) {
    auto [first, second] = test::connected_streams();
    RdmaTerms one(*first, 4, 7, asked, rails_on("mlx5_0", kinds[0]));
    RdmaTerms other(*second, 7, 4, false, rails_on("mlx5_0", kinds[kind]));
    const Deadline deadline = Deadline::after_ms(5000);
    Expected<bool> a = false, b = false;
    while ((a || b) && !(a && b && *a && *b) && !deadline.passed()) {
      if (a) a = one.step();
      if (b) b = other.step();
    }
    if (!asked) {  // nobody counts on it: they go over TCP
      ASSERT_TRUE(a && b && one.cannot() && other.cannot());
      EXPECT_THAT(one.reason() + other.reason(), HasSubstr("UC"));
      continue;
    }
    for (const Expected<bool>* end : {&a, &b}) {
      ASSERT_FALSE(*end);
      EXPECT_EQ(end->error().code, ErrorCode::kConfig);
      EXPECT_THAT(end->error().ranks, testing::UnorderedElementsAre(4, 7));
      EXPECT_THAT(end->error().what, HasSubstr(kind == 1 ? "UC" : "8 KiB"));
    }
  }
}

// Ready, as far as both devices know, and nothing arrives: seen before any data, so that auto goes
// over TCP.
TEST_F(Rdma, APathOnWhichNothingArrivesIsSeenBeforeData) {
  for (const char* settings : {kMac, kCard}) {
    use(std::string(settings) + "deaf\n");
    OpenedWorld world;
    const bool mac = settings == std::string(kMac);
    world.options = test::with_rdma(world.options);
    if (!mac) set(world, "rdma_device", "mlx5_0");
    world.heard = on_machines({0, 1});
    std::string wrong;
    Groups groups = open_all(auto_row(), 2, world, wrong);
    ASSERT_EQ(wrong, "");
    run_ranks(groups, [](Group& group) {
      EXPECT_TRUE(exchange(group, 300'000, 1));
      EXPECT_EQ(group.transport_name(), "tcp");
      EXPECT_THAT(group.pair_transports()[static_cast<size_t>(1 - group.rank())].reason,
                  HasSubstr("nothing that rank"));
    });
  }
}

TEST(RdmaOfferBytes, ComeBackAsTheyWereAndThoseOfStrangersNeverHarm) {
  RdmaOffer said;
  said.qp_type = kUnreliable;
  said.frame_bytes = 4096;
  said.requests = 32;
  said.mtu = 3;
  said.ends = {{{}, 1, 2, 3}, {{}, 4, 0xffffff, 6}};
  said.ends[1].gid.raw[15] = 9;
  const std::vector<std::byte> good = encode_rdma_offer(said);
  ASSERT_EQ(good.size(), kRdmaOfferBytes);
  const auto back = decode_rdma_offer(good);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ends, said.ends);
  EXPECT_EQ(back->frame_bytes, said.frame_bytes);
  RdmaOffer refused;
  refused.refusal = "no device";
  EXPECT_EQ(decode_rdma_offer(encode_rdma_offer(refused))->refusal, "no device");
  said.frame_bytes = 1 << 30;
  EXPECT_FALSE(decode_rdma_offer(encode_rdma_offer(said)));
  std::mt19937_64 random(20261128);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto read = decode_rdma_offer(bytes);
    EXPECT_TRUE(!read || (!read->ends.empty() && read->ends.size() <= kMostRails));
  }
  EXPECT_FALSE(decode_rdma_offer(std::span(good).first(10)));
}

}  // namespace
}  // namespace plumbline
