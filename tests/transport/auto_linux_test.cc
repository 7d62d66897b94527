// The transport `auto`: pairs of one machine share memory, all others and those that cannot stay on
// TCP, in one group; both ends decide alike, and the group tells what was used and why.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "tests/support/opened_world.h"
#include "tests/support/row_share.h"
#include "tests/transport/tcp_world.h"
#include "transport/shm/shm.h"

namespace plumbline {
namespace {

using test::exchange;
using test::run_ranks;
using test::TcpWorld;
using testing::AllOf;
using testing::HasSubstr;

using Groups = std::vector<std::unique_ptr<Group>>;

const TransportRow& automatic() { return **find_transport("auto", false); }

std::string used_between(Group& group, int peer) {
  return group.pair_transports()[static_cast<size_t>(peer)].name;
}

// As open_all, through upgrades that a test made, one per rank.
Groups open_upgraded(TcpWorld& world, const std::vector<TcpUpgrade>& upgrades) {
  for (size_t rank = 0; rank < upgrades.size(); ++rank) {
    world.endpoints[rank].abilities = abilities_of({upgrades[rank]});
  }
  Groups groups(upgrades.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < upgrades.size(); ++rank) {
    threads.emplace_back([&, rank] {
      auto group = open_tcp_group(world.spec(static_cast<int>(rank)),
                                  std::move(world.listeners[rank]), {upgrades[rank]});
      EXPECT_TRUE(group) << group.error().message();
      if (group) groups[rank] = std::move(*group);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return groups;
}

TcpUpgrade may_share(const OptionSet& options) {
  TcpUpgrade upgrade = shm_upgrade(options, memory_way());
  upgrade.of_every_pair = false;
  return upgrade;
}

TEST(Auto, SharesMemoryOnOneMachine) {
  for (const char* mesh : {"eager", "lazy"}) {
    OpenedWorld world;
    world.options = *world.options.with("mesh", mesh, "test");
    std::string wrong;
    Groups groups = open_all(automatic(), 3, world, wrong);
    ASSERT_EQ(wrong, "");
    run_ranks(groups, [](Group& group) {
      EXPECT_TRUE(exchange(group, 300'000, 1));
      EXPECT_EQ(group.transport_name(), "shm");
      for (const PairTransport& pair : group.pair_transports()) EXPECT_EQ(pair.reason, "");
    });
  }
}

TEST(Auto, OneRankHasNoPairAndSaysTcp) {
  OpenedWorld world;
  std::string wrong;
  const Groups groups = open_all(automatic(), 1, world, wrong);
  ASSERT_EQ(wrong, "");
  EXPECT_EQ(groups[0]->transport_name(), "tcp");
}

// Ranks 0, 2, 4 ... on one machine, the others on another: both ways of waiting and of connecting,
// several connections between the machines and one inside each.
TEST(Auto, SharesInsideEachOfTwoMachinesAndConnectsThem) {
  test::RowShare share(3);
  for (const char* mesh : {"eager", "lazy"}) {
    for (const char* wait : {"auto", "spin", "block"}) {
      for (const int ranks : {3, 10}) {
        if (!share.runs(mesh + std::to_string(ranks))) continue;
        SCOPED_TRACE(std::string(mesh) + " " + wait + " " + std::to_string(ranks));
        OpenedWorld world;
        for (const auto& [name, value] :
             std::map<std::string, std::string>{{"mesh", mesh}, {"wait", wait}, {"streams", "2"}}) {
          world.options = *world.options.with(name, value, "test");
        }
        world.heard = on_machines({0, 1});
        std::string wrong;
        Groups groups = open_all(automatic(), ranks, world, wrong);
        ASSERT_EQ(wrong, "");
        run_ranks(groups, [](Group& group) {
          for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
            const Status status = exchange(group, sequence * 70'000, sequence);
            ASSERT_TRUE(status) << status.error().message();
          }
          EXPECT_EQ(group.transport_name(),
                    group.size() == 3 && group.rank() == 1 ? "tcp" : "shm+tcp");
          const auto stats = group.stream_stats();
          for (int peer = 0; peer < group.size(); ++peer) {
            if (peer == group.rank()) continue;
            const bool near = (peer - group.rank()) % 2 == 0;
            EXPECT_EQ(used_between(group, peer), near ? "shm" : "tcp");
            EXPECT_EQ(stats[static_cast<size_t>(peer)]->parts.size(), near ? 0u : 2u);
            const auto channel = group.channel(peer, Deadline::after_ms(0));
            ASSERT_TRUE(channel);
            EXPECT_EQ((*channel)->stream().peer_memory() != nullptr, near);
          }
        });
      }
    }
  }
}

// Larger rings pay between two ranks, and not with more (docs/performance.md).
TEST(Auto, TwoRanksHaveLargerRings) {
  for (const auto& [ranks, bytes] : std::map<int, size_t>{{2, 2 << 20}, {3, 512 << 10}}) {
    SCOPED_TRACE(ranks);
    OpenedWorld world;
    std::string wrong;
    Groups groups = open_all(automatic(), ranks, world, wrong);
    ASSERT_EQ(wrong, "");
    const uint64_t expected = bytes;
    run_ranks(groups, [expected](Group& group) {
      ASSERT_TRUE(exchange(group, 1000, 1));
      const int peer = group.rank() == 0 ? 1 : 0;
      EXPECT_EQ(group.stream_stats()[static_cast<size_t>(peer)]->send_buffer, expected);
    });
  }
}

TEST(Auto, TwoRanksCutNothingBelowAMebibyteUnlessAsked) {
  struct Row {
    int ranks;
    const char* chunk_bytes;
    const char* crc;
    size_t whole_bytes;
  };
  for (const Row& row : {Row{2, "256Ki", "0", 1 << 20}, Row{2, "255Ki", "0", 0},
                         Row{2, "256Ki", "1", 0}, Row{3, "256Ki", "0", 0}}) {
    OpenedWorld world;
    world.options = *world.options.with("chunk_bytes", row.chunk_bytes, "test");
    world.options = *world.options.with("transport_crc", row.crc, "test");
    std::string wrong;
    const Groups groups = open_all(automatic(), row.ranks, world, wrong);
    ASSERT_EQ(wrong, "");
    EXPECT_EQ(groups.front()->channel_options().whole_bytes, row.whole_bytes)
        << row.ranks << " ranks, " << row.chunk_bytes;
  }
}

// The two ends claim one machine and find out that it is two: no error, and no step between the
// channel and its connection.
TEST(Auto, ARefusedOfferStaysOnTcpAndBothEndsSayWhy) {
  for (const char* mesh : {"eager", "lazy"}) {
    TcpWorld world(2, {{"mesh", mesh}});
    std::vector<TcpUpgrade> upgrades(2, may_share(world.options));
    for (size_t rank = 0; rank < upgrades.size(); ++rank) {
      upgrades[rank].make = [rank](std::unique_ptr<ByteStream> tcp, int self, int peer, int,
                                   TcpUpgrade::Stays stays) {
        return make_shm_stream(std::move(tcp), self, peer, 4096, rank == 0 ? "here" : "there",
                               nullptr, std::move(stays));
      };
    }
    Groups groups = open_upgraded(world, upgrades);
    run_ranks(groups, [](Group& group) {
      for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
        EXPECT_TRUE(exchange(group, 1'000'000, sequence));
      }
      EXPECT_EQ(group.transport_name(), "tcp");
      const PairTransport& pair = group.pair_transports()[static_cast<size_t>(1 - group.rank())];
      EXPECT_THAT(pair.reason, HasSubstr("different machines"));
      EXPECT_TRUE((*group.channel(1 - group.rank(), Deadline::after_ms(0)))->told_by_poll());
    });
  }
}

// No file may be so large as the rings, for as long as it lives.
class SmallFiles {
 public:
  SmallFiles() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 64 * 1024;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Auto, MemoryThatIsNotGrantedStaysOnTcpAndBothEndsSayWhy) {
  OpenedWorld world;
  std::string wrong;
  Groups groups;
  {
    const SmallFiles limit;
    groups = open_all(automatic(), 3, world, wrong);
  }
  ASSERT_EQ(wrong, "");
  run_ranks(groups, [](Group& group) {
    EXPECT_TRUE(exchange(group, 300'000, 1));
    EXPECT_EQ(group.transport_name(), "tcp");
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      EXPECT_THAT(group.pair_transports()[static_cast<size_t>(peer)].reason,
                  AllOf(HasSubstr("bytes of shared memory"), HasSubstr("too large")));
    }
  });
}

TEST(Auto, WhoAsksForSharedMemoryByNameIsToldByBothEnds) {
  OpenedWorld world;
  std::string wrong;
  const Claims claims = claim_all(**find_transport("shm", false), 2, world, wrong);
  ASSERT_EQ(claims.size(), 2u) << wrong;
  std::vector<std::string> said(2);
  {
    const SmallFiles limit;
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < said.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const auto group = claims[rank]->open(world.spec(static_cast<int>(rank)));
        said[rank] = group ? "it opened" : group.error().message();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const std::string& text : said) EXPECT_THAT(text, HasSubstr("bytes of shared memory"));
}

}  // namespace
}  // namespace plumbline
