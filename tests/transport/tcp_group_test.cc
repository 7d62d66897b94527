// Groups over TCP, ranks as threads: contents, meshes, late and missing ranks, disagreement.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "core/clock.h"
#include "core/host/host.h"
#include "tcp_world.h"
#include "tests/support/ports.h"
#include "transport/channel/raw.h"

namespace plumbline {
namespace {

using test::exchange;
using test::TcpWorld;
using testing::AllOf;
using testing::HasSubstr;

struct Shape {
  int ranks;
  const char* mesh;
  const char* ip;
};
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.ranks << " ranks, " << shape.mesh << ", " << shape.ip;
}

class TcpGroupShapes : public testing::TestWithParam<Shape> {};

TEST_P(TcpGroupShapes, EveryPairExchangesEverySize) {
  const Shape shape = GetParam();
  const bool v6 = std::string(shape.ip) == "::1";
  if (v6 && !test::ipv6_loopback_works()) GTEST_SKIP() << "this machine has no ::1";
  TcpWorld world(shape.ranks, {{"mesh", shape.mesh}, {"chunk_bytes", "4Ki"}},
                 {{shape.ip, v6 ? 128 : 8, {}}});
  world.run([](Group& group) {
    uint32_t sequence = 0;
    for (const size_t bytes : {0, 1, 4095, 4096, 4097, 300'001}) {
      const Status status = exchange(group, bytes, ++sequence);
      ASSERT_TRUE(status) << status.error().message();
    }
    EXPECT_EQ(group.transport_name(), "tcp");
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, TcpGroupShapes,
                         testing::Values(Shape{1, "eager", "127.0.0.1"},
                                         Shape{2, "eager", "127.0.0.1"},
                                         Shape{2, "lazy", "127.0.0.1"}, Shape{3, "lazy", "::1"},
                                         Shape{4, "eager", "::1"}, Shape{5, "eager", "127.0.0.1"},
                                         Shape{5, "lazy", "127.0.0.1"}));

// A star whose leaves have no path to one another: rank 1 in the middle of four.
const std::vector<RankPair> kStar = {{0, 2}, {0, 3}, {2, 3}};

TEST(TcpGroup, LeavesOfAStarAreNeverConnected) {
  for (const char* mesh : {"eager", "lazy"}) {
    SCOPED_TRACE(mesh);
    TcpWorld world(4, {{"mesh", mesh}, {"connect_timeout_ms", "5000"}});
    world.apart = kStar;
    world.run([](Group& group) {
      for (int peer = 0; peer < 4; ++peer) {
        if (peer == group.rank()) continue;
        const int64_t start = monotonic_ns();
        const Expected<Channel*> channel = group.channel(peer, Deadline::after_ms(10'000));
        const bool together = group.rank() == 1 || peer == 1;
        EXPECT_EQ(channel.has_value(), together) << group.rank() << " " << peer;
        if (together) continue;
        EXPECT_EQ(channel.error().code, ErrorCode::kUnsupported);
        EXPECT_THAT(channel.error().message(), HasSubstr("not supposed to talk"));
        EXPECT_LT(monotonic_ns() - start, 5 * kSecond);
        EXPECT_FALSE(group.control().query(peer, Deadline::after_ms(50), nullptr).reachable);
      }
    });
  }
}

// They hear of it from the rank between them, also while the group is still being made: then that
// rank has to stay until they have called.
TEST(TcpGroup, AFaultReachesTheLeavesThroughTheMiddle) {
  for (const bool at_once : {false, true}) {
    TcpWorld world(4);
    world.apart = kStar;
    std::vector<std::thread> threads;
    std::atomic<int> open{0};
    const int64_t start = monotonic_ns();
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        if (at_once && rank > 1) usleep(200'000);
        const Expected<std::unique_ptr<Group>> group = world.open(rank);
        ++open;
        std::string told = group ? "" : group.error().message();
        if (group && rank == 0) {
          while (!at_once && open < 4) usleep(1000);
          (*group)->control().abort({ErrorCode::kSystem, "the disk is full", 0, "", ""});
          usleep(50'000);
          return;
        }
        if (group) {
          const Status ended = (*group)->wait([] { return false; }, Deadline::after_ms(10'000));
          if (!ended) told = ended.error().message();
        }
        EXPECT_THAT(told, AllOf(HasSubstr("rank 0"), HasSubstr("disk is full"))) << rank;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(monotonic_ns() - start, 8 * kSecond);
  }
}

TEST(TcpGroup, RanksApartMustBeTwoOfTheWorld) {
  for (const RankPair& wrong : {RankPair{0, 0}, RankPair{0, 2}, RankPair{-1, 1}}) {
    TcpWorld world(2);
    GroupSpec spec = world.spec(0);
    spec.apart = {wrong};
    const auto group = world.open(spec);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().code, ErrorCode::kConfig);
  }
}

TEST(TcpGroup, ChecksumsAndSmallBuffers) {
  TcpWorld world(3, {{"transport_crc", "on"}, {"sock_bufsize", "8Ki"}});
  world.run([](Group& group) {
    const Status status = exchange(group, 1'000'003, 1);
    EXPECT_TRUE(status) << status.error().message();
  });
}

TEST(TcpGroup, LazyMeshConnectsOnlyWhatIsUsed) {
  TcpWorld world(4, {{"mesh", "lazy"}});
  std::atomic<int> at_barrier{0};
  world.run([&](Group& group) {
    // Only 0-3 talk; the higher rank asks first, the lower one only later.
    const Deadline deadline = Deadline::after_ms(10'000);
    if (group.rank() == 3) {
      ASSERT_TRUE(group.channel(0, deadline));
      ++at_barrier;
    }
    if (group.rank() == 0) {
      while (at_barrier.load() == 0 && !deadline.passed()) std::this_thread::yield();
      ASSERT_TRUE(group.channel(3, deadline));
      ++at_barrier;
    }
    while (at_barrier.load() < 2 && !deadline.passed()) std::this_thread::yield();
    const auto stats = group.stream_stats();
    for (int peer = 0; peer < 4; ++peer) {
      const bool used = (group.rank() == 0 && peer == 3) || (group.rank() == 3 && peer == 0);
      EXPECT_EQ(stats[static_cast<size_t>(peer)].has_value(), used);
    }
  });
}

TEST(TcpGroup, StatsNameTheRealConnection) {
  TcpWorld world(2, {{"sock_bufsize", "1Mi"}});
  const uint16_t port = world.endpoints[1].port;
  world.run([&](Group& group) {
    ASSERT_TRUE(exchange(group, 100'000, 1));
    const auto stats = group.stream_stats();
    const StreamStats& peer = *stats[static_cast<size_t>(1 - group.rank())];
    const std::string listening = "127.0.0.1:" + std::to_string(port);
    EXPECT_EQ(group.rank() == 0 ? peer.remote : peer.local, listening);
    ASSERT_TRUE(peer.send_buffer && peer.recv_buffer && peer.rtt_us && peer.peer_window);
    EXPECT_GE(*peer.recv_buffer, 1u << 20);
    EXPECT_GT(*peer.rtt_us, 0);
    EXPECT_GT(peer.mss.value_or(0), 500);
    // On loopback "auto" avoids congestion controls that pace.
    EXPECT_NE(peer.congestion_control, "bbr");
  });
}

TEST(TcpGroup, SeveralAddressesPerRankOnOnePort) {
  TcpWorld world(3, {}, {{"127.0.0.1", 32, {}}, {"127.1.2.3", 32, {}}, {"127.0.0.1", 32, {}}});
  EXPECT_EQ(world.endpoints[0].addresses.size(), 2u);
  EXPECT_EQ(world.listeners[0]->sockets().size(), 2u);
  // Ranks 0 and 2 know rank 1 by its second address only.
  world.endpoints[1].addresses.erase(world.endpoints[1].addresses.begin());
  world.run([](Group& group) {
    ASSERT_TRUE(exchange(group, 1000, 1));
    if (group.rank() != 0) return;
    EXPECT_THAT(group.stream_stats()[1]->remote, HasSubstr("127.1.2.3:"));
    EXPECT_THAT(group.stream_stats()[1]->local, HasSubstr("127.1.2.3:"));  // bound as source
    EXPECT_THAT(group.stream_stats()[2]->remote, HasSubstr("127.0.0.1:"));
  });
}

// Between two ranks of this host: the bytes stay on it.
TEST(TcpGroup, LinkLocalAddressesWorkWithTheirInterface) {
  const Expected<std::vector<Nic>> nics = list_nics();
  ASSERT_TRUE(nics) << nics.error().message();
  for (const Nic& nic : *nics) {
    for (const NicAddress& address : nic.addresses) {
      if (!address.link_local || !nic.up) continue;
      TcpWorld world(2, {}, {{address.ip, address.prefix, nic.name}});
      world.run([](Group& group) { EXPECT_TRUE(exchange(group, 100'000, 1)); });
      return;
    }
  }
  GTEST_SKIP() << "no interface of this machine has a link-local address";
}

TEST(TcpGroup, LateStarterIsWaitedFor) {
  TcpWorld world(3);
  // Nobody listens on rank 2's port until two others have been refused for a while; nor does
  // anybody else take it meanwhile, as one that the kernel chose might be.
  world.listeners[2].reset();
  const auto port = static_cast<uint16_t>(test::free_port());
  ASSERT_NE(port, 0);
  world.endpoints[2].port = port;
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      ++started;
      auto group = world.open(rank);
      ASSERT_TRUE(group) << group.error().message();
      EXPECT_TRUE(exchange(**group, 100, 1));
    });
  }
  while (started < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // a few refused tries
  auto listener = TcpListener::open(world.endpoints[2].addresses, port, world.options);
  ASSERT_TRUE(listener) << listener.error().message();
  auto group = open_tcp_group(world.spec(2), std::move(*listener));
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_TRUE(exchange(**group, 100, 1));
  for (std::thread& thread : threads) thread.join();
}

TEST(TcpGroup, MissingRanksAreNamedWithWhatTheDialsAnswered) {
  TcpWorld world(4, {{"connect_timeout_ms", "3s"}});
  world.listeners[1].reset();  // rank 1 refuses; rank 3 listens, but nobody answers
  std::vector<Error> errors(4);
  std::vector<std::thread> threads;
  for (int rank : {0, 2}) {
    threads.emplace_back([&, rank] {
      auto group = world.open(rank);
      ASSERT_FALSE(group);
      errors[static_cast<size_t>(rank)] = group.error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The first of the two to time out tells the other: one text is its own, the other relayed.
  EXPECT_THAT(errors[0].cause, "rank.missing");
  EXPECT_THAT(errors[2].cause, "rank.missing");
  const bool zero_first = errors[0].code == ErrorCode::kTimeout;
  const Error& own = zero_first ? errors[0] : errors[2];
  EXPECT_EQ(own.code, ErrorCode::kTimeout);
  EXPECT_THAT(own.what, AllOf(HasSubstr("2 of 4 ranks missing"), HasSubstr("rank 1 on host1: "),
                              HasSubstr("rank 3 on host3: ")));
  if (zero_first) {
    EXPECT_THAT(own.what, HasSubstr("ECONNREFUSED"));
  }
  EXPECT_THAT(own.what, testing::Not(HasSubstr("rank 2 on")));
}

TEST(TcpGroup, RanksWithAnotherPlanAreRefusedAndTheHashesNamed) {
  TcpWorld world(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      spec.agreement = rank == 0 ? "plan=aaaa\n" : "plan=bbbb\n";
      auto group = world.open(spec);
      ASSERT_FALSE(group);
      EXPECT_EQ(group.error().cause, "config.mismatch") << group.error().message();
      EXPECT_NE(group.error().what.find("plan"), std::string::npos) << group.error().message();
      EXPECT_NE(group.error().what.find("bbbb"), std::string::npos) << group.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TcpGroup, OtherConfigurationIsRefusedAndTheKeyNamed) {
  TcpWorld world(3);
  const OptionSet other = test::options_with({{"transport_crc", "on"}, {"chunk_bytes", "1Mi"}});
  std::vector<Error> errors(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      if (rank == 1) spec.options = &other;
      const int64_t start = monotonic_ns();
      auto group = world.open(spec);
      ASSERT_FALSE(group);
      errors[static_cast<size_t>(rank)] = group.error();
      EXPECT_LT(monotonic_ns() - start, 20 * kSecond) << "the timeout was waited for";
    });
  }
  for (int rank : {0, 1}) threads[static_cast<size_t>(rank)].join();
  threads[2].join();
  int named = 0;
  for (const Error& error : errors) {
    EXPECT_EQ(error.cause, "config.mismatch") << error.message();
    const bool names = error.what.find("transport_crc") != std::string::npos &&
                       error.what.find("chunk_bytes") != std::string::npos &&
                       error.what.find("rank 1 has on") != std::string::npos;
    named += names ? 1 : 0;
  }
  EXPECT_EQ(named, 3) << errors[0].message() << "\n" << errors[1].message();
}

TEST(TcpGroup, WrongTokenIsRefusedByBothSides) {
  TcpWorld world(2, {{"connect_timeout_ms", "2500ms"}});
  std::vector<Error> errors(2);
  std::vector<std::thread> threads;
  for (int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      if (rank == 1) spec.token = random_token();
      auto group = world.open(spec);
      ASSERT_FALSE(group);
      errors[static_cast<size_t>(rank)] = group.error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors[0].code, ErrorCode::kAuth) << errors[0].message();
  EXPECT_THAT(errors[0].what, AllOf(HasSubstr("rank 1"), HasSubstr("another run token")));
  EXPECT_THAT(errors[1].what, AllOf(HasSubstr("rank 0"), HasSubstr("another run token")));
}

TEST(TcpGroup, OtherSizeIsNamed) {
  TcpWorld world(3, {{"connect_timeout_ms", "5s"}});
  std::vector<Error> errors(2);
  std::vector<std::thread> threads;
  for (int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world.spec(rank);
      if (rank == 0) {
        spec.size = 2;
        spec.endpoints.pop_back();
      }
      auto group = world.open(spec);
      ASSERT_FALSE(group);
      errors[static_cast<size_t>(rank)] = group.error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::kMismatch) << error.message();
    EXPECT_THAT(error.what, AllOf(HasSubstr("counts 2"), HasSubstr("counts 3")));
  }
}

TEST(TcpGroup, BusyPortNamesItsOwner) {
  TcpWorld world(1);
  auto second =
      TcpListener::open(world.endpoints[0].addresses, world.endpoints[0].port, world.options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_EQ(second.error().cause, "tcp.port_in_use");
  EXPECT_THAT(second.error().message(),
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(world.endpoints[0].port)),
                    HasSubstr("PID " + std::to_string(::getpid()))));
}

TEST(TcpGroup, BadSpecsAreErrors) {
  TcpWorld world(2);
  GroupSpec spec = world.spec(0);
  spec.rank = 2;
  EXPECT_EQ(open_tcp_group(spec, nullptr).error().code, ErrorCode::kConfig);
  spec = world.spec(0);
  spec.endpoints.pop_back();
  EXPECT_EQ(open_tcp_group(spec, nullptr).error().code, ErrorCode::kConfig);
  spec = world.spec(0);
  TcpEndpoint second = world.endpoints[1];
  second.port = 0;
  spec.endpoints[1] = test::claimed(second);
  EXPECT_EQ(open_tcp_group(spec, nullptr).error().code, ErrorCode::kConfig);
  spec = world.spec(0);
  second = world.endpoints[1];
  second.addresses[0].ip = "mini2.local";
  spec.endpoints[1] = test::claimed(second);
  EXPECT_THAT(world.open(spec).error().what, HasSubstr("mini2.local"));
  const OptionSet bad = test::options_with({{"fault", "explode"}});
  spec = world.spec(1);
  spec.options = &bad;
  EXPECT_THAT(world.open(spec).error().message(), HasSubstr("explode"));
}

TEST(TcpGroup, FaultOptionSpoilsTheNamedStreamOnly) {
  // One bit of the first payload from 1 to 0 flips; the checksum notices it.
  TcpWorld world(2, {{"transport_crc", "on"}, {"fault", "flip:rank=1,peer=0,after=1000"}});
  world.run([](Group& group) {
    const Status status = exchange(group, 50'000, 1);
    if (group.rank() != 0) return;  // has what it wanted, perhaps before rank 0 complains
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kWrongData);
  });
}

// A joined thread stays in /proc until the kernel has taken it apart, a moment after the join: so
// the count may fall for a while, and only one that does not fall is a leak.
ptrdiff_t entries(const char* folder) {
  const auto list = std::filesystem::directory_iterator(folder);
  return std::distance(begin(list), end(list));
}
ptrdiff_t threads_at_most(ptrdiff_t wanted) {
  const Deadline deadline = Deadline::after_ms(10'000);
  ptrdiff_t seen = entries("/proc/self/task");
  while (seen > wanted && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    seen = entries("/proc/self/task");
  }
  return seen;
}

TEST(TcpGroup, ManyGroupsLeaveNoDescriptorsAndNoThreads) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc here to count with";
  const auto open_and_close = [] {
    TcpWorld world(3);
    world.run([](Group& group) { ASSERT_TRUE(exchange(group, 10, 1)); });
  };
  std::thread([] {
  }).join();  // the first thread of a process may bring helpers of the runtime along
  constexpr ptrdiff_t kOwnAndHelper = 2;
  const ptrdiff_t threads = threads_at_most(kOwnAndHelper);
  open_and_close();
  const ptrdiff_t descriptors = entries("/proc/self/fd");
  for (int round = 0; round < 5; ++round) open_and_close();
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_LE(threads_at_most(threads), threads);
}

TEST(TcpGroup, TransportTable) {
  EXPECT_STREQ((*find_transport("auto", false))->name, "auto");
  EXPECT_STREQ((*find_transport("tcp", false))->name, "tcp");
  EXPECT_EQ(find_transport("memory", false).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(find_transport("tpc", false).error().message(), HasSubstr("\"tcp\""));
  EXPECT_THAT(find_transport("carrier-pigeon", false).error().message(),
              HasSubstr("tcp, shm, rdma, memory"));
}

TEST(Raw, RoofsRunInLockstep) {
  TcpWorld world(2);
  world.run([](Group& group) {
    const Deadline deadline = Deadline::after_ms(20'000);
    ByteStream& stream = (*group.channel(1 - group.rank(), deadline))->stream();
    const bool first = group.rank() == 0;
    const WaitOptions& wait = group.wait_options();
    std::vector<int64_t> samples;
    for (const size_t bytes : {1, 5000, 300'000}) {
      ASSERT_TRUE(raw_pingpong(stream, first, bytes, 10, wait, deadline, &samples));
    }
    EXPECT_EQ(samples.size(), first ? 30u : 0u);
    EXPECT_TRUE(std::all_of(samples.begin(), samples.end(), [](int64_t ns) { return ns > 0; }));
    // Both ways at once, both ends have times.
    samples.clear();
    for (const size_t bytes : {1, 5000, 3'000'000}) {
      ASSERT_TRUE(raw_exchange(stream, bytes, 10, wait, deadline, &samples));
    }
    EXPECT_EQ(samples.size(), 30u);
    EXPECT_TRUE(std::all_of(samples.begin(), samples.end(), [](int64_t ns) { return ns > 0; }));
    EXPECT_EQ(raw_exchange(stream, 0, 1, wait, deadline, nullptr).error().code, ErrorCode::kUsage);
    int64_t ns = 0;
    ASSERT_TRUE(raw_stream(stream, first, 10'000'001, 256 * 1024, wait, deadline, &ns));
    EXPECT_GT(ns, 0);
    ASSERT_TRUE(raw_duplex(stream, 10'000'001, 256 * 1024, wait, deadline, &ns));
    // Of arrays: every byte of the one is in the other, whether both ends send or one.
    std::vector<std::byte> from(700'001), to(700'001), theirs(700'001);
    for (size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(group.rank()));
      theirs[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(1 - group.rank()));
    }
    const RawArrays arrays{from.data(), to.data()};
    ASSERT_TRUE(raw_stream(stream, first, to.size(), 64 * 1024, wait, deadline, &ns, arrays));
    EXPECT_EQ(to == theirs, !first);
    ASSERT_TRUE(raw_duplex(stream, to.size(), 64 * 1024, wait, deadline, &ns, arrays));
    EXPECT_EQ(to, theirs);
    std::fill(to.begin(), to.end(), std::byte{0});
    const std::span<const std::byte> none;
    ASSERT_TRUE(raw_copy(stream, first ? none : theirs, to.data(), first, wait, deadline, &ns));
    EXPECT_EQ(to == theirs, !first);
    ASSERT_TRUE(raw_copy(stream, theirs, to.data(), true, wait, deadline, &ns));
    EXPECT_EQ(to, theirs);
    EXPECT_GT(ns, 0);
    EXPECT_EQ(raw_pingpong(stream, first, 0, 1, wait, deadline, nullptr).error().code,
              ErrorCode::kUsage);
    // Afterwards the channel is as good as before.
    EXPECT_TRUE(exchange(group, 5000, 1));
  });
}

TEST(Raw, EndsAtItsDeadline) {
  TcpWorld world(2);
  world.run([](Group& group) {
    if (group.rank() == 1) return;
    ByteStream& stream = (*group.channel(1, Deadline::after_ms(1000)))->stream();
    const Status status =
        raw_pingpong(stream, true, 8, 1, {1000, false}, Deadline::after_ms(50), nullptr);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().code, testing::AnyOf(ErrorCode::kTimeout, ErrorCode::kPeerLost));
  });
}

}  // namespace
}  // namespace plumbline
