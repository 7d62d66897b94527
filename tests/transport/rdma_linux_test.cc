// The transport `rdma` over a verbs library without hardware: data between ranks on UC and RC, what
// is refused and why, and what is said of each limit and fault that providers were seen to have.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/opened_world.h"
#include "tests/support/program.h"
#include "tests/transport/connected_pair.h"
#include "tests/transport/tcp_world.h"
#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_stream.h"

namespace plumbline {
namespace {

using test::exchange;
using test::run_ranks;
using testing::AllOf;
using testing::HasSubstr;

using Groups = std::vector<std::unique_ptr<Group>>;

const TransportRow& rdma_row() { return **find_transport("rdma", false); }
const TransportRow& auto_row() { return **find_transport("auto", false); }

constexpr const char* kMac = "device rdma_en1\ngid 0 fe80::1\ngid 1 ::ffff:127.0.0.1\nrc refused\n";
// A card that does both types of queue pairs.
constexpr const char* kCard = "device mlx5_0\ngid 3 ::ffff:127.0.0.1\n";

class Rdma : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(test::fake_verbs_left(), 0); }
  void TearDown() override {
    unsetenv("FAKE_VERBS");
    EXPECT_EQ(test::fake_verbs_left(), 0);
  }

  void use(const std::string& settings) {
    setenv("FAKE_VERBS", folder_.write("settings", settings).c_str(), 1);
  }
  static void set(OpenedWorld& world, const std::string& option, const std::string& value) {
    world.options = *world.options.with(option, value, "test");
  }
  // What opening a world of two says, over `row`.
  static std::string refusal(const TransportRow& row, OpenedWorld& world) {
    std::string wrong;
    open_all(row, 2, world, wrong);
    return wrong;
  }

  ScratchFolder folder_;
};

// Makes one rail on a device, as RdmaTerms wants it.
std::function<Expected<RdmaRails>()> rails_on(const std::string& device,
                                              const RdmaOptions& options = {}) {
  return [device, options]() -> Expected<RdmaRails> {
    const std::shared_ptr<const Verbs> verbs = *shared_verbs(test::fake_verbs_library());
    static_cast<void>(rdma_devices(*verbs));  // the library reads its settings then
    auto port = RdmaPort::open(verbs, device, options);
    if (!port) return fail(port.error());
    auto rail = RdmaRail::create(*port, 32, "the other rank");
    if (!rail) return fail(rail.error());
    RdmaRails rails;
    rails.push_back(std::move(*rail));
    return rails;
  };
}

void exchange_all(Groups& groups, const std::vector<size_t>& sizes) {
  run_ranks(groups, [&](Group& group) {
    uint32_t sequence = 0;
    for (const size_t bytes : sizes) {
      const Status status = exchange(group, bytes, ++sequence);
      ASSERT_TRUE(status) << status.error().message();
    }
    EXPECT_EQ(group.transport_name(), "rdma");
  });
}

const std::vector<size_t> kSizes = {1,       16,      4080,      4081,     4096,
                                    131'056, 131'057, 1'000'003, 5'000'000};

TEST_F(Rdma, BytesArriveOnAMac) {
  for (const int ranks : {2, 3, 5}) {
    for (const char* wait : {"auto", "spin", "block"}) {
      SCOPED_TRACE(std::to_string(ranks) + wait);
      use(kMac);
      OpenedWorld world;
      set(world, "wait", wait);
      std::string wrong;
      Groups groups = open_all(rdma_row(), ranks, world, wrong);
      ASSERT_EQ(wrong, "");
      exchange_all(groups, kSizes);
    }
  }
}

// The device is the one whose GID is the address of the connection.
TEST_F(Rdma, BytesArriveOnACardOfBothTypes) {
  for (const char* type : {"rc", "uc"}) {
    for (const char* frame : {"0", "4096", "1Mi"}) {
      SCOPED_TRACE(std::string(type) + frame);
      use(std::string("device mlx5_1\n") + kCard);
      OpenedWorld world;
      set(world, "rdma_qp", type);
      set(world, "rdma_frame_bytes", frame);
      set(world, "mesh", "lazy");
      std::string wrong;
      Groups groups;
      {
        TransportRow row = rdma_row();
        row.name = "rdma with the device that is found";
        set(world, "transport", "rdma");
        set(world, "rdma_library", test::fake_verbs_library());
        groups = open_all(row, 3, world, wrong);
      }
      ASSERT_EQ(wrong, "");
      exchange_all(groups, kSizes);
    }
  }
}

TEST_F(Rdma, SeveralDevicesAreRailsOfOnePair) {
  use("device rdma_en1\ndevice rdma_en2\ndevice rdma_en3\ngid 1 ::ffff:127.0.0.1\n");
  OpenedWorld world;
  std::string wrong;
  TransportRow row = rdma_row();
  row.claim = [](const ClaimSpec& spec) {
    const OptionSet three =
        *spec.options->with("rdma_device", "rdma_en1,rdma_en2,rdma_en3", "test");
    ClaimSpec with = spec;
    with.options = &three;
    return claim_rdma(with);
  };
  Groups groups = open_all(row, 3, world, wrong);
  ASSERT_EQ(wrong, "");
  EXPECT_EQ(groups[0]->stream_stats()[1]->send_buffer, 3u * 32 * 128 * 1024);
  exchange_all(groups, kSizes);
}

