// Ranks that live as the ranks of a transport do: as processes of their own, which may be killed
// and stopped, or, where a transport joins threads only, as threads. Either way a rank opens its
// group through the transport's row, does what the test says, and leaves a text.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/fd.h"
#include "tests/support/opened_world.h"

namespace plumbline::test {

// What one rank does with its group, which it owns; what it returns is what it leaves.
using RankLife = std::function<std::string(int rank, std::unique_ptr<Group> group)>;

// Whether ranks of this transport are processes.
inline bool are_processes(const TransportRow& row) { return row.unavailable(false).empty(); }

// What of shared memory this process still holds: descriptors and mappings.
inline std::string shared_memory_held() {
  std::string held;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.find("memfd:") != std::string::npos) held += target + "\n";
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool shared =
        line.find("memfd:") != std::string::npos || line.find("/dev/shm/") != std::string::npos;
    if (shared) held += line + "\n";
  }
  return held;
}

inline std::string live(const RankLife& life, int rank, OpenedWorld& world, TransportClaim& claim) {
  Expected<std::unique_ptr<Group>> group = claim.open(world.spec(rank));
  return group ? life(rank, std::move(*group)) : "cannot open: " + group.error().message();
}

// Ranks that are processes. What is left of them is killed at the end.
class RankProcesses {
 public:
  RankProcesses(const RankLife& life, OpenedWorld& world, Claims claims) {
    for (size_t rank = 0; rank < claims.size(); ++rank) {
      int ends[2];
      EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      Fd reading(ends[0]), writing(ends[1]);
      const pid_t pid = ::fork();
      EXPECT_GE(pid, 0);
      if (pid == 0) be_child(life, static_cast<int>(rank), world, claims, writing);
      ranks_.push_back({pid, std::move(reading)});
    }
  }
  ~RankProcesses() {
    for (const Rank& rank : ranks_) ::kill(rank.pid, SIGKILL);
    for (const Rank& rank : ranks_) ::waitpid(rank.pid, nullptr, 0);
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // What it left, as far as it came until the deadline.
  std::string left_by(size_t rank, Deadline deadline) const {
    std::string text;
    char buffer[4096];
    while (true) {
      pollfd entry{ranks_[rank].left.get(), POLLIN, 0};
      if (::poll(&entry, 1, deadline.poll_timeout_ms(60'000)) <= 0) return text;
      const ssize_t got = ::read(entry.fd, buffer, sizeof buffer);
      if (got <= 0) return text;
      text.append(buffer, static_cast<size_t>(got));
    }
  }

 private:
  struct Rank {
    pid_t pid;
    Fd left;
  };

  [[noreturn]] static void be_child(const RankLife& life, int rank, OpenedWorld& world,
                                    Claims& claims, const Fd& writing) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a stopped one too, however the test ends
    for (size_t other = 0; other < claims.size(); ++other) {
      if (other != static_cast<size_t>(rank)) claims[other].reset();
    }
    std::string text = live(life, rank, world, *claims[static_cast<size_t>(rank)]);
    const std::string held = shared_memory_held();
    if (!held.empty()) text = "still holds " + held;
    const ssize_t wrote = ::write(writing.get(), text.data(), text.size());
    ::_exit(wrote == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }

  std::vector<Rank> ranks_;
};

// Lets `ranks` ranks live; returns what each left. Of one that was killed or stopped, and of one
// that has not ended at the deadline, that is nothing: at the end none is there any more.
inline std::vector<std::string> let_live(const TransportRow& row, int ranks, OpenedWorld& world,
                                         int victim, const RankLife& life, Deadline deadline) {
  std::string wrong;
  Claims claims = claim_all(row, ranks, world, wrong);
  EXPECT_EQ(wrong, "") << row.name;
  std::vector<std::string> left(claims.size());
  if (are_processes(row)) {
    const RankProcesses processes(life, world, std::move(claims));
    for (size_t rank = 0; rank < left.size(); ++rank) {
      if (rank != static_cast<size_t>(victim)) left[rank] = processes.left_by(rank, deadline);
    }
    return left;
  }
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < left.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { left[rank] = live(life, static_cast<int>(rank), world, *claims[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  return left;
}

}  // namespace plumbline::test
