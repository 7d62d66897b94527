// Groups whose pairs are joined by several connections: everything that holds of one holds of all.
#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <set>

#include "tcp_world.h"
#include "tests/support/sanitized.h"
#include "transport/control/control_link.h"
#include "transport/control/handshake.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::exchange;
using test::PlainClient;
using test::TcpWorld;
using testing::AllOf;
using testing::HasSubstr;

TEST(Streams, EveryPairExchangesEverySize) {
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for (const char* mesh : {"eager", "lazy"}) {
      SCOPED_TRACE(std::to_string(ranks) + mesh);
      TcpWorld world(ranks, {{"streams", "3"}, {"mesh", mesh}});
      world.run([](Group& group) {
        uint32_t sequence = 0;
        for (const size_t bytes : {0, 1, 39, 40, 65'000, 65'536, 300'001}) {
          const Status status = exchange(group, bytes, ++sequence);
          ASSERT_TRUE(status) << bytes << ": " << status.error().message();
        }
        for (const auto& stats : group.stream_stats()) {
          if (!stats) continue;
          ASSERT_EQ(stats->parts.size(), 3u);
          std::set<std::string> connections;
          for (const StreamStats& part : stats->parts) {
            connections.insert(part.local + part.remote);
            EXPECT_GT(part.send_buffer.value_or(0), 0u);
          }
          EXPECT_EQ(connections.size(), 3u);
        }
      });
    }
  }
}

TEST(Streams, AreOneWhereHostsShareOneSubnet) {
  TcpWorld world(2);
  world.run([](Group& group) {
    EXPECT_TRUE(exchange(group, 100'000, 1));
    EXPECT_TRUE(group.stream_stats()[static_cast<size_t>(1 - group.rank())]->parts.empty());
  });
}

// They call nearly at one time, and are not taken for a port scan.
TEST(Streams, AllConnectionsOfAGroupMayComeAtOnce) {
  TcpWorld world(9, {{"streams", "16"}});
  std::vector<std::unique_ptr<Group>> groups(9);
  RefusedTally refused;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 9; ++rank) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      if (rank == 8) spec.refused = &refused;  // whom all others call
      Expected<std::unique_ptr<Group>> group = world.open(spec);
      ASSERT_TRUE(group) << group.error().message();
      groups[static_cast<size_t>(rank)] = std::move(*group);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused.take().total, 0u);
}

// More peers than are tried one by one, over connections of both kinds; sleeping at once too.
TEST(Streams, ManyPeersAreLookedAtTogether) {
  for (const char* streams : {"1", "2"}) {
    for (const char* wait : {"auto", "spin", "block"}) {
      SCOPED_TRACE(std::string(streams) + wait);
      TcpWorld world(8, {{"streams", streams}, {"wait", wait}});
      world.run([](Group& group) {
        for (uint32_t sequence = 1; sequence <= 5; ++sequence) {
          const Status status = exchange(group, sequence * 1'000, sequence);
          ASSERT_TRUE(status) << status.error().message();
        }
      });
    }
  }
}

// A look finds no failure that stands in a channel already: a try has to.
TEST(Streams, ADisagreementAmongManyPeersIsFound) {
  TcpWorld world(8);
  std::latch open(8);  // a rank that is ahead would disagree with the exchange of one behind
  world.run([&](Group& group) {
    const Status opened = exchange(group, 8, 1);
    open.arrive_and_wait();
    ASSERT_TRUE(opened) << opened.error().message();
    const Deadline deadline = Deadline::after_ms(20'000);
    std::vector<std::unique_ptr<test::CollectSink>> sinks;
    Bytes out(8);
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      Channel& channel = **group.channel(peer, deadline);
      const uint32_t hash = group.rank() == 3 ? 2 : 1;  // runs another operation
      sinks.push_back(std::make_unique<test::CollectSink>(out.size()));
      channel.post_recv({group.id(), 2, 0, hash}, out.size(), sinks.back().get());
      channel.post_send({group.id(), 2, 0, hash}, out.data(), out.size(), out.size(), nullptr, 0);
    }
    const Status status = group.wait([] { return false; }, deadline);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().code, ErrorCode::kTimeout) << status.error().message();
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer != group.rank()) (*group.channel(peer, deadline))->cancel(status.error());
    }
  });
}

