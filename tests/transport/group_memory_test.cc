#include <gmock/gmock.h>

#include <atomic>
#include <map>

#include "channel_pair.h"
#include "tests/support/row_share.h"
#include "transport/channel/fault.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::random_bytes;
using test::run_ranks;
using test::ScriptStream;
using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kLongMs = 30'000;  // a deadline that only a defect reaches

StreamWrapper with_fault(const std::string& text) {
  const auto spec = parse_fault(text);
  EXPECT_TRUE(spec);
  return [spec = *spec](int self, int peer, std::unique_ptr<ByteStream> stream) {
    return wrap_fault(spec, self, peer, std::move(stream));
  };
}

// Every rank sends a message of seeded random size to every other, several operations long, posting
// in seeded random order; contents are a function of (seed, from, to, operation).
struct AllToAll {
  uint64_t seed;
  int size;
  uint32_t operations;

  uint64_t key(int from, int to, uint32_t operation) const {
    return ((seed * 64 + static_cast<uint64_t>(from)) * 64 + static_cast<uint64_t>(to)) * 64 +
           operation;
  }
  size_t bytes(int from, int to, uint32_t operation) const {
    std::mt19937_64 random(key(from, to, operation));
    const uint64_t kind = random() % 4;
    if (kind == 0) return random() % 3;  // 0, 1, 2
    if (kind == 1) return 1000 + random() % 100;
    return random() % 20'000;
  }
  Bytes data(int from, int to, uint32_t operation) const {
    return random_bytes(bytes(from, to, operation), key(from, to, operation));
  }

  void run(Group& group, std::atomic<int>& wrong) const {
    std::mt19937_64 random(key(group.rank(), 63, 0));
    for (uint32_t operation = 1; operation <= operations; ++operation) {
      std::vector<std::unique_ptr<CollectSink>> sinks(static_cast<size_t>(size));
      std::vector<Bytes> out(static_cast<size_t>(size));
      std::vector<std::pair<bool, int>> posts;  // (is a receive, peer)
      for (int peer = 0; peer < size; ++peer) {
        if (peer == group.rank()) continue;
        posts.emplace_back(true, peer);
        posts.emplace_back(false, peer);
      }
      std::shuffle(posts.begin(), posts.end(), random);
      test::CountObserver observer;
      for (const auto& [receives, peer] : posts) {
        const auto index = static_cast<size_t>(peer);
        Channel* channel = group.channel(peer, Deadline::after_ms(kLongMs)).value();
        const MessageTag name{1, operation, 0, 99};
        if (receives) {
          const size_t size_in = bytes(peer, group.rank(), operation);
          sinks[index] = std::make_unique<CollectSink>(size_in, 1 + random() % 5000);
          channel->post_recv(name, size_in, sinks[index].get());
        } else {
          out[index] = data(group.rank(), peer, operation);
          channel->post_send(name, out[index].data(), out[index].size(), out[index].size(),
                             &observer, index);
        }
        if (random() % 4 == 0 && !group.progress()) ++wrong;
      }
      const Status status = group.wait(
          [&] {
            return observer.cookies.size() + 1 == static_cast<size_t>(size) &&
                   std::all_of(sinks.begin(), sinks.end(),
                               [](const auto& sink) { return !sink || sink->done(); });
          },
          Deadline::after_ms(kLongMs));
      if (!status) {
        ++wrong;
        ADD_FAILURE() << status.error().message();
        return;
      }
      for (int peer = 0; peer < size; ++peer) {
        const auto& sink = sinks[static_cast<size_t>(peer)];
        if (sink && sink->bytes() != data(peer, group.rank(), operation)) ++wrong;
      }
    }
  }
};

class MemoryGroups : public testing::TestWithParam<int> {};

TEST_P(MemoryGroups, ExchangeAllToAllInRandomOrder) {
  const int size = GetParam();
  test::RowShare share(3, static_cast<size_t>(size));
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    if (!share.runs()) continue;
    ChannelOptions options;
    options.chunk_bytes = seed == 1 ? 256 * 1024 : 100 + 1000 * seed;
    options.crc = seed == 2;
    const size_t ring = seed == 3 ? 64 : 1 << 16;
    auto groups = make_memory_groups(size, options, {0, true}, ring);
    ASSERT_EQ(groups.size(), static_cast<size_t>(size));
    std::atomic<int> wrong{0};
    const AllToAll exchange{seed, size, 5};
    run_ranks(groups, [&](Group& group) { exchange.run(group, wrong); });
    EXPECT_EQ(wrong.load(), 0) << "seed " << seed;
    const auto sum = [&](uint64_t ChannelStats::*field) {
      uint64_t total = 0;
      for (const auto& group : groups) total += group->stats().*field;
      return total;
    };
    EXPECT_EQ(sum(&ChannelStats::payload_sent), sum(&ChannelStats::payload_received));
    EXPECT_EQ(sum(&ChannelStats::wire_sent), sum(&ChannelStats::wire_received));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, MemoryGroups, testing::Range(1, 10));

