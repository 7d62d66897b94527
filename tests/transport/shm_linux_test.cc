// Shared memory between two ranks, attacked: ends that lie, die, sleep, or are not on one machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <random>
#include <thread>

#include "core/file.h"
#include "tests/support/sanitized.h"
#include "tests/transport/connected_pair.h"
#include "tests/transport/tcp_world.h"
#include "transport/channel/ring.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"
#include "transport/shm/shm_offer.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using StreamPtr = std::unique_ptr<ByteStream>;
constexpr size_t kSmallRing = 4096;

StreamPtr shm_end(Fd fd, int self, size_t ring_bytes = kSmallRing,
                  const std::string& realm = shared_memory_realm(), MemoryWay way = memory_way()) {
  const int peer = 1 - self;
  return make_shm_stream(make_tcp_stream(std::move(fd), "rank " + std::to_string(peer)), self, peer,
                         ring_bytes, realm, nullptr, nullptr, {}, way);
}

struct Pair {
  explicit Pair(size_t ring_bytes = kSmallRing, MemoryWay way = memory_way()) {
    auto [first, second] = test::connected_pair();
    lower = shm_end(std::move(first), 0, ring_bytes, shared_memory_realm(), way);
    higher = shm_end(std::move(second), 1, ring_bytes, shared_memory_realm(), way);
    for (const Deadline deadline = Deadline::after_ms(5000); !deadline.passed();) {
      const Expected<bool> one = lower->ready(), other = higher->ready();
      EXPECT_TRUE(one && other);
      if (one && other && *one && *other) return;
    }
    ADD_FAILURE() << "they come to no terms";
  }
  StreamPtr lower, higher;
};

Expected<size_t> put(ByteStream& stream, std::span<const std::byte> bytes) {
  const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return stream.write_some({&part, 1});
}
Expected<size_t> get(ByteStream& stream, std::span<std::byte> bytes) {
  const iovec part{bytes.data(), bytes.size()};
  return stream.read_some({&part, 1});
}

