// Arrays that lie in no shared region, read out of the other rank's process: memory that is there,
// gone, or somebody else's; processes that have ended, stand still, or may not be read; and whole
// pairs, each rank a process of its own as ranks are.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "channel_pair.h"
#include "core/fd.h"
#include "tests/support/process_reads_linux.h"
#include "tests/support/rank_lives_linux.h"
#include "tests/support/row_share.h"
#include "transport/shm/peer_reads.h"
#include "transport/shm/process_memory.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::random_bytes;
using test::tag;
using test::UseObserver;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kReadable = 3 * 4096;
constexpr uint64_t kNumber = 0x123456789abcdef;

// Memory that children have at the same address: three pages, and behind them none.
struct Pages {
  Pages() {
    void* const at = ::mmap(nullptr, kReadable + 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = static_cast<std::byte*>(at);
    EXPECT_EQ(::munmap(data + kReadable, 4096), 0);
  }
  ~Pages() { ::munmap(data, kReadable); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uintptr_t>(data) + offset; }
  std::byte* data;
};

// A process that has done something there, and then waits or does the same over and over.
class Child {
 public:
  explicit Child(
      const std::function<void()>& first,
      const std::function<void()>& over_and_over = [] { ::pause(); }) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd reading(ends[0]), writing(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // however the test ends
      first();
      const char ready = 1;
      if (::write(writing.get(), &ready, 1) != 1) ::_exit(1);
      while (true) over_and_over();
    }
    char ready = 0;
    EXPECT_EQ(::read(reading.get(), &ready, 1), 1);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

// What a process of this user that may trace nobody's says; "" = it could not be made.
std::string said_without_rights(const std::function<std::string()>& life) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    const std::string text = life();
    ::_exit(::write(writing.get(), text.data(), text.size()) < 0 ? 1 : 0);
  }
  writing.reset();
  char buffer[1000];
  const ssize_t got = ::read(reading.get(), buffer, sizeof buffer);
  ::waitpid(pid, nullptr, 0);
  return {buffer, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

class ProcessMemory : public testing::Test {
 protected:
  ProcessMemory() : number_at_(reinterpret_cast<uint64_t*>(pages_.data)) {
    badge_ = {pages_.address(), kNumber};
  }
  void SetUp() override {
    if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  }
  std::unique_ptr<Child> child() {
    return std::make_unique<Child>([this] {
      std::fill_n(pages_.data, kReadable, std::byte{5});
      *number_at_ = kNumber;
    });
  }
  Pages pages_;
  uint64_t* const number_at_;
  ProcessBadge badge_;
  Bytes got_ = Bytes(kReadable, std::byte{0});
};

TEST_F(ProcessMemory, WhatIsThereIsReadWhole) {
  const auto other = child();
  EXPECT_TRUE(read_process_memory(other->pid(), badge_, 0, {}));
  const std::span<std::byte> to = std::span(got_).first(kReadable - 100);
  const Status read = read_process_memory(other->pid(), badge_, pages_.address(100), to);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to.front(), std::byte{5});
  EXPECT_EQ(to.back(), std::byte{5});
  EXPECT_EQ(got_[kReadable - 100], std::byte{0});
  EXPECT_EQ(pages_.data[100], std::byte{0}) << "and the own memory there is another one";
}

// The system reads up to where memory ends, and says so only when it is asked for the rest.
TEST_F(ProcessMemory, WhatIsGoneIsAnErrorWhereverItBegins) {
  const auto other = child();
  for (const size_t offset : {kReadable, kReadable - 1, size_t{4096}, size_t{100}}) {
    const Status read =
        read_process_memory(other->pid(), badge_, pages_.address(offset), std::span(got_));
    ASSERT_FALSE(read) << offset;
    EXPECT_EQ(read.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(read.error().message(), HasSubstr("lie where nothing is"));
  }
  EXPECT_FALSE(read_process_memory(other->pid(), {16, kNumber}, pages_.address(), std::span(got_)))
      << "a badge where nothing is";
}

TEST_F(ProcessMemory, AnotherProcessIsRefusedByItsBadge) {
  const auto other = child();
  const Child foreign([this] { *number_at_ = kNumber + 1; });
  const Status read = read_process_memory(foreign.pid(), badge_, pages_.address(), std::span(got_));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(read.error().message(), HasSubstr("is not the one"));
}

// What a rank does that gives up while it is read: the badge off, then the memory is gone or holds
// something else. Again and again, until the reader has met it so in the middle of its copies.
struct GivenUp {
  const char* what;
  void (*take)(std::span<std::byte> memory);
  void (*give)(std::span<std::byte> memory);

  friend void PrintTo(const GivenUp& row, std::ostream* out) { *out << row.what; }  // NOLINT
};

class ProcessMemoryGivenUp : public testing::TestWithParam<GivenUp> {};

// Found by FaultTable (killed, "reading"): who read on blamed the rank that had given up because
// of another one, for memory that is not there.
TEST_P(ProcessMemoryGivenUp, IsALostPeerAndNeverOtherBytes) {
  if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  constexpr size_t kPage = 4096, kBytes = 32 * kPage;
  const auto map = [](size_t bytes, int flags) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  };
  // No number comes twice, as none does with ranks; which one is worn, this process sees too.
  auto* const worn = new (map(kPage, MAP_SHARED)) std::atomic<uint64_t>(kNumber);
  const std::span<std::byte> memory(static_cast<std::byte*>(map(kBytes, MAP_PRIVATE)), kBytes);
  const GivenUp& row = GetParam();
  row.give(memory);
  const auto give_up = [&, next = kNumber]() mutable {
    const int64_t shown = monotonic_ns();
    while (monotonic_ns() - shown < 50'000) worn->load();
    worn->store(0);
    row.take(memory);
    row.give(memory);
    worn->store(++next);
  };
  const Child other([] {}, give_up);
  Bytes got(kBytes);
  int read = 0, lost = 0;
  const Deadline deadline = Deadline::after_ms(4'000);
  while ((read < 100 || lost < 1000) && !deadline.passed()) {
    const ProcessBadge badge{reinterpret_cast<uintptr_t>(worn), worn->load()};
    if (badge.number == 0) continue;
    const Status status = read_process_memory(
        other.pid(), badge, reinterpret_cast<uintptr_t>(memory.data()), std::span(got));
    if (status) {
      ++read;
      ASSERT_EQ(std::count(got.begin(), got.end(), std::byte{5}), static_cast<ptrdiff_t>(kBytes));
    } else {
      ++lost;
      ASSERT_EQ(status.error().code, ErrorCode::kPeerLost) << status.error().message();
    }
  }
  ::munmap(worn, kPage);
  ::munmap(memory.data(), kBytes);
  EXPECT_GT(read, 0);
  EXPECT_GT(lost, 0);
}

constexpr GivenUp kGivenUp[] = {
    {"gone",
     [](std::span<std::byte> memory) { ::mprotect(memory.data(), memory.size(), PROT_NONE); },
     [](std::span<std::byte> memory) {
       ::mprotect(memory.data(), memory.size(), PROT_READ | PROT_WRITE);
       std::fill(memory.begin(), memory.end(), std::byte{5});
     }},
    {"rewritten",
     [](std::span<std::byte> memory) { std::fill(memory.begin(), memory.end(), std::byte{9}); },
     [](std::span<std::byte> memory) { std::fill(memory.begin(), memory.end(), std::byte{5}); }},
};
INSTANTIATE_TEST_SUITE_P(All, ProcessMemoryGivenUp, testing::ValuesIn(kGivenUp),
                         testing::PrintToStringParamName());

TEST_F(ProcessMemory, AStoppedProcessIsReadAndOneThatEndedIsLost) {
  const auto other = child();
  ASSERT_EQ(::kill(other->pid(), SIGSTOP), 0);
  EXPECT_TRUE(read_process_memory(other->pid(), badge_, pages_.address(8), {got_.data(), 100}));
  const pid_t pid = other->pid();
  other->end();
  const Status read = read_process_memory(pid, badge_, pages_.address(8), {got_.data(), 100});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(read.error().cause, "rank.dead");
}

TEST_F(ProcessMemory, WhatTheSystemForbidsIsToldInItsWords) {
  const auto other = std::make_unique<Child>([this] {
    *number_at_ = kNumber;
    ::prctl(PR_SET_DUMPABLE, 0);
  });
  const std::string said = said_without_rights([&]() -> std::string {
    const Status read = read_process_memory(other->pid(), badge_, 0, {});
    return read ? "it was read" : read.error().message();
  });
  if (said.empty()) GTEST_SKIP() << "this user cannot become one without rights";
  EXPECT_THAT(said, HasSubstr("Operation not permitted"));
}

TEST(SharedMemoryMark, TellsWhichOtherProcessHasTheMemory) {
  SharedMemory memory = *SharedMemory::create(4096);
  memory.mark(3);
  EXPECT_FALSE(memory.marked_by(3)) << "of this process itself";
  EXPECT_FALSE(memory.marked_by(4)) << "of nobody";
  const SharedMemoryName name = memory.name();
  Child other([name] {
    auto* const opened = new Expected<SharedMemory>(SharedMemory::open(name, 4096));
    if (*opened && (*opened)->marked_by(3) == ::getppid()) (*opened)->mark(4);
  });
  EXPECT_EQ(memory.marked_by(4), other.pid());
  other.end();
  EXPECT_FALSE(memory.marked_by(4));
}

// ---- keys ----

struct TwoEnds {
  TwoEnds() {
    lower.show_badge(of_lower);
    higher.show_badge(of_higher);
  }
  ReadTerms of_lower{}, of_higher{};
  PeerReads lower, higher;
};

TEST(PeerReads, NobodyIsReadBeforeBothKnow) {
  TwoEnds ends;
  const Bytes data(100);
  EXPECT_FALSE(ends.lower.expose(ends.of_higher, data));
  ends.higher.try_peer(ends.of_higher, ends.of_lower, std::nullopt);
  EXPECT_FALSE(ends.lower.expose(ends.of_higher, data)) << "the other end cannot";
  EXPECT_FALSE(ends.higher.reads());
  EXPECT_THAT(ends.higher.why_not(), HasSubstr("one process"));
}

TEST(PeerReads, KeysThatLieAreErrors) {
  if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  TwoEnds ends;
  // What the system never says of a pair: that the process is this one.
  ends.higher.try_peer(ends.of_higher, ends.of_lower, ::getpid());
  ASSERT_TRUE(ends.higher.reads()) << ends.higher.why_not();
  const Bytes data = random_bytes(1000, 1);
  Bytes got(1000);
  const MemoryKey good = *ends.lower.expose(ends.of_higher, data);
  EXPECT_EQ(good.reach, MemoryReach::kRead);
  ASSERT_TRUE(ends.higher.read(good, 1000, 0, got));
  EXPECT_EQ(got, data);
  ASSERT_TRUE(ends.higher.read(good, 1000, 400, std::span(got).first(600)));
  EXPECT_EQ(got[0], data[400]);
  const auto refused = [&](const MemoryKey& key, uint64_t bytes, uint64_t offset, size_t size) {
    const Status read = ends.higher.read(key, bytes, offset, std::span(got).first(size));
    return !read && read.error().code == ErrorCode::kProtocol;
  };
  EXPECT_TRUE(refused(good, 999, 0, 10)) << "of a message of another length";
  EXPECT_TRUE(refused(good, 1001, 0, 10));
  EXPECT_TRUE(refused(good, 1000, 991, 10)) << "beyond its end";
  EXPECT_TRUE(refused(good, 1000, 1001, 0));
  for (const size_t size : {size_t{0}, good.size - 1, good.size + 1}) {
    MemoryKey cut = good;
    cut.size = size;
    EXPECT_TRUE(refused(cut, 1000, 0, 10)) << size;
  }
  for (size_t i = 0; i < 8; ++i) {  // the badge: of another pair, or of the process before
    MemoryKey bad = good;
    bad.bytes[i] ^= std::byte{1};
    EXPECT_TRUE(refused(bad, 1000, 0, 10)) << i;
  }
  MemoryKey far = good;
  std::fill_n(far.bytes.begin() + 8, 8, std::byte{0xff});
  EXPECT_TRUE(refused(far, 1000, 0, 10)) << "round the end of memory";
  // The right badge and no such memory: the first page never is.
  MemoryKey nowhere = good;
  std::fill_n(nowhere.bytes.begin() + 8, 8, std::byte{0});
  EXPECT_TRUE(refused(nowhere, 1000, 0, 10));
  ends.lower.end();
  const Status late = ends.higher.read(good, 1000, 0, std::span(got).first(10));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kPeerLost) << "the other end has given it up";
}

// ---- pairs ----

// Sends one array of its own and receives another, both ways at once; empty = it went well.
std::string swap_arrays(Channel& channel, size_t bytes, uint32_t sequence, Deadline deadline,
                        MessageUse use = MessageUse::kAllCopy) {
  const Bytes data = random_bytes(bytes, sequence);
  CollectSink sink(bytes);
  UseObserver observer(use);
  channel.post_recv(tag(sequence, 0), bytes, &sink);
  channel.post_send(tag(sequence, 0), data.data(), bytes, bytes, &observer, 0);
  while (!sink.done() || observer.cookies.empty() || channel.owes()) {
    const Expected<bool> moved = channel.progress();
    if (!moved) return moved.error().message();
    if (deadline.passed()) return "hangs";
  }
  return sink.bytes() == data ? "" : "wrong bytes";
}

ChannelOptions from_one_byte() {
  ChannelOptions options;
  options.direct_bytes = 1;
  return options;
}

// One rank is a process that may be read and may not read, or the other way round: found out once,
// and everything arrives.
TEST(ShmReads, APairOfWhichOneMayNotReadUsesTheRingsInThatDirection) {
  if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  Fd mine(ends[0]), theirs(ends[1]);
  const bool root = ::geteuid() == 0;
  // Root reads everybody, so the child is nobody then; else it hides from us. Whoever is hidden
  // opens the other one's memory, or is root's to open.
  const int self = root ? 1 : 0;
  const auto end_of = [](Fd fd, int rank) {
    auto tcp = make_tcp_stream(std::move(fd), "rank " + std::to_string(1 - rank));
    return make_shm_stream(std::move(tcp), rank, 1 - rank, 1 << 16, "here");
  };
  const auto meet = [](ByteStream& stream, Deadline deadline) {
    for (Expected<bool> ready = stream.ready();; ready = stream.ready()) {
      if (!ready) return ready.error().message();
      if (*ready) return std::string();
      if (deadline.passed()) return std::string("they come to no terms");
    }
  };
  const auto life = [&](Fd fd, int rank, ChannelStats* stats, PeerAbilities* abilities) {
    const Deadline deadline = Deadline::after_ms(20'000);
    std::unique_ptr<ByteStream> stream = end_of(std::move(fd), rank);
    std::string wrong = meet(*stream, deadline);
    if (!wrong.empty()) return wrong;
    *abilities = stream->peer_memory()->abilities();
    Channel channel(rank, 1 - rank, std::move(stream), from_one_byte());
    // The lower rank's outcome may be there after the first message only.
    for (uint32_t i = 1; i <= 3 && wrong.empty(); ++i) {
      wrong = swap_arrays(channel, 300'000, i, deadline);
    }
    *stats = channel.stats();
    return wrong;
  };
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const Fd reading(report[0]);
  Fd writing(report[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    mine.reset();
    const bool done =
        root ? ::setresuid(65534, 65534, 65534) == 0 : ::prctl(PR_SET_DUMPABLE, 0) == 0;
    ChannelStats stats;
    PeerAbilities abilities;
    std::string text = done ? life(std::move(theirs), 1 - self, &stats, &abilities) : "no rights";
    text += abilities.reads ? "|reads|" : "|does not|";
    text += abilities.no_reads + "|" + std::to_string(stats.direct_received);
    ::_exit(::write(writing.get(), text.data(), text.size()) < 0 ? 1 : 0);
  }
  writing.reset();
  theirs.reset();
  ChannelStats stats;
  PeerAbilities abilities;
  EXPECT_EQ(life(std::move(mine), self, &stats, &abilities), "");
  char buffer[2000];
  const ssize_t got = ::read(reading.get(), buffer, sizeof buffer);
  ::waitpid(pid, nullptr, 0);
  const std::string child(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_TRUE(abilities.maps);
  EXPECT_EQ(abilities.reads, root);
  if (root) {
    EXPECT_GE(stats.direct_received, 600'000u);
    EXPECT_EQ(stats.direct_sent, 0u);
    EXPECT_THAT(child, StartsWith("|does not|"));
    EXPECT_THAT(child, HasSubstr("Operation not permitted"));
    EXPECT_THAT(child, EndsWith("|0"));
  } else {
    EXPECT_THAT(abilities.no_reads, HasSubstr("Operation not permitted"));
    EXPECT_EQ(stats.direct_received, 0u);
    EXPECT_THAT(child, StartsWith("|reads|"));
  }
}

// Threads of one process see each other's memory anyway, and tools that watch them do not see
// through the system's copies.
TEST(ShmReads, RanksThatAreThreadsDoNotRead) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  std::vector<std::string> said(2);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&said, rank, fd = ends[rank]] {
      const int self = static_cast<int>(rank);
      auto stream = make_shm_stream(make_tcp_stream(Fd(fd), "the other one"), self, 1 - self,
                                    1 << 16, "here");
      const Deadline deadline = Deadline::after_ms(20'000);
      while (!stream->ready().value_or(true) && !deadline.passed()) std::this_thread::yield();
      PeerMemory* const memory = stream->peer_memory();
      if (memory == nullptr || memory->abilities().reads) said[rank] = "reads";
      Channel channel(self, 1 - self, std::move(stream), from_one_byte());
      for (uint32_t i = 1; i <= 3; ++i) said[rank] += swap_arrays(channel, 200'000, i, deadline);
      if (channel.stats().direct_received != 0) said[rank] += " not through the rings";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : said) EXPECT_EQ(text, "");
}

// From 512 KiB and from direct_bytes on, where all ranks only copy; with checksums on, and where
// nothing is to go directly, all bytes go through the rings.
TEST(ShmReads, ArraysOfTheProcessAreReadWhereThatPaysAndIsAllowed) {
  if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  constexpr size_t kLeast = 512 * 1024, kMore = 700'000;
  struct Row {
    const char* crc;
    const char* direct_bytes;
    uint64_t read;  // of the messages below
  };
  test::RowShare share;
  for (const Row& row : {Row{"0", "1", kLeast + kMore}, Row{"0", "600Ki", kMore},
                         Row{"0", "1Mi", 0}, Row{"1", "1", 0}, Row{"0", "0", 0}}) {
    for (const char* name : {"shm", "auto"}) {
      if (!share.runs(name)) continue;
      OpenedWorld world;
      world.options = *world.options.with("direct_bytes", row.direct_bytes, "test");
      world.options = *world.options.with("transport_crc", row.crc, "test");
      const auto life = [](int rank, std::unique_ptr<Group> group) {
        const Deadline deadline = Deadline::after_ms(20'000);
        Channel& channel = **group->channel(1 - rank, deadline);
        // The first one may leave before both know that they may be read.
        std::string wrong = swap_arrays(channel, 5'000'001, 1, deadline);
        const uint64_t before = group->stats().direct_received;
        wrong += swap_arrays(channel, kLeast, 2, deadline);
        wrong += swap_arrays(channel, kLeast - 1, 3, deadline);
        wrong += swap_arrays(channel, 4096, 4, deadline);
        wrong += swap_arrays(channel, kMore, 5, deadline);
        wrong += swap_arrays(channel, 1'000'000, 6, deadline, MessageUse::kUnknown);
        return wrong + std::to_string(group->stats().direct_received - before);
      };
      const std::vector<std::string> left = test::let_live(**find_transport(name, false), 2, world,
                                                           -1, life, Deadline::after_ms(60'000));
      for (const std::string& text : left) {
        EXPECT_EQ(text, std::to_string(row.read))
            << name << ", checksums " << row.crc << ", direct_bytes " << row.direct_bytes;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
