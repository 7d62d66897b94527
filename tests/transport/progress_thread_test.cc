// A thread that writes for a rank: every byte, every result, no buffer looked at after it was given
// back, and a rank that sleeps is woken.
#include "transport/tcp/progress_thread.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "channel_pair.h"
#include "core/clock.h"
#include "tcp_world.h"
#include "transport/tcp/bulk_stream.h"
#include "transport/tcp/striped_stream.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::exchange;
using test::random_bytes;
using test::TcpWorld;
using testing::HasSubstr;
using StreamPtr = std::unique_ptr<ByteStream>;

constexpr size_t kLarge = 600'000;  // worth another thread in any case

std::shared_ptr<ProgressThread> started(int64_t spin_ns = ProgressThread::kSpinNs) {
  auto thread = ProgressThread::start({}, spin_ns);
  EXPECT_TRUE(thread);
  return *thread;
}

// A write waits until it may go on, then keeps what it was given.
class HeldStream : public ByteStream {
 public:
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    entered.set_value();
    may_go.get_future().wait();
    size_t bytes = 0;
    for (const iovec& buffer : buffers) {
      const auto* from = static_cast<const std::byte*>(buffer.iov_base);
      written.insert(written.end(), from, from + buffer.iov_len);
      bytes += buffer.iov_len;
    }
    if (!error.what.empty()) return fail(error);
    return bytes;
  }
  Expected<size_t> read_some(std::span<const iovec>) override { return size_t{0}; }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    poll.push_back(poll_entry(-1, reads, writes));
    return true;
  }
  StreamStats stats() const override { return {}; }
  void close() override {}

  std::promise<void> entered, may_go;
  Bytes written;
  Error error;
};

struct Held {
  explicit Held(const std::shared_ptr<ProgressThread>& thread = started()) {
    auto inner = std::make_unique<HeldStream>();
    held = inner.get();
    stream = make_progressed_stream(std::move(inner), thread);
  }
  // Posts `bytes` and returns when the thread has them.
  void post() {
    const iovec all{bytes.data(), bytes.size()};
    EXPECT_EQ(*stream->write_some({&all, 1}), 0u);
    held->entered.get_future().wait();
  }
  Expected<size_t> tried() {
    const iovec all{bytes.data(), bytes.size()};
    return stream->write_some({&all, 1});
  }
  Expected<size_t> result() {
    Expected<size_t> done = tried();
    for (const Deadline until = Deadline::after_ms(10'000);
         done && *done == 0 && !until.passed();) {
      done = tried();
    }
    return done;
  }
  HeldStream* held = nullptr;
  StreamPtr stream;
  Bytes bytes = random_bytes(kLarge, 1);
};

TEST(ProgressThread, AWriteIsToldWhenItIsDone) {
  Held world;
  world.post();
  EXPECT_EQ(*world.tried(), 0u);
  EXPECT_FALSE(world.stream->told_by_poll());  // it moves without a descriptor
  world.held->may_go.set_value();
  EXPECT_EQ(*world.result(), kLarge);
  EXPECT_EQ(world.held->written, world.bytes);
  EXPECT_TRUE(world.stream->stats().progress_thread);
}

TEST(ProgressThread, AnErrorIsTheCallersWithTheNextTry) {
  Held world;
  world.held->error = {ErrorCode::kPeerLost, "gone", 0, {}, {}, {}};
  world.post();
  world.held->may_go.set_value();
  const Expected<size_t> done = world.result();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kPeerLost);
}