// Bytes that were written before the end are read, and then there is an end.
TEST_F(Rdma, WhatWasSentBeforeTheEndArrives) {
  for (const char* settings : {kMac, kCard}) {
    use(settings);
    const std::string device = settings == std::string(kMac) ? "rdma_en1" : "mlx5_0";
    auto [first, second] = test::connected_streams();
    std::unique_ptr<ByteStream> a =
        make_rdma_stream(std::move(first), 0, 1, true, rails_on(device), nullptr);
    std::unique_ptr<ByteStream> b =
        make_rdma_stream(std::move(second), 1, 0, true, rails_on(device), nullptr);
    const Deadline deadline = Deadline::after_ms(5000);
    while (!deadline.passed()) {
      const Expected<bool> one = a->ready(), other = b->ready();
      ASSERT_TRUE(one) << one.error().message();
      ASSERT_TRUE(other) << other.error().message();
      if (*one && *other) break;
    }
    test::Bytes bytes = test::random_bytes(200'000, 7);
    const iovec out{bytes.data(), bytes.size()};
    ASSERT_EQ(a->write_some({&out, 1}).value_or(0), bytes.size());
    a.reset();
    test::Bytes got(bytes.size());
    size_t at = 0;
    while (at < got.size() && !deadline.passed()) {
      const iovec in{got.data() + at, got.size() - at};
      const Expected<size_t> read = b->read_some({&in, 1});
      ASSERT_TRUE(read) << read.error().message();
      at += *read;
    }
    EXPECT_EQ(got, bytes);
    const iovec in{got.data(), got.size()};
    Expected<size_t> read = b->read_some({&in, 1});
    while (read && !deadline.passed()) read = b->read_some({&in, 1});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kPeerLost);
  }
}

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

