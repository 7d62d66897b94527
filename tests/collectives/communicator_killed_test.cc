// A rank that is a process and is killed while groups that were split live on: those it was in name
// it in time, by both numbers, and the others do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/fd.h"
#include "tests/support/communicators.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int kMeshRanks = 4, kVictim = 2;

// Texts through a pipe, behind their length.
void write_text(int fd, const std::string& text) {
  const auto bytes = static_cast<uint32_t>(text.size());
  EXPECT_EQ(::write(fd, &bytes, sizeof bytes), ssize_t{sizeof bytes});
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string read_text(int fd) {
  uint32_t bytes = 0;
  if (::read(fd, &bytes, sizeof bytes) != ssize_t{sizeof bytes}) return {};
  std::string text(bytes, '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t got = ::read(fd, text.data() + at, text.size() - at);
    if (got <= 0) return {};
    at += static_cast<size_t>(got);
  }
  return text;
}

struct MeshOf4 {
  explicit MeshOf4(Communicator& all) {
    for (auto* part : {&row, &column}) {
      auto made = all.split(part == &row ? all.rank() / 2 : all.rank() % 2);
      EXPECT_TRUE(made) << (made ? "" : made.error().message());
      if (made) *part = std::move(*made);
    }
    expect_done(all.barrier().wait(kPatience));
  }
  std::optional<Communicator> row, column;
};

Options options_of(const char* transport) {
  Options options;
  options.settings = {{"transport", transport}, {"watchdog_timeout_ms", "60s"}};
  return options;
}

// The victim, until it is killed. `up` and `down`: to and from the test.
[[noreturn]] void be_victim(const char* transport, int up, int down) {
  const auto exchange = [&](const std::string& mine) -> ErrorOr<std::vector<std::string>> {
    write_text(up, mine);
    std::vector<std::string> all;
    for (int rank = 0; rank < kMeshRanks; ++rank) all.push_back(read_text(down));
    return all;
  };
  auto group = Communicator::connect(kVictim, kMeshRanks, exchange, options_of(transport));
  if (group) {
    const MeshOf4 mesh(*group);
    write_text(up, "ready");
    read_text(down);  // for ever
  }
  ::_exit(1);
}

class Victim {
 public:
  explicit Victim(const char* transport) {
    std::array<int, 2> up{}, down{};
    EXPECT_EQ(::pipe(up.data()), 0);
    EXPECT_EQ(::pipe(down.data()), 0);
    from_ = Fd(up[0]);
    to_ = Fd(down[1]);
    Fd up_end(up[1]), down_end(down[0]);
    pid_ = ::fork();
    EXPECT_GE(pid_, 0);
    if (pid_ == 0) be_victim(transport, up_end.get(), down_end.get());
  }
  ~Victim() { kill(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  std::string says() const { return read_text(from_.get()); }
  void hears(const std::string& text) const { write_text(to_.get(), text); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  Fd from_, to_;
  pid_t pid_ = -1;
};

// What a survivor finds in a group: it works on, or names the victim.
void expect_alive(Communicator& group, bool alive) {
  std::vector<int32_t> data(100'000, 1);
  const Deadline deadline = Deadline::after_ms(15'000);
  const Done done = group.allreduce(data).wait();
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(static_cast<bool>(done), alive) << (done ? "" : done.error().message());
  if (alive || done) return;
  const std::vector<int>& parents = group.parent_ranks();
  const int number = parents[0] == kVictim ? 0 : 1;
  EXPECT_THAT(done.error().message(),
              HasSubstr("rank " + std::to_string(number) + " is the parent's rank 2"));
}

TEST(SplitKilled, OnlyTheGroupsOfAKilledRankEnd) {
  for (const char* transport : {"tcp", "shm"}) {
    SCOPED_TRACE(transport);
    Victim victim(transport);
    Notice notice(kMeshRanks);
    std::atomic<int> ready{0};  // survivors
    std::thread messenger([&] {
      const auto all = notice.exchange(kVictim, victim.says());
      ASSERT_TRUE(all);
      for (const std::string& endpoint : *all) victim.hears(endpoint);
      EXPECT_EQ(victim.says(), "ready");
      const Deadline patience = Deadline::after_ms(15'000);
      while (ready < kMeshRanks - 1 && !patience.passed()) std::this_thread::sleep_for(1ms);
      victim.kill();
    });
    std::vector<std::thread> survivors;
    for (const int rank : {0, 1, 3}) {
      survivors.emplace_back([&, rank] {
        auto all = Communicator::connect(
            rank, kMeshRanks, [&](const std::string& mine) { return notice.exchange(rank, mine); },
            options_of(transport));
        ASSERT_TRUE(all) << all.error().message();
        MeshOf4 mesh(*all);
        ++ready;
        ASSERT_TRUE(mesh.row && mesh.column);
        const Deadline deadline = Deadline::after_ms(15'000);
        while (!all->failure() && !deadline.passed()) std::this_thread::sleep_for(1ms);
        ASSERT_TRUE(all->failure());
        expect_alive(*mesh.row, rank != 3);
        expect_alive(*mesh.column, rank != 0);
      });
    }
    for (std::thread& thread : survivors) thread.join();
    messenger.join();
  }
}

}  // namespace
}  // namespace plumbline
