// What benchmarks of the library's own calls stand on: ranks that are processes of this machine,
// how they find one another, and ways to do something that take turns. Linux.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/number.h"
#include "plumbline/communicator.h"

namespace plumbline::benchmarks {

using Clock = std::chrono::steady_clock;

inline constexpr std::chrono::seconds kPatience{60};
inline constexpr double kTurnSeconds = 0.05;  // of one way in one round

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::_Exit(1);
}

inline void must(const Done& done) {
  if (!done) give_up(done.error().message());
}

// A whole number of the command line; nothing where it is missing or cannot be.
inline std::optional<uint64_t> argument(int argc, char** argv, int place, uint64_t least,
                                        uint64_t most) {
  return place < argc ? parse_whole<uint64_t>(argv[place], least, most) : std::nullopt;
}

// Where ranks leave their endpoints for the others, for some groups of all of them; in memory that
// all processes share, so it is made before they are.
class Meeting {
 public:
  Meeting(int ranks, int groups) : ranks_(ranks) {
    const size_t bytes = sizeof(Slot) * static_cast<size_t>(ranks * groups);
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) give_up("no memory");
    slots_ = static_cast<Slot*>(at);
  }

  Communicator connect(int rank, int group, const Options& options) const {
    const auto meet = [&](const std::string& mine) {
      return exchange(slots_ + group * ranks_, rank, mine);
    };
    ErrorOr<Communicator> made = Communicator::connect(rank, ranks_, meet, options);
    if (!made) give_up(made.error().message());
    return std::move(*made);
  }

 private:
  struct Slot {
    std::atomic<uint32_t> bytes;  // 0 = nothing yet
    char endpoint[4092];
  };

  ErrorOr<std::vector<std::string>> exchange(Slot* slots, int rank, const std::string& mine) const {
    Slot& own = slots[rank];
    if (mine.empty() || mine.size() > sizeof own.endpoint) {
      return Error{ErrorCode::kSystem, "an endpoint has no room in its slot", 0, {}, {}};
    }
    std::memcpy(own.endpoint, mine.data(), mine.size());
    own.bytes.store(static_cast<uint32_t>(mine.size()));
    std::vector<std::string> all;
    const auto until = Clock::now() + kPatience;
    while (static_cast<int>(all.size()) < ranks_) {
      const Slot& next = slots[all.size()];
      if (next.bytes.load() != 0) {
        all.emplace_back(next.endpoint, next.bytes.load());
      } else if (Clock::now() > until) {
        return Error{ErrorCode::kTimeout, "a rank has left no endpoint", 0, {}, {}};
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    return all;
  }

  const int ranks_;
  Slot* slots_;  // stay until the process ends
};

// Runs `live` as each rank, in a process of its own; rank 0 is this one. What main() returns.
inline int run_ranks(int ranks, const std::function<void(int rank)>& live) {
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) give_up("no process");
    if (child > 0) continue;
    live(rank);
    return 0;
  }
  live(0);
  int worst = 0;
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  return worst;
}

// Called by all ranks: microseconds for `once`, of the slowest rank.
inline double turn(Communicator& group, int repetitions, const std::function<void()>& once) {
  must(group.barrier().wait(kPatience));
  const auto begin = Clock::now();
  for (int i = 0; i < repetitions; ++i) once();
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  std::vector<double> slowest = {took.count() / repetitions};
  must(group.allreduce(slowest, RedOp::kMax).wait(kPatience));
  return slowest[0];
}

// The same for `rounds` turns of each way, in an order that rotates from round to round: the times
// by way and round.
inline std::vector<std::vector<double>> take_turns(Communicator& group, size_t ways, int rounds,
                                                   const std::function<void(size_t way)>& once) {
  std::vector<int> repetitions;
  for (size_t way = 0; way < ways; ++way) {
    const double us = turn(group, 5, [&] { once(way); });
    repetitions.push_back(std::clamp(static_cast<int>(kTurnSeconds * 1e6 / us), 3, 20'000));
  }
  std::vector<std::vector<double>> times(ways);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ways; ++i) {
      const size_t way = (i + static_cast<size_t>(round)) % ways;
      times[way].push_back(turn(group, repetitions[way], [&] { once(way); }));
    }
  }
  return times;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// Of a way's times over another's in the same round: "1.52 (1.40 to 1.61)", the median, the least
// and the most.
inline std::string ratio_text(const std::vector<double>& times, const std::vector<double>& over) {
  std::vector<double> ratios;
  for (size_t round = 0; round < times.size(); ++round) {
    ratios.push_back(times[round] / over[round]);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  char text[100];
  std::snprintf(text, sizeof text, "%.2f (%.2f to %.2f)", median(ratios), *least, *most);
  return text;
}

}  // namespace plumbline::benchmarks