TEST(MemoryGroup, SurvivesShortReadsAndWrites) {
  auto groups = make_memory_groups(3, {700}, {0, true}, 1 << 12, with_fault("short:bytes=13"));
  std::atomic<int> wrong{0};
  const AllToAll exchange{9, 3, 3};
  run_ranks(groups, [&](Group& group) { exchange.run(group, wrong); });
  EXPECT_EQ(wrong.load(), 0);
}

TEST(MemoryGroup, KnowsItselfAndRefusesImpossiblePeers) {
  auto groups = make_memory_groups(2, {});
  EXPECT_EQ(groups[1]->rank(), 1);
  EXPECT_EQ(groups[1]->size(), 2);
  EXPECT_EQ(groups[1]->transport_name(), "memory");
  for (const int peer : {-1, 1, 2}) {
    EXPECT_FALSE(groups[1]->channel(peer, Deadline::after_ms(1))) << peer;
  }
  const auto stats = groups[0]->stream_stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_FALSE(stats[0]);
  ASSERT_TRUE(stats[1]);
  EXPECT_EQ(stats[1]->remote, "memory:1");
}

TEST(MemoryGroup, WaitEndsAtItsDeadline) {
  auto groups = make_memory_groups(2, {});
  CollectSink sink(8);
  Channel* channel = groups[0]->channel(1, Deadline::after_ms(kLongMs)).value();
  channel->post_recv({1, 1, 0, 1}, 8, &sink);
  const int64_t start = monotonic_ns();
  const Status status = groups[0]->wait([&] { return sink.done(); }, Deadline::after_ms(30));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
  EXPECT_GE(monotonic_ns() - start, 30 * kMillisecond);
  // A passed deadline is no failure of the group: the caller may go on waiting.
  EXPECT_TRUE(groups[0]->progress());
}

TEST(MemoryGroup, AbortReachesEveryRankWithItsReason) {
  auto groups = make_memory_groups(4, {});
  std::vector<Error> errors(4);
  run_ranks(groups, [&](Group& group) {
    if (group.rank() == 2) {
      group.control().abort(
          {ErrorCode::kWrongData, "three wrong bytes", 0, "", "collective.wrong_data"});
      group.control().abort(Error{ErrorCode::kTimeout, "too late to count", 0, {}, {}});
    }
    CollectSink sink(8);
    const int peer = (group.rank() + 1) % 4;
    Channel* channel = group.channel(peer, Deadline::after_ms(kLongMs)).value();
    channel->post_recv({1, 1, 0, 1}, 8, &sink);
    const Status status = group.wait([&] { return sink.done(); }, Deadline::after_ms(kLongMs));
    ASSERT_FALSE(status);
    errors[static_cast<size_t>(group.rank())] = status.error();
    channel->cancel(status.error());
  });
  for (int rank = 0; rank < 4; ++rank) {
    const Error& error = errors[static_cast<size_t>(rank)];
    EXPECT_EQ(error.code, rank == 2 ? ErrorCode::kWrongData : ErrorCode::kAborted);
    EXPECT_THAT(error.what, HasSubstr("three wrong bytes"));
    EXPECT_EQ(error.cause, "collective.wrong_data");
    EXPECT_THAT(error.what, HasSubstr(rank == 2 ? "" : "rank 2"));
  }
}

