// The transport `rdma` over a verbs library without hardware: data between ranks on UC and RC,
// until the end, and when messages are lost.
#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/support/row_share.h"
#include "tests/transport/rdma_world.h"

namespace plumbline {
namespace {

using test::exchange;
using test::exchange_all;
using test::Groups;
using test::kCard;
using test::kMac;
using test::kSizes;
using test::rails_on;
using test::Rdma;
using test::rdma_row;
using test::run_ranks;
using testing::HasSubstr;

TEST_F(Rdma, BytesArriveOnAMac) {
  test::RowShare share(3);
  for (const int ranks : {2, 3, 5}) {
    for (const char* wait : {"auto", "spin", "block"}) {
      if (!share.runs()) continue;
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
  test::RowShare share(3);
  for (const char* type : {"rc", "uc"}) {
    for (const char* frame : {"0", "4096", "1Mi"}) {
      if (!share.runs()) continue;
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
  // Nor does the one who gave up.
  EXPECT_FALSE(a->peer_memory()->start_read(*key, 100'000, 0, got));
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

// A rank that was stopped, or that waited for others, has not looked; that is no loss.
TEST_F(Rdma, WhoHasNotLookedMissesNothing) {
  use(kMac);
  auto [first, second] = test::connected_streams();
  auto a = make_rdma_stream(std::move(first), 0, 1, true, rails_on("rdma_en1"), nullptr);
  auto b = make_rdma_stream(std::move(second), 1, 0, true, rails_on("rdma_en1"), nullptr);
  const Deadline deadline = Deadline::after_ms(5000);
  for (bool both = false; !both && !deadline.passed();) {
    const Expected<bool> one = a->ready(), other = b->ready();
    ASSERT_TRUE(one && other);
    both = *one && *other;
  }
  std::byte token{7};
  const iovec out{&token, 1};
  ASSERT_EQ(a->write_some({&out, 1}).value_or(0), 1u);
  const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  pause(150);
  a->keep_up();  // says that it has sent
  pause(50);
  for (int look = 0; look < 3; ++look) {
    b->keep_up();
    pause(700);
  }
  std::byte got{0};
  const iovec in{&got, 1};
  const Expected<size_t> read = b->read_some({&in, 1});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, 1u);
  EXPECT_EQ(got, token);
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

}  // namespace
}  // namespace plumbline
