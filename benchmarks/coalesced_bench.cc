// What one call for a list of arrays saves over a call for each:
//   build/coalesced_bench RANKS TRANSPORT ARRAYS BYTES [ROUNDS]
// Ranks are processes of this machine, arrays f32 of BYTES each, summed in place. Three ways take
// turns, in an order that rotates from round to round: an allreduce after another, all started
// before the first is waited for, and allreduce_coalesced. A time is that of the slowest rank for
// the whole list, the median of the rounds; a ratio is the median over rounds of a way's time over
// the list's in the same round, with the least and the most. The first sum of each way is checked.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/rank_processes.h"

namespace {

using namespace plumbline;
using namespace plumbline::benchmarks;

constexpr std::array<const char*, 3> kWays = {"one after another", "all started, then waited for",
                                              "one list"};
constexpr size_t kList = 2;

struct Question {
  int ranks;
  std::string transport;
  size_t arrays, elements;
  int rounds;
};

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

 private:
  Communicator& group_;
  std::vector<std::vector<float>> arrays_;
};

void show(const Question& q, const std::vector<std::vector<double>>& times) {
  std::printf("%d ranks, %s, %zu arrays of %zu bytes, %d rounds\n", q.ranks, q.transport.c_str(),
              q.arrays, q.elements * sizeof(float), q.rounds);
  for (size_t way = 0; way < kWays.size(); ++way) {
    const std::string ratio = ratio_text(times[way], times[kList]);
    std::printf("  %-30s %10.1f us  %s times the list's\n", kWays[way], median(times[way]),
                ratio.c_str());
  }
}

void run_rank(int number, const Question& q, const Meeting& meeting) {
  Options options;
  options.settings["transport"] = q.transport;
  Communicator group = meeting.connect(number, 0, options);
  Rank rank(group, q);
  for (size_t way = 0; way < kWays.size(); ++way) rank.check(way);
  const auto times =
      take_turns(group, kWays.size(), q.rounds, [&](size_t way) { rank.run_once(way); });
  if (number == 0) show(q, times);
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = argument(argc, argv, 1, 1, 64), arrays = argument(argc, argv, 3, 1, 1 << 20);
  const auto array_bytes = argument(argc, argv, 4, sizeof(float), uint64_t{1} << 32);
  const auto rounds = argc > 5 ? argument(argc, argv, 5, 1, 10'000) : 9;
  if (!ranks || !arrays || !array_bytes || !rounds || argc > 6) {
    std::fprintf(stderr, "usage: coalesced_bench RANKS TRANSPORT ARRAYS BYTES [ROUNDS]\n");
    return 1;
  }
  const Question q{static_cast<int>(*ranks), argv[2], *arrays, *array_bytes / sizeof(float),
                   static_cast<int>(*rounds)};
  const Meeting meeting(q.ranks, 1);
  return run_ranks(q.ranks, [&](int number) { run_rank(number, q, meeting); });
}