TEST(MemoryGroup, ALostPeerIsToldToTheThirdRank) {
  auto groups = make_memory_groups(3, {});
  groups[2].reset();  // its streams end
  std::vector<Error> errors(2);
  std::vector<std::unique_ptr<Group>> rest;
  rest.push_back(std::move(groups[0]));
  rest.push_back(std::move(groups[1]));
  run_ranks(rest, [&](Group& group) {
    CollectSink sink(8);
    // Rank 0 waits for the lost rank, rank 1 for rank 0.
    const int peer = group.rank() == 0 ? 2 : 0;
    Channel* channel = group.channel(peer, Deadline::after_ms(kLongMs)).value();
    channel->post_recv({1, 7, 3, 1}, 8, &sink);
    const Status status = group.wait([&] { return sink.done(); }, Deadline::after_ms(kLongMs));
    ASSERT_FALSE(status);
    errors[static_cast<size_t>(group.rank())] = status.error();
  });
  EXPECT_EQ(errors[0].code, ErrorCode::kPeerLost);
  EXPECT_EQ(errors[0].cause, "rank.dead");
  EXPECT_THAT(errors[0].what, AllOf(HasSubstr("rank 2"), HasSubstr("op 7 step 3")));
  EXPECT_EQ(errors[1].code, ErrorCode::kAborted);
  EXPECT_THAT(errors[1].what, AllOf(HasSubstr("rank 0"), HasSubstr("rank 2")));
}

// Tells the test when its stream has ended, before the channel hears of it.
class EndWatch : public ScriptStream {
 public:
  explicit EndWatch(std::function<void()> at_end) : at_end_(std::move(at_end)) {}
  Expected<size_t> read_some(std::span<const iovec>) override {
    at_end_();
    return fail(ErrorCode::kPeerLost, "the stream has ended");
  }

 private:
  std::function<void()> at_end_;
};

TEST(MemoryGroup, ALostPeerWithAReasonGivesThatReason) {
  // The peer closes and its reason arrives a moment after the end of the stream.
  std::vector<std::unique_ptr<Group>> groups;
  const auto give_up = [&] {
    groups[1]->control().abort(Error{ErrorCode::kInterrupted, "the user asked to stop", 0, {}, {}});
  };
  groups = make_memory_groups(
      2, {}, {0, true}, 4096,
      [&](int self, int, std::unique_ptr<ByteStream> stream) -> std::unique_ptr<ByteStream> {
        if (self == 1) return stream;
        return std::make_unique<EndWatch>(give_up);
      });
  CollectSink sink(8);
  groups[0]->channel(1, Deadline::after_ms(kLongMs)).value()->post_recv({1, 1, 0, 1}, 8, &sink);
  const Status status = groups[0]->wait([&] { return sink.done(); }, Deadline::after_ms(kLongMs));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kAborted);
  EXPECT_THAT(status.error().what, AllOf(HasSubstr("the user asked to stop"), HasSubstr("rank 1")));
}

TEST(MemoryGroup, AFlippedBitIsFoundWithChecksums) {
  ChannelOptions options;
  options.crc = true;
  auto groups = make_memory_groups(2, options, {0, true}, 1 << 16,
                                   with_fault("flip:rank=1,peer=0,after=2000"));
  std::vector<Error> errors(2);
  run_ranks(groups, [&](Group& group) {
    const Bytes data(5000);
    CollectSink sink(5000);
    Channel* channel = group.channel(1 - group.rank(), Deadline::after_ms(kLongMs)).value();
    channel->post_recv({1, 1, 0, 1}, 5000, &sink);
    channel->post_send({1, 1, 0, 1}, data.data(), 5000, 5000, nullptr, 0);
    // Rank 1 receives clean bytes; it learns of the failure by the abort.
    const Status status = group.wait([&] { return false; }, Deadline::after_ms(kLongMs));
    errors[static_cast<size_t>(group.rank())] = status.error();
    channel->cancel(status.error());
  });
  EXPECT_EQ(errors[0].code, ErrorCode::kWrongData);
  EXPECT_THAT(errors[0].what, AllOf(HasSubstr("rank 1"), HasSubstr("offset 0")));
  EXPECT_EQ(errors[1].code, ErrorCode::kAborted);
}

TEST(MemoryGroup, DifferentOperationsAreNamedInWords) {
  auto groups = make_memory_groups(2, {});
  std::vector<Error> errors(2);
  const char* const texts[] = {"allreduce f32 sum 64 KiB ring", "broadcast i32 4 KiB root 0 chain"};
  run_ranks(groups, [&](Group& group) {
    const uint32_t hash = 0x100u + static_cast<uint32_t>(group.rank());
    group.control().begin_operation(91, hash, texts[group.rank()]);
    const Bytes data(64);
    CollectSink sink(64);
    Channel* channel = group.channel(1 - group.rank(), Deadline::after_ms(kLongMs)).value();
    channel->post_recv({1, 91, 0, hash}, 64, &sink);
    channel->post_send({1, 91, 0, hash}, data.data(), 64, 64, nullptr, 0);
    const Status status = group.wait([&] { return sink.done(); }, Deadline::after_ms(kLongMs));
    ASSERT_FALSE(status);
    errors[static_cast<size_t>(group.rank())] = status.error();
    channel->cancel(status.error());
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.cause, "collective.mismatch") << error.message();
    EXPECT_THAT(error.what, AllOf(HasSubstr(std::string("called op 91 ") + texts[0]),
                                  HasSubstr(std::string("called op 91 ") + texts[1])));
  }
}