TEST(Streams, WaitSaysHowLongToSpin) {
  const auto spin_ns = [](const char* wait) {
    TcpWorld world(2, {{"wait", wait}, {"spin_us", "70"}});
    return wait_options(world.spec(0)).spin_ns;
  };
  EXPECT_EQ(spin_ns("auto"), 70'000);
  EXPECT_EQ(spin_ns("block"), 0);
  EXPECT_EQ(spin_ns("spin"), WaitOptions::kForever);
}

// Who waits for a rank that spins for ever must still learn whom it waits for.
TEST(Streams, ARankThatNeverSleepsTellsWhatItWaitsFor) {
  TcpWorld world(2, {{"wait", "spin"}});
  std::atomic<bool> seen{false};  // or given up: rank 0 need not wait any longer
  std::latch done(2);
  world.run([&](Group& group) {
    if (group.rank() == 0) {
      group.control().begin_operation(1, 1, "a test");
      test::CollectSink sink(8);
      Channel& channel = **group.channel(1, Deadline::after_ms(1000));
      channel.post_recv({group.id(), 1, 7, 1}, 8, &sink);
      const Status status =
          group.wait([&] { return sink.done() || seen.load(); }, Deadline::after_ms(60'000));
      EXPECT_TRUE(status) << status.error().message();
      EXPECT_FALSE(sink.done());
      channel.cancel({ErrorCode::kTimeout, "over", 0, {}, {}});
    } else {
      RankStatus told;
      for (const Deadline deadline = Deadline::after_ms(50'000);
           told.waiting_for != 0 && !deadline.passed();) {
        told = group.control().query(0, Deadline::after_ms(200), nullptr);
        if (told.waiting_for == 1) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      seen.store(true);
      EXPECT_EQ(told.waiting_for, 1);
      EXPECT_EQ(told.step, 7u);
    }
    done.arrive_and_wait();
  });
}

// ---- what comes from others -------------------------------------------------------------------

// Dials rank 1 as rank 0 of the world; what the other end answered.
Handshake dial(const HandshakeIdentity& self, size_t stream, PlainClient& client) {
  Handshake dialer = Handshake::dialer(self, 1, Purpose::kData, stream);
  client.send(dialer.output());
  dialer.sent(dialer.output().size());
  dialer.received(client.read(88, 5000));
  client.send(dialer.output());
  dialer.received(client.read(36, 5000));
  return dialer;
}

TEST(Streams, DuplicatesAndNumbersBeyondTheLastAreRefusedWhileTheGroupGoesOn) {
  TcpWorld world(2, {{"streams", "2"}});
  std::latch ready(2), tried(2);
  world.run([&](Group& group) {
    ASSERT_TRUE(exchange(group, 10, 1));
    ready.arrive_and_wait();
    if (group.rank() == 0) {
      const HandshakeIdentity self{0, 2, 1, world.token, world.options.config_text()};
      for (const size_t stream : {0, 1}) {
        PlainClient client(world.endpoints[1].port);
        const Handshake dialer = dial(self, stream, client);
        EXPECT_EQ(dialer.state(), Handshake::State::kFailed);
        EXPECT_THAT(dialer.error().what, HasSubstr("already"));
      }
      for (const size_t stream : {size_t{2}, size_t{63}, size_t{0x80000000}, size_t{0xffffffff}}) {
        PlainClient client(world.endpoints[1].port);
        const Handshake dialer = dial(self, stream, client);
        EXPECT_EQ(dialer.state(), Handshake::State::kFailed);
        EXPECT_THAT(dialer.error().what, HasSubstr("which has fewer"));
      }
    }
    tried.arrive_and_wait();
    EXPECT_TRUE(exchange(group, 200'000, 2));
  });
}

// A peer that connects one stream of two and then no more: both are waited for, and what is missing
// is said.
TEST(Streams, AMissingOneIsCounted) {
  TcpWorld world(2, {{"streams", "2"}, {"connect_timeout_ms", "5s"}});
  std::thread peer([&] {
    const HandshakeIdentity self{0, 2, 1, world.token, world.options.config_text()};
    Handshake control = Handshake::dialer(self, 1, Purpose::kControl);
    PlainClient line(world.endpoints[1].port), data(world.endpoints[1].port);
    line.send(control.output());
    control.sent(control.output().size());
    control.received(line.read(88, 5000));
    line.send(control.output());
    control.received(line.read(36, 5000));
    EXPECT_EQ(control.state(), Handshake::State::kDone);
    line.send(encode_heartbeat({}));
    EXPECT_EQ(dial(self, 1, data).state(), Handshake::State::kDone);
    Bytes rest;
    line.read_to_end(&rest, 20'000);
  });
  const auto group = world.open(1);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message(),
              AllOf(HasSubstr("rank 0 on host0"), HasSubstr("1 of 2 data connections missing")));
  peer.join();
}

TEST(Streams, MustBeEqualOnAllRanks) {
  TcpWorld world(2, {{"streams", "2"}, {"connect_timeout_ms", "5000"}});
  const OptionSet other = test::options_with({{"streams", "3"}, {"connect_timeout_ms", "5000"}});
  std::vector<std::string> said(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      if (rank == 1) spec.options = &other;
      const auto group = world.open(spec);
      said[static_cast<size_t>(rank)] = group ? "it opened" : group.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : said) EXPECT_THAT(text, HasSubstr("streams"));
}

// One connection of three is lost in the middle of an operation: the pair is lost, by name, within
// the time that a single one takes.
TEST(Streams, TheEndOfOneIsTheEndOfThePair) {
  // Before the watchdog (30 s) and the exchange's own deadline would end it.
  constexpr int64_t kMostNs = (test::kSanitized ? 25 : 8) * kSecond;
  TcpWorld world(3, {{"streams", "3"}});
  std::latch begun(3);
  world.run([&](Group& group) {
    ASSERT_TRUE(exchange(group, 1000, 1));
    begun.arrive_and_wait();
    const int64_t start = monotonic_ns();
    if (group.rank() == 0) {
      // The system's own view of its connections with rank 1: the second one is cut.
      const auto stats = group.stream_stats()[1];
      ASSERT_TRUE(stats && stats->parts.size() == 3);
      for (int fd = 3; fd < 1024; ++fd) {
        if (to_text(local_address(fd)) == stats->parts[1].local &&
            to_text(remote_address(fd)) == stats->parts[1].remote) {
          ::shutdown(fd, SHUT_RDWR);
        }
      }
    }
    const Status status = exchange(group, 3'000'000, 2, Deadline::after_ms(60'000));
    ASSERT_FALSE(status);
    EXPECT_LT(monotonic_ns() - start, kMostNs);
    EXPECT_THAT(status.error().message(), testing::AnyOf(HasSubstr("rank 0"), HasSubstr("rank 1")));
  });
}

}  // namespace
}  // namespace plumbline
