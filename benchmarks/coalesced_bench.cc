// What one call for a list of arrays saves over a call for each:
//   build/coalesced_bench RANKS TRANSPORT ARRAYS BYTES [ROUNDS]
// Ranks are processes of this machine, arrays f32 of BYTES each, summed in place. Three ways take
// turns, in an order that rotates from round to round: an allreduce after another, all started
// before the first is waited for, and allreduce_coalesced. A time is that of the slowest rank for
// the whole list, the median of the rounds; a ratio is the median over rounds of a way's time over
// the list's in the same round, with the least and the most. The first sum of each way is checked.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/number.h"
#include "plumbline/communicator.h"

namespace {

using namespace plumbline;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::array<const char*, 3> kWays = {"one after another", "all started, then waited for",
                                              "one list"};
constexpr size_t kList = 2;
constexpr auto kPatience = 60s;
constexpr double kTurnSeconds = 0.05;  // of one way in one round

struct Question {
  int ranks;
  std::string transport;
  size_t arrays, elements;
  int rounds;
};

// Where a rank leaves its endpoint for the others; in memory that all processes share.
struct Slot {
  std::atomic<uint32_t> bytes;  // 0 = nothing yet
  char endpoint[4092];
};

ErrorOr<std::vector<std::string>> exchange(Slot* slots, int rank, int size,
                                           const std::string& mine) {
  Slot& own = slots[rank];
  if (mine.empty() || mine.size() > sizeof own.endpoint) {
    return Error{ErrorCode::kSystem, "an endpoint has no room in its slot", 0, {}, {}};
  }
  std::memcpy(own.endpoint, mine.data(), mine.size());
  own.bytes.store(static_cast<uint32_t>(mine.size()));
  std::vector<std::string> all;
  const auto until = Clock::now() + kPatience;
  while (static_cast<int>(all.size()) < size) {
    const Slot& next = slots[all.size()];
    if (next.bytes.load() != 0) {
      all.emplace_back(next.endpoint, next.bytes.load());
    } else if (Clock::now() > until) {
      return Error{ErrorCode::kTimeout, "a rank has left no endpoint", 0, {}, {}};
    } else {
      std::this_thread::sleep_for(1ms);
    }
  }
  return all;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "coalesced_bench: %s\n", why.c_str());
  std::_Exit(1);
}

void must(const Done& done) {
  if (!done) give_up(done.error().message());
}

class Rank {
 public:
  Rank(Communicator& group, const Question& question)
      : group_(group), arrays_(question.arrays, std::vector<float>(question.elements)) {}

  void run_once(size_t way) {
    if (way == kList) {
      return must(group_.allreduce_coalesced({arrays_.begin(), arrays_.end()}).wait(kPatience));
    }
    std::vector<Work> works;
    for (std::vector<float>& array : arrays_) {
      works.push_back(group_.allreduce(array));
      if (way == 0) must(works.back().wait(kPatience));
    }
    for (Work& work : works) must(work.wait(kPatience));
  }

  void check(size_t way) {
    for (std::vector<float>& array : arrays_) std::fill(array.begin(), array.end(), 1.0f);
    run_once(way);
    const auto sum = static_cast<float>(group_.size());
    for (const std::vector<float>& array : arrays_) {
      if (std::any_of(array.begin(), array.end(), [sum](float v) { return v != sum; })) {
        give_up(std::string(kWays[way]) + ": a wrong sum");
      }
    }
    for (std::vector<float>& array : arrays_) std::fill(array.begin(), array.end(), 0.0f);
  }

  // Microseconds for the list, of the slowest rank.
  double turn(size_t way, int repetitions) {
    must(group_.barrier().wait(kPatience));
    const auto begin = Clock::now();
    for (int i = 0; i < repetitions; ++i) run_once(way);
    return slowest(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() /
                   repetitions);
  }

  double slowest(double value) {
    std::vector<double> most = {value};
    must(group_.allreduce(most, RedOp::kMax).wait(kPatience));
    return most[0];
  }

 private:
  Communicator& group_;
  std::vector<std::vector<float>> arrays_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

void show(const Question& q, const std::array<std::vector<double>, kWays.size()>& times) {
  std::printf("%d ranks, %s, %zu arrays of %zu bytes, %d rounds\n", q.ranks, q.transport.c_str(),
              q.arrays, q.elements * sizeof(float), q.rounds);
  for (size_t way = 0; way < kWays.size(); ++way) {
    std::vector<double> ratios;
    for (size_t round = 0; round < times[way].size(); ++round) {
      ratios.push_back(times[way][round] / times[kList][round]);
    }
    std::printf("  %-30s %10.1f us  %6.2f times the list's (%.2f to %.2f)\n", kWays[way],
                median(times[way]), median(ratios), *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()));
  }
}

int run_rank(int number, const Question& q, Slot* slots) {
  Options options;
  options.settings["transport"] = q.transport;
  auto group = Communicator::connect(
      number, q.ranks,
      [&](const std::string& mine) { return exchange(slots, number, q.ranks, mine); }, options);
  if (!group) give_up(group.error().message());
  Rank rank(*group, q);
  std::array<int, kWays.size()> repetitions{};
  for (size_t way = 0; way < kWays.size(); ++way) {
    rank.check(way);
    const double us = rank.turn(way, 5);
    repetitions[way] = std::clamp(static_cast<int>(kTurnSeconds * 1e6 / us), 3, 20'000);
  }
  std::array<std::vector<double>, kWays.size()> times;
  for (int round = 0; round < q.rounds; ++round) {
    for (size_t i = 0; i < kWays.size(); ++i) {
      const size_t way = (i + static_cast<size_t>(round)) % kWays.size();
      times[way].push_back(rank.turn(way, repetitions[way]));
    }
  }
  if (number == 0) show(q, times);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int place, uint64_t least, uint64_t most) {
    return place < argc ? parse_whole<uint64_t>(argv[place], least, most) : std::nullopt;
  };
  const auto ranks = argument(1, 1, 64), arrays = argument(3, 1, 1 << 20);
  const auto array_bytes = argument(4, sizeof(float), uint64_t{1} << 32);
  const auto rounds = argc > 5 ? argument(5, 1, 10'000) : 9;
  if (!ranks || !arrays || !array_bytes || !rounds || argc > 6) {
    std::fprintf(stderr, "usage: coalesced_bench RANKS TRANSPORT ARRAYS BYTES [ROUNDS]\n");
    return 1;
  }
  const Question q{static_cast<int>(*ranks), argv[2], *arrays, *array_bytes / sizeof(float),
                   static_cast<int>(*rounds)};
  const size_t bytes = sizeof(Slot) * static_cast<size_t>(q.ranks);
  void* const shared =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) give_up("no memory");
  for (int number = 1; number < q.ranks; ++number) {
    const pid_t child = fork();
    if (child < 0) give_up("no process");
    if (child == 0) return run_rank(number, q, static_cast<Slot*>(shared));
  }
  int worst = run_rank(0, q, static_cast<Slot*>(shared));
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  return worst;
}
