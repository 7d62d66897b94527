// What reading out of the other ranks' processes saves over copying through rings:
//   build/own_arrays_bench RANKS OPERATION BYTES [ROUNDS]
// Ranks are processes of this machine that share memory, OPERATION is allgather or alltoall, over
// f32 arrays of the program's own, which no group has allocated. BYTES are those of the result; a
// message has a RANKS-th of them (by some algorithms more), and is read from 512 KiB on where the
// system allows that, else both ways are rings. Two groups of the same processes take turns, one
// with direct_bytes=0 and one with its default. A time is that of the slowest rank, the median of
// the rounds; the ratio is the median over rounds of the rings' time over the reads', with the
// least and the most; two groups that do the same may differ for a whole launch, so make several
// launches. The first result of each way is checked.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/rank_processes.h"

namespace {

using namespace plumbline;
using namespace plumbline::benchmarks;

constexpr std::array<const char*, 2> kWays = {"rings", "reads"};
constexpr int kRings = 0, kReads = 1;

struct Question {
  int ranks;
  std::string operation;
  size_t elements;  // of a rank's part
  int rounds;

  bool gathers() const { return operation == "allgather"; }
};

// Small whole numbers, which tell ranks and places apart.
float value(size_t rank, size_t index) { return static_cast<float>(rank * 1021 + index % 1021); }

class Rank {
 public:
  Rank(std::array<Communicator*, kWays.size()> groups, const Question& question)
      : groups_(groups), question_(question), ranks_(static_cast<size_t>(question.ranks)) {
    const auto mine = static_cast<size_t>(groups_[0]->rank());
    in_.resize(question.gathers() ? question.elements : ranks_ * question.elements);
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = value(mine, i);
    out_.resize(ranks_ * question.elements);
  }

  void run_once(size_t way) {
    Communicator& group = *groups_[way];
    must((question_.gathers() ? group.allgather(in_, out_) : group.alltoall(in_, out_))
             .wait(kPatience));
  }

  void check(size_t way) {
    std::fill(out_.begin(), out_.end(), -1.0f);
    run_once(way);
    const size_t part = question_.elements;
    // Of each rank's array this one gets all that there is, or its own part.
    const size_t first = question_.gathers() ? 0 : static_cast<size_t>(groups_[way]->rank()) * part;
    for (size_t i = 0; i < out_.size(); ++i) {
      if (out_[i] != value(i / part, first + i % part)) {
        give_up(std::string(kWays[way]) + ": a wrong element");
      }
    }
  }

 private:
  const std::array<Communicator*, kWays.size()> groups_;
  const Question& question_;
  const size_t ranks_;
  std::vector<float> in_, out_;
};

void show(const Question& q, const std::vector<std::vector<double>>& times) {
  const size_t part = q.elements * sizeof(float);
  std::printf("%d ranks, %s of %zu bytes, %zu from each rank, %d rounds\n", q.ranks,
              q.operation.c_str(), part * static_cast<size_t>(q.ranks), part, q.rounds);
  for (size_t way = 0; way < kWays.size(); ++way) {
    std::printf("  %-10s %10.1f us\n", kWays[way], median(times[way]));
  }
  std::printf("  rings / reads %s\n", ratio_text(times[kRings], times[kReads]).c_str());
}

void run_rank(int number, const Question& q, const Meeting& meeting) {
  Options options;
  options.settings["transport"] = "shm";
  Communicator reads = meeting.connect(number, kReads, options);
  options.settings["direct_bytes"] = "0";
  Communicator rings = meeting.connect(number, kRings, options);
  Rank rank({&rings, &reads}, q);
  for (size_t way = 0; way < kWays.size(); ++way) rank.check(way);
  const auto times =
      take_turns(rings, kWays.size(), q.rounds, [&](size_t way) { rank.run_once(way); });
  if (number == 0) show(q, times);
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = argument(argc, argv, 1, 2, 64);
  const std::string operation = argc > 2 ? argv[2] : "";
  const auto bytes =
      ranks ? argument(argc, argv, 3, *ranks * sizeof(float), uint64_t{1} << 32) : std::nullopt;
  const auto rounds = argc > 4 ? argument(argc, argv, 4, 1, 10'000) : 9;
  const bool known = operation == "allgather" || operation == "alltoall";
  if (!ranks || !known || !bytes || !rounds || argc > 5) {
    std::fprintf(stderr, "usage: own_arrays_bench RANKS allgather|alltoall BYTES [ROUNDS]\n");
    return 1;
  }
  const Question q{static_cast<int>(*ranks), operation, *bytes / sizeof(float) / *ranks,
                   static_cast<int>(*rounds)};
  const Meeting meeting(q.ranks, static_cast<int>(kWays.size()));
  return run_ranks(q.ranks, [&](int number) { run_rank(number, q, meeting); });
}