TEST(MemoryGroup, ConnectsLazilyOnce) {
  int calls = 0;
  std::unique_ptr<ByteStream> other_end;
  const Group::Connect connect = [&](int peer, Deadline) -> Expected<std::unique_ptr<ByteStream>> {
    ++calls;
    if (peer == 2) return fail(ErrorCode::kRefused, "rank 2 refused");
    auto [mine, theirs] = make_memory_streams(0, peer, 4096);
    other_end = std::move(theirs);
    return std::move(mine);
  };
  auto donor = make_memory_groups(1, {});  // only its control plane is of use here
  const std::shared_ptr<ControlPlane> control(std::shared_ptr<void>(), &donor[0]->control());
  Group group(0, 3, 1, {}, connect, control, {}, {}, std::make_shared<PairTransports>("lazy", 3));
  const auto first = group.channel(1, Deadline::after_ms(10));
  ASSERT_TRUE(first);
  EXPECT_EQ(group.channel(1, Deadline::after_ms(10)).value(), *first);
  EXPECT_EQ(calls, 1);
  const auto refused = group.channel(2, Deadline::after_ms(10));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_FALSE(group.stream_stats()[2]);
}

TEST(MemoryGroup, SleepingRanksTellWhomTheyWaitFor) {
  auto groups = make_memory_groups(2, {}, {0, true});
  std::atomic<bool> seen{false};
  run_ranks(groups, [&](Group& group) {
    Channel* channel = group.channel(1 - group.rank(), Deadline::after_ms(kLongMs)).value();
    const std::byte one{1};
    if (group.rank() == 1) {
      // Sends only after rank 0 has said that it waits.
      const Deadline deadline = Deadline::after_ms(kLongMs);
      RankStatus status;
      while (!(status.waiting_for == 1 && status.step == 6) && !deadline.passed()) {
        status = group.control().query(0, deadline, nullptr);
      }
      seen = status.in_operation && status.sequence == 5 && status.operation == "barrier";
      channel->post_send({1, 5, 6, 1}, &one, 1, 1, nullptr, 0);
      return;
    }
    group.control().begin_operation(5, 1, "barrier");
    CollectSink sink(1);
    channel->post_recv({1, 5, 6, 1}, 1, &sink);
    EXPECT_TRUE(group.wait([&] { return sink.done(); }, Deadline::after_ms(kLongMs)));
    group.control().end_operation(5);
  });
  EXPECT_TRUE(seen);
  std::vector<FlightEntry> recorder;
  const RankStatus after = groups[1]->control().query(0, Deadline::after_ms(10), &recorder);
  EXPECT_FALSE(after.in_operation);
  EXPECT_EQ(after.waiting_for, -1);
  ASSERT_EQ(recorder.size(), 1u);
  EXPECT_TRUE(recorder[0].finished);
}

TEST(MemoryGroup, RecorderKeepsTheLastOperations) {
  auto groups = make_memory_groups(1, {});
  ControlPlane& control = groups[0]->control();
  for (uint32_t i = 1; i <= 100; ++i) {
    control.begin_operation(i, i * 7, "op number " + std::to_string(i));
    if (i % 2 == 0) control.end_operation(i);
  }
  const auto entries = control.recorder();
  ASSERT_GE(entries.size(), 16u);
  EXPECT_EQ(entries.back().sequence, 100u);
  EXPECT_EQ(entries.back().op_hash, 700u);
  EXPECT_TRUE(entries.back().finished);
  EXPECT_FALSE(entries[entries.size() - 2].finished);
  for (size_t i = 1; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].sequence, entries[i - 1].sequence + 1);
  }
  control.end_operation(100);  // twice, and one that was forgotten long ago: nothing happens
  control.end_operation(1);
  EXPECT_TRUE(groups[0]->control().query(0, Deadline::after_ms(1), nullptr).in_operation);
}

}  // namespace
}  // namespace plumbline