// What lies in arrays of the group is read by the device of the receiver, on RC only.
TEST_F(Rdma, LargeMessagesAreReadWhereTheyLieOnRc) {
  for (const char* type : {"rc", "uc"}) {
    use(kCard);
    OpenedWorld world;
    set(world, "rdma_qp", type);
    set(world, "transport", "rdma");
    set(world, "rdma_library", test::fake_verbs_library());
    TransportRow row = rdma_row();
    row.name = "rdma with the device that is found";
    std::string wrong;
    Groups groups = open_all(row, 2, world, wrong);
    ASSERT_EQ(wrong, "");
    const bool reads = std::string(type) == "rc";
    run_ranks(groups, [&](Group& group) {
      constexpr size_t kBytes = 3'000'001;
      const Array out = *group.allocate(kBytes), in = *group.allocate(kBytes);
      const int peer = 1 - group.rank();
      const test::Bytes bytes = test::random_bytes(kBytes, static_cast<uint64_t>(group.rank()));
      std::memcpy(out.data, bytes.data(), kBytes);
      Channel* const channel = *group.channel(peer, Deadline::after_ms(1000));
      test::CollectSink sink(kBytes);  // memory that no device knows
      test::CountObserver observer;
      channel->post_recv({group.id(), 1, 0, 1}, kBytes, &sink);
      channel->post_send({group.id(), 1, 0, 1}, out.data, kBytes, kBytes, &observer, 0);
      const Status done = group.wait([&] { return sink.done() && !observer.cookies.empty(); },
                                     Deadline::after_ms(10'000));
      ASSERT_TRUE(done) << done.error().message();
      EXPECT_EQ(sink.bytes(), test::random_bytes(kBytes, static_cast<uint64_t>(peer)));
      EXPECT_EQ(group.stats().direct_received, reads ? kBytes : 0u);
    });
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

// Linux lists each address twice; other addresses of the port come first.
TEST_F(Rdma, TheGidIsThatOfThePairsAddress) {
  use("device mlx5_0\ngids 8\ngid 1 ::ffff:192.0.2.1\ngid 4 ::ffff:127.0.0.1\n");
  static_cast<void>(rdma_devices(**shared_verbs(test::fake_verbs_library())));
  const auto port =
      RdmaPort::open(*shared_verbs(test::fake_verbs_library()), "mlx5_0", {}, "127.0.0.1");
  ASSERT_TRUE(port) << port.error().message();
  EXPECT_EQ((*port)->gid_index(), 4);
}

TEST_F(Rdma, AProviderThatTakesNoDataInRequestsIsUsedWithout) {
  use(std::string(kCard) + "inline 32\n");
  OpenedWorld world;
  set(world, "rdma_library", test::fake_verbs_library());
  set(world, "transport", "rdma");
  TransportRow row = rdma_row();
  row.name = "rdma with the device that is found";
  std::string wrong;
  Groups groups = open_all(row, 2, world, wrong);
  ASSERT_EQ(wrong, "");
  exchange_all(groups, {1, 100});
}

// After a rank has given up, its memory is its own again: the device of the peer reads an error.
TEST_F(Rdma, AfterTheEndOfTransfersNothingIsReadAnyMore) {
  use(kCard);
  auto [first, second] = test::connected_streams();
  const auto arrays = std::make_shared<RdmaArrays>();
  auto a = make_rdma_stream(std::move(first), 0, 1, true, rails_on("mlx5_0"), nullptr, arrays);
  auto b = make_rdma_stream(std::move(second), 1, 0, true, rails_on("mlx5_0"), nullptr,
                            std::make_shared<RdmaArrays>());
  const Deadline deadline = Deadline::after_ms(5000);
  for (bool both = false; !both && !deadline.passed();) {
    const Expected<bool> one = a->ready(), other = b->ready();
    ASSERT_TRUE(one && other);
    both = *one && *other;
  }
  const Array array = *arrays->allocate(100'000);
  std::memset(array.data, 1, array.bytes);
  const std::span<const std::byte> shown(array.data, 100'000);
  const auto key = a->peer_memory()->expose(shown, MessageUse::kUnknown);
  ASSERT_TRUE(key);
  test::Bytes got(100'000);
  const auto read = [&]() -> Expected<bool> {
    const Expected<uint64_t> ticket = b->peer_memory()->start_read(*key, 100'000, 0, got);
    if (!ticket) return fail(ticket.error());
    Expected<bool> done = false;
    while (done && !*done && !deadline.passed()) done = b->peer_memory()->read_done(*ticket);
    return done;
  };
  ASSERT_TRUE(read().value_or(false));
  EXPECT_EQ(got, test::Bytes(100'000, std::byte{1}));
  MemoryKey beyond = *key;  // a key that says more than was shown
  EXPECT_FALSE(b->peer_memory()->start_read(beyond, 100'000, 50'000, got));
  a->peer_memory()->end_transfers();
  std::memset(array.data, 2, array.bytes);
  const Expected<bool> after = read();
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(got, test::Bytes(100'000, std::byte{1}));
}

// Three ranks in a row: the one whose message was lost waits, and its sender waits for another.
TEST_F(Rdma, ALossIsSeenWhereTheSenderWaitsForAnotherRank) {
  use(std::string(kMac) + "lose 9\n");
  OpenedWorld world;
  std::string wrong;
  Groups groups = open_all(rdma_row(), 3, world, wrong);
  ASSERT_EQ(wrong, "");
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> said(3);
  run_ranks(groups, [&](Group& group) {
    const int next = (group.rank() + 1) % 3, before = (group.rank() + 2) % 3;
    const Deadline deadline = Deadline::after_ms(10'000);
    std::byte token{7};
    for (uint32_t turn = 1; turn < 40; ++turn) {
      test::CollectSink sink(1);
      test::CountObserver observer;
      Channel* const from = *group.channel(before, deadline);
      Channel* const to = *group.channel(next, deadline);
      from->post_recv({group.id(), turn, 0, 1}, 1, &sink);
      if (group.rank() == 0) to->post_send({group.id(), turn, 0, 1}, &token, 1, 1, &observer, 0);
      Status done = group.wait([&] { return sink.done(); }, deadline);
      if (done && group.rank() != 0) {
        to->post_send({group.id(), turn, 0, 1}, &token, 1, 1, &observer, 0);
        done = group.wait([&] { return !observer.cookies.empty(); }, deadline);
      }
      if (done) continue;
      said[static_cast<size_t>(group.rank())] = done.error().message();
      group.control().abort(done.error());
      from->cancel(done.error());
      to->cancel(done.error());
      break;
    }
  });
  EXPECT_THAT(said[0] + said[1] + said[2], HasSubstr("UC sends nothing again"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// UC sends nothing again: an error in time, at the end that misses something.
TEST_F(Rdma, ALostMessageIsAnErrorAndNotAHang) {
  for (const int every : {7, 40}) {
    use(std::string(kMac) + "lose " + std::to_string(every) + "\n");
    OpenedWorld world;
    std::string wrong;
    Groups groups = open_all(rdma_row(), 2, world, wrong);
    ASSERT_EQ(wrong, "");
    std::vector<std::string> said(2);
    const Deadline deadline = Deadline::after_ms(10'000);
    run_ranks(groups, [&](Group& group) {
      for (uint32_t sequence = 1; sequence < 100; ++sequence) {
        const Status status = exchange(group, 300'000, sequence, deadline);
        if (status) continue;
        said[static_cast<size_t>(group.rank())] = status.error().message();
        EXPECT_NE(status.error().code, ErrorCode::kTimeout) << status.error().message();
        group.control().abort(status.error());
        break;
      }
    });
    EXPECT_FALSE(deadline.passed());
    EXPECT_THAT(said[0] + said[1], HasSubstr("UC sends nothing again"));
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