// Sleeps as a group does; false = nobody called within 10 s.
bool sleep_until_called(ByteStream& stream, bool reads, bool writes) {
  if (stream.arm(reads, writes)) return true;
  std::vector<pollfd> entries;
  return stream.add_to(entries, reads, writes) &&
         ::poll(entries.data(), static_cast<nfds_t>(entries.size()), 10'000) == 1;
}

TEST(Shm, BytesOfEverySizeComeInOrderBothWaysAndSleepersAreCalled) {
  for (const size_t ring_bytes : {size_t{1}, kSmallRing, size_t{100'000}}) {
    Pair pair(ring_bytes, ring_bytes == 1 ? MemoryWay::kHanded : memory_way());
    constexpr size_t kTotal = 3'000'000;
    const auto stream = [](ByteStream& end, uint32_t seed) {
      std::minstd_rand random(seed);
      std::vector<std::byte> out(20'000), in(20'000);
      size_t sent = 0, received = 0;
      while (sent < kTotal || received < kTotal) {
        const size_t most = std::min<size_t>(kTotal - sent, 1 + random() % out.size());
        for (size_t i = 0; i < most; ++i) out[i] = static_cast<std::byte>((sent + i) * 7 % 251);
        const Expected<size_t> gone = put(end, {out.data(), most});
        const Expected<size_t> come = get(end, {in.data(), 1 + random() % in.size()});
        if (!gone || !come) return std::string("failed");
        for (size_t i = 0; i < *come; ++i) {
          if (in[i] != static_cast<std::byte>((received + i) * 7 % 251))
            return std::string("wrong");
        }
        sent += *gone;
        received += *come;
        if (*gone + *come > 0) continue;
        if (!sleep_until_called(end, received < kTotal, sent < kTotal)) return std::string("hangs");
      }
      return std::string();
    };
    std::string other;
    std::thread thread([&] { other = stream(*pair.higher, 2); });
    EXPECT_EQ(stream(*pair.lower, 1), "") << ring_bytes;
    thread.join();
    EXPECT_EQ(other, "") << ring_bytes;
  }
}

// A call that is lost between the look at the ring and the sleep would leave both asleep.
TEST(Shm, NoCallIsLost) {
  Pair pair;
  const int rounds = test::kSanitized ? 2'000 : 20'000;
  const auto play = [&](ByteStream& end, bool first) {
    std::byte ball{};
    for (int i = 0; i < rounds; ++i) {
      if (first && *put(end, {&ball, 1}) != 1) return std::string("no room");
      for (Expected<size_t> got = get(end, {&ball, 1}); got && *got == 0;
           got = get(end, {&ball, 1})) {
        if (!sleep_until_called(end, true, false)) return "asleep in round " + std::to_string(i);
      }
      if (!first && *put(end, {&ball, 1}) != 1) return std::string("no room");
    }
    return std::string();
  };
  std::string other;
  std::thread thread([&] { other = play(*pair.higher, false); });
  EXPECT_EQ(play(*pair.lower, true), "");
  thread.join();
  EXPECT_EQ(other, "");
}

TEST(Shm, ThoseApartSayWhyAtBothEnds) {
  auto [first, second] = test::connected_pair();
  const StreamPtr lower = shm_end(std::move(first), 0, kSmallRing, "here");
  const StreamPtr higher = shm_end(std::move(second), 1, kSmallRing, "there");
  for (ByteStream* end : {higher.get(), lower.get()}) {
    Expected<bool> ready = false;
    for (const Deadline deadline = Deadline::after_ms(5000); ready && !deadline.passed();) {
      static_cast<void>(lower->ready());
      static_cast<void>(higher->ready());
      ready = end->ready();
    }
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(ready.error().message(),
                AllOf(HasSubstr("rank 0 and rank 1 cannot share memory"),
                      HasSubstr("different machines"), HasSubstr("--transport tcp")));
    EXPECT_THAT(ready.error().ranks, testing::UnorderedElementsAre(0, 1));
  }
}

TEST(Shm, AClosedEndIsLostAfterItsLastBytes) {
  Pair pair;
  const std::array<std::byte, 3> last{std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_EQ(*put(*pair.lower, last), 3u);
  pair.lower->close();
  std::array<std::byte, 10> got;
  EXPECT_EQ(*get(*pair.higher, got), 3u);
  const Expected<size_t> end = get(*pair.higher, got);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(put(*pair.higher, last).error().code, ErrorCode::kPeerLost);
  EXPECT_FALSE(put(*pair.lower, last));
}

// Killed, it closes nothing; its connection tells, and what it wrote before is there.
TEST(Shm, AKilledEndIsLostAfterItsLastBytesAndLeavesNothing) {
  auto [first, second] = test::connected_pair();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    second.reset();
    const StreamPtr lower = shm_end(std::move(first), 0);
    const std::byte word{42};
    for (size_t sent = 0; sent == 0;) sent = put(*lower, {&word, 1}).value_or(1);
    ::raise(SIGKILL);
    ::_exit(1);
  }
  first.reset();
  const StreamPtr higher = shm_end(std::move(second), 1);
  std::byte got{};
  Expected<size_t> bytes = size_t{0};
  for (const Deadline deadline = Deadline::after_ms(10'000); bytes && !deadline.passed();) {
    bytes = get(*higher, {&got, 1});
    if (bytes && *bytes == 0 && !sleep_until_called(*higher, true, false)) break;
  }
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(got, std::byte{42});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kPeerLost);
}

// What the offer names is not believed: a file of this user keeps its bytes.
TEST(Shm, AnOfferOfSomethingElseIsRefused) {
  const std::string path = testing::TempDir() + "offered";
  constexpr size_t kPage = 64 * 1024;
  const size_t size = kPage + 2 * kSmallRing;
  ASSERT_TRUE(write_text_file(path, std::string(size, 'x')));
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  const Expected<SharedMemory> other = SharedMemory::create(kPage);
  ASSERT_TRUE(other);
  const auto own = static_cast<uint64_t>(::getpid());
  for (const SharedMemoryName& name : std::vector<SharedMemoryName>{
           {own, static_cast<uint64_t>(file.get())},
           {own, static_cast<uint64_t>(reading.get())},
           {own, 0xffffffffffffffffu},
           {0, 0},
           other->name(),
       }) {
    auto [liar, honest] = test::connected_pair();
    const StreamPtr higher = shm_end(std::move(honest), 1);
    const std::vector<std::byte> offer =
        encode_shm_offer({sha256(shared_memory_realm()), name, kSmallRing, Digest{}});
    ASSERT_EQ(::send(liar.get(), offer.data(), offer.size(), 0),
              static_cast<ssize_t>(offer.size()));
    Expected<bool> ready = false;
    for (const Deadline deadline = Deadline::after_ms(5000); ready && !deadline.passed();) {
      ready = higher->ready();
      EXPECT_FALSE(ready.value_or(false));
    }
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code, ErrorCode::kUnsupported) << ready.error().message();
  }
  EXPECT_EQ(read_input_file(path, 2 * size).value_or(""), std::string(size, 'x'));
}

TEST(Shm, RubbishInPlaceOfAnOfferIsAnError) {
  auto [liar, honest] = test::connected_pair();
  const StreamPtr higher = shm_end(std::move(honest), 1);
  const std::string rubbish(1000, '\xff');
  ASSERT_EQ(::send(liar.get(), rubbish.data(), rubbish.size(), 0), 1000);
  Expected<bool> ready = false;
  for (const Deadline deadline = Deadline::after_ms(5000); ready && !deadline.passed();) {
    ready = higher->ready();
  }
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kProtocol);
}

// Found by trying: Linux grants page by page, and ends processes when there are no more.
TEST(SharedMemory, MoreThanAnybodyNeedsIsRefusedBeforeItIsTried) {
  const Expected<SharedMemory> much = SharedMemory::create(size_t{1} << 50);
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().code, ErrorCode::kConfig);
}