// The owner may free its buffers after release(): what the thread took from them is complete.
TEST(ProgressThread, ReleaseWaitsForTheWriteUnderWay) {
  Held world;
  world.post();
  auto freed = std::async(std::launch::async, [&] {
    world.stream->release();
    const Bytes seen = world.held->written;
    std::fill(world.bytes.begin(), world.bytes.end(), std::byte{0});
    return seen;
  });
  EXPECT_EQ(freed.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  world.held->may_go.set_value();
  EXPECT_EQ(freed.get(), random_bytes(kLarge, 1));
}

TEST(ProgressThread, ASleeperIsWokenByTheEndOfAWrite) {
  Held world;
  world.post();
  EXPECT_FALSE(world.stream->arm(true, true));
  std::vector<pollfd> entries;
  EXPECT_TRUE(world.stream->add_to(entries, true, true));
  EXPECT_EQ(::poll(entries.data(), entries.size(), 0), 0);
  auto later = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    world.held->may_go.set_value();
  });
  EXPECT_EQ(::poll(entries.data(), entries.size(), 10'000), 1);
  later.get();
  EXPECT_EQ(*world.result(), kLarge);
  // The next sleep is one again.
  EXPECT_FALSE(world.stream->arm(true, true));
}

// One that is done before the sleep begins keeps its owner awake.
TEST(ProgressThread, NobodySleepsOnWhatIsDone) {
  Held world;
  world.post();
  world.held->may_go.set_value();
  const Deadline until = Deadline::after_ms(10'000);
  while (!world.stream->arm(false, true) && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(until.passed());
  EXPECT_EQ(*world.result(), kLarge);
}

// Its frames are the channel's own.
TEST(ProgressThread, AChannelThatGoesWaitsForTheWriteUnderWay) {
  auto inner = std::make_unique<HeldStream>();
  HeldStream* const held = inner.get();
  const auto thread = started();
  auto channel =
      std::make_unique<Channel>(0, 1,
                                make_bulk_stream(std::make_unique<test::ScriptStream>(),
                                                 make_progressed_stream(std::move(inner), thread)),
                                ChannelOptions{});
  const Bytes bytes = random_bytes(kLarge, 1);
  channel->post_send(test::tag(1, 0), bytes.data(), kLarge, kLarge, nullptr, 0);
  held->entered.get_future().wait();
  auto gone = std::async(std::launch::async, [&] { channel.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held->may_go.set_value();
  EXPECT_EQ(gone.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

// One thread writes for many streams, which are all armed before a rank sleeps.
TEST(ProgressThread, TheEndOfAWriteIsNotLostWhileAnotherStreamIsArmed) {
  const auto thread = started();
  Held first(thread), second(thread);
  first.post();
  EXPECT_EQ(*second.tried(), 0u);  // behind it
  EXPECT_FALSE(first.stream->arm(true, true));
  first.held->may_go.set_value();
  second.held->entered.get_future().wait();  // so the first one is done
  EXPECT_FALSE(second.stream->arm(true, true));
  std::vector<pollfd> entries;
  EXPECT_TRUE(second.stream->add_to(entries, false, true));
  EXPECT_EQ(::poll(entries.data(), entries.size(), 5'000), 1);
  EXPECT_EQ(*first.result(), kLarge);
  EXPECT_EQ(::poll(entries.data(), entries.size(), 0), 0);  // told once
  second.held->may_go.set_value();
  EXPECT_EQ(*second.result(), kLarge);
}

// A smaller one is worth it while the rank awaits something to read, and only then.
TEST(ProgressThread, WritesOfMiddlingSizeNeedReadsBesideThem) {
  const auto thread = started();
  const auto posts = [&](size_t bytes) {
    const StreamPtr stream = make_progressed_stream(std::make_unique<test::ScriptStream>(), thread);
    const Bytes data(bytes);
    const iovec all{const_cast<std::byte*>(data.data()), bytes};
    const bool posted = *stream->write_some({&all, 1}) == 0;
    stream->release();
    return posted;
  };
  EXPECT_TRUE(posts(512 * 1024));
  EXPECT_FALSE(posts(200'000));
  {
    auto [near, far] = make_memory_streams(0, 1, 1 << 20);
    Channel channel(
        0, 1,
        make_bulk_stream(std::move(near),
                         make_progressed_stream(std::make_unique<test::ScriptStream>(), thread)),
        {});
    test::CollectSink small(100), large(300'000);
    channel.post_recv(test::tag(1, 0), 100, &small);
    EXPECT_FALSE(posts(200'000));
    channel.post_recv(test::tag(1, 1), 300'000, &large);
    EXPECT_TRUE(posts(200'000));
    EXPECT_FALSE(posts(10'000));  // never worth it
    channel.cancel({ErrorCode::kAborted, "over", 0, {}, {}, {}});
    EXPECT_FALSE(posts(200'000));
    EXPECT_EQ(thread->awaited(), 0u);
  }
  {
    test::CollectSink large(300'000);
    Channel channel(
        0, 1,
        make_bulk_stream(std::make_unique<test::ScriptStream>(),
                         make_progressed_stream(std::make_unique<test::ScriptStream>(), thread)),
        {});
    channel.post_recv(test::tag(1, 1), 300'000, &large);
    EXPECT_EQ(thread->awaited(), 1u);
  }
  EXPECT_EQ(thread->awaited(), 0u);  // as long as the channel lives
}

// More writes than its queue holds, while the first one is stuck.
TEST(ProgressThread, WhatItHasNoRoomForIsWrittenByTheCaller) {
  const auto thread = started();
  auto inner = std::make_unique<HeldStream>();
  HeldStream* const held = inner.get();
  const StreamPtr stuck = make_progressed_stream(std::move(inner), thread);
  Bytes bytes = random_bytes(kLarge, 1);
  const iovec all{bytes.data(), bytes.size()};
  EXPECT_EQ(*stuck->write_some({&all, 1}), 0u);
  held->entered.get_future().wait();
  std::vector<StreamPtr> streams;
  std::vector<test::ScriptStream*> scripts;
  size_t at_once = 0;
  for (int i = 0; i < 100; ++i) {
    auto script = std::make_unique<test::ScriptStream>();
    scripts.push_back(script.get());
    streams.push_back(make_progressed_stream(std::move(script), thread));
    if (*streams.back()->write_some({&all, 1}) > 0) ++at_once;
  }
  EXPECT_GT(at_once, 30u);
  EXPECT_LT(at_once, 100u);
  held->may_go.set_value();
  for (const StreamPtr& stream : streams) stream->release();
  for (const test::ScriptStream* script : scripts) EXPECT_EQ(script->written, bytes);
}

TEST(ProgressThread, EveryByteComesOverSocketsBothWaysAtOnce) {
  for (const size_t parts : {size_t{2}, size_t{4}}) {
    std::vector<StreamPtr> near, far;
    for (size_t i = 0; i < parts; ++i) {
      std::array<int, 2> fds{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
      for (const int fd : fds) ::fcntl(fd, F_SETFL, O_NONBLOCK);
      near.push_back(make_tcp_stream(Fd(fds[0]), "rank 1"));
      far.push_back(make_tcp_stream(Fd(fds[1]), "rank 0"));
    }
    const StreamPtr a =
        make_progressed_stream(make_one_way_stream(std::move(near), true), started(0));
    const StreamPtr b =
        make_progressed_stream(make_one_way_stream(std::move(far), false), started());
    struct Way {
      ByteStream &from, &to;
      Bytes sent, got;
      size_t gone = 0, come = 0;
    };
    constexpr size_t kTotal = 2'000'000;
    Way ways[] = {{*a, *b, random_bytes(kTotal, 1), Bytes(kTotal)},
                  {*b, *a, random_bytes(kTotal, 2), Bytes(kTotal)}};
    const Deadline until = Deadline::after_ms(30'000);
    while ((ways[0].come < kTotal || ways[1].come < kTotal) && !until.passed()) {
      for (Way& way : ways) {
        const size_t piece = std::min<size_t>(kTotal - way.gone, 200'000);
        const iovec out{way.sent.data() + way.gone, piece};
        const iovec in{way.got.data() + way.come, kTotal - way.come};
        if (piece > 0) way.gone += *way.from.write_some({&out, 1});
        way.come += *way.to.read_some({&in, 1});
      }
    }
    for (const Way& way : ways) EXPECT_EQ(way.sent, way.got);
    EXPECT_EQ(a->stats().parts.size(), parts);
    EXPECT_GT(a->stats().writes, 0u);
  }
}

TEST(ProgressThread, EveryPairOfAGroupExchangesEverySize) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    for (const char* streams : {"auto", "2"}) {
      for (const char* wait : {"auto", "block"}) {
        SCOPED_TRACE(std::to_string(ranks) + streams + wait);
        TcpWorld world(ranks, {{"progress_thread", "on"},
                               {"streams", streams},
                               {"wait", wait},
                               {"sock_bufsize", "65536"},
                               {"mesh", ranks == 3 ? "lazy" : "eager"}});
        const size_t connections = std::string(streams) == "2" ? 6 : 3;
        world.run([&](Group& group) {
          uint32_t sequence = 0;
          for (const size_t bytes : {0, 40, 65'535, 65'536, 1'000'001}) {
            const Status status = exchange(group, bytes, ++sequence);
            ASSERT_TRUE(status) << bytes << ": " << status.error().message();
          }
          for (const auto& stats : group.stream_stats()) {
            if (!stats) continue;
            EXPECT_EQ(stats->parts.size(), connections);
            EXPECT_TRUE(stats->progress_thread);
          }
        });
      }
    }
  }
}

// What is spoiled on purpose goes over one connection.
TEST(ProgressThread, IsNotThereBesideAFault) {
  TcpWorld world(2, {{"progress_thread", "on"}, {"fault", "short:bytes=1000"}});
  world.run([](Group& group) {
    EXPECT_TRUE(exchange(group, 100'000, 1));
    const auto stats = group.stream_stats()[static_cast<size_t>(1 - group.rank())];
    EXPECT_TRUE(stats->parts.empty());
    EXPECT_FALSE(stats->progress_thread);
  });
}

// A rank that sleeps on one lane hears what comes over the other.
TEST(ProgressThread, SizesThatDifferAreToldAtOnceToASleeper) {
  for (const char* wait : {"block", "auto"}) {
    TcpWorld world(2, {{"progress_thread", "on"}, {"wait", wait}});
    world.run([](Group& group) {
      const int64_t start = monotonic_ns();
      const Status status = exchange(group, group.rank() == 0 ? 100 : 200'000, 1);
      ASSERT_FALSE(status);
      // The one that finds it, or the other one, which is told.
      EXPECT_THAT(status.error().message(), HasSubstr("an operation with the same sizes"));
      EXPECT_LT(monotonic_ns() - start, 10 * kSecond);  // the exchange's patience is 20 s
    });
  }
}

// A peer that goes away in the middle of a large message, while this rank writes one too.
TEST(ProgressThread, APeerThatGoesIsNamedAndNothingIsLookedAtAfterwards) {
  TcpWorld world(2, {{"progress_thread", "on"}, {"sock_bufsize", "65536"}});
  world.run([](Group& group) {
    const Deadline deadline = Deadline::after_ms(20'000);
    Channel& channel = **group.channel(1 - group.rank(), deadline);
    auto out = std::make_unique<Bytes>(random_bytes(8'000'000, 1));
    test::CollectSink sink(out->size());
    channel.post_recv({group.id(), 1, 0, 1}, out->size(), &sink);
    channel.post_send({group.id(), 1, 0, 1}, out->data(), out->size(), out->size(), nullptr, 0);
    const bool leaves = group.rank() == 1;
    const Status status = group.wait([&] { return leaves && sink.got() > 500'000; }, deadline);
    if (leaves) channel.stream(out->size()).close();
    if (!leaves) {
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message(), HasSubstr("rank 1"));
    }
    channel.cancel({ErrorCode::kAborted, "over", 0, {}, {}, {}});
    out.reset();
  });
}

}  // namespace
}  // namespace plumbline