TEST(SharedMemory, WhatTheSystemRefusesIsAnErrorWithItsReason) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit none{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const Expected<SharedMemory> refused = SharedMemory::create(kSmallRing);
    ::_exit(!refused && refused.error().sys_errno == EMFILE ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(SharedMemory, IsOpenedUntilItsNameIsDropped) {
  Expected<SharedMemory> made = SharedMemory::create(kSmallRing);
  ASSERT_TRUE(made);
  const SharedMemoryName name = made->name();
  const Expected<SharedMemory> opened = SharedMemory::open(name, kSmallRing);
  ASSERT_TRUE(opened) << opened.error().message();
  made->data()[17] = std::byte{9};
  EXPECT_EQ(opened->data()[17], std::byte{9});
  EXPECT_FALSE(SharedMemory::open(name, 2 * kSmallRing));
  made->drop_name();
  EXPECT_FALSE(SharedMemory::open(name, kSmallRing));
  EXPECT_EQ(opened->data()[17], std::byte{9});
}

// Positions and slots are the other end's to write: none makes this end leave the ring.
class RingAttacked : public testing::Test {
 protected:
  static constexpr size_t kSize = 100;

  Expected<size_t> read() { return reader_.read({&part_, 1}); }
  // The first slot, as a writer that lies fills it.
  void slot(uint64_t word, uint64_t position) {
    std::memcpy(state_.slots[0].bytes, &position, sizeof position);
    state_.slots[0].word = word;
  }

  RingState state_{};
  std::array<std::byte, kSize> data_{};
  std::array<std::byte, 200> bytes_{};
  const iovec part_{bytes_.data(), bytes_.size()};
  RingReader reader_{{&state_, data_.data(), kSize}};
  RingWriter writer_{{&state_, data_.data(), kSize}};
};

TEST_F(RingAttacked, PositionsThatCannotBeAreErrors) {
  for (const uint64_t position :
       {uint64_t{0}, uint64_t{101}, uint64_t{1} << 63, ~uint64_t{100}, ~uint64_t{0}}) {
    slot(1 << 8 | RingSlot::kInRing, position);
    EXPECT_TRUE(reader_.readable().empty()) << position;
    const Expected<size_t> got = read();
    ASSERT_FALSE(got) << position;
    EXPECT_EQ(got.error().code, ErrorCode::kProtocol);
  }
}

TEST_F(RingAttacked, SlotsThatCannotBeAreErrors) {
  for (const uint64_t word : {uint64_t{1} << 8, uint64_t{1} << 8 | 57, uint64_t{1} << 8 | 254,
                              uint64_t{2} << 8 | 8, ~uint64_t{0}}) {
    slot(word, 8);
    const Expected<size_t> got = read();
    ASSERT_FALSE(got) << word;
    EXPECT_EQ(got.error().code, ErrorCode::kProtocol);
  }
}

// One that was read before is no message, whatever it says.
TEST_F(RingAttacked, AnOldSlotIsNoMessage) {
  const iovec eight{bytes_.data(), 8};
  for (uint64_t i = 0; i < RingState::kSlots; ++i) {
    ASSERT_EQ(*writer_.write({&eight, 1}), 8u);
    ASSERT_EQ(*reader_.read({&eight, 1}), 8u);
  }
  EXPECT_TRUE(reader_.readable().empty());
  EXPECT_EQ(*read(), 0u);
  EXPECT_FALSE(reader_.any());
}

TEST_F(RingAttacked, AReaderThatCannotBeIsAnError) {
  for (const uint64_t position : {uint64_t{101}, uint64_t{1} << 63, ~uint64_t{100}}) {
    state_.read = position;
    EXPECT_EQ(writer_.write({&part_, 1}).error().code, ErrorCode::kProtocol) << position;
    EXPECT_GT(writer_.room(), 0u) << "so that the next write finds it";
  }
  state_.read = 0;
  state_.slots_read = 1;  // more than were written
  EXPECT_EQ(writer_.write({&part_, 1}).error().code, ErrorCode::kProtocol);
  EXPECT_GT(writer_.room(), 0u);
}

// As many small writes as there are slots, then none, until the reader has read.
TEST_F(RingAttacked, SlotsRunOutBeforeBytesDo) {
  const iovec one{bytes_.data(), 1};
  for (uint64_t i = 0; i < RingState::kSlots; ++i) ASSERT_EQ(*writer_.write({&one, 1}), 1u);
  EXPECT_EQ(*writer_.write({&one, 1}), 0u);
  EXPECT_EQ(writer_.room(), 0u);
  EXPECT_EQ(*read(), RingState::kSlots);
  EXPECT_GT(writer_.room(), 0u);
  EXPECT_EQ(*writer_.write({&one, 1}), 1u);
}

}  // namespace
}  // namespace plumbline
