// How long an algorithm will take, from the schedules of all its ranks and the rates of a topology.
//
// Every message passes four things one after the other, and takes from each what it has to give:
// the sender's thread, the sender's port, the link, the receiver's port and thread. With a message
// of m bytes:
//   thread   message_ns + m / rank_bytes_per_s, where it is reduced m / reduce_bytes_per_s more
//   port     m / port_bytes_per_s
//   link     m / bytes_per_s, and alpha_ns from its first byte here to its first byte there
// They work at the same time, byte behind byte, so that the slowest of them counts; each serves one
// message after the other. A step begins when those that it comes after have ended. One that
// streams begins when kPipelinedBytes of its source are there and ends no earlier than its source:
// the term of pipelining. The result is when the last step of the last rank ends. For regular
// schedules this is the closed form
//   alpha * depth + bytes of the busiest rank / beta + reduced bytes / gamma
// with depth and bytes as in ScheduleCost (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of
// collective communication operations in MPICH, 2005, whose terms these are; o and the gap per byte
// are those of LogGP, A. Alexandrov et al., 1995). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule.h"
#include "collectives/topology.h"

namespace plumbline {

// What must have come of a message before a step that streams from it hands it on.
inline constexpr uint64_t kPipelinedBytes = 64 * 1024;
// Schedules of larger worlds are not built for a prediction.
inline constexpr int kMostPredictedRanks = 64;

// The schedules of all ranks, to be timed on several topologies.
class PredictedOperation {
 public:
  // `request` as find_algorithm left it; its rank and topology do not matter.
  PredictedOperation(const AlgorithmRow& algorithm, ScheduleRequest request);

  // ns. Nothing when the topology has no rates or is of another number of ranks, or a message would
  // go between ranks that are not connected.
  std::optional<double> time_ns(const Topology& topology) const;
  // Names differ, the ranks do the same: nobody can tell the two apart.
  bool operator==(const PredictedOperation& other) const { return steps_ == other.steps_; }

 private:
  struct Step {
    StepKind kind;
    bool reduces, streams;
    int rank, peer;
    double bytes;
    uint32_t waits_for = 0;                        // steps, and of a receive its message
    int64_t partner = -1;                          // of a send: the receive
    std::vector<uint32_t> after_end, after_start;  // who waits for it
    bool operator==(const Step&) const = default;
  };
  struct Clock;
  void add_rank(const Schedule& schedule, int rank, size_t elem_size);
  void match();

  int ranks_;
  std::vector<Step> steps_;
  std::vector<uint32_t> messages_;  // number of the message of each step
};

// The same for one question: request.topology, which must not be null.
std::optional<double> predict_ns(const AlgorithmRow& algorithm, const ScheduleRequest& request);

// Algorithms of request.op that can do it, by their full names and each once, in every shape that
// may be worth a try: all lists of radices whose product is the number of ranks, numbers from the
// least on by powers of two, rings in the order of request.topology too. The tree only where ranks
// are not all connected.
std::vector<std::string> candidates_for(const ScheduleRequest& request);

// The fastest candidate by request.topology, and its time; its parameter goes into the request.
// Nothing where it cannot be predicted.
struct PredictedChoice {
  const AlgorithmRow* algorithm = nullptr;
  double time_ns = 0;
};
std::optional<PredictedChoice> fastest_predicted(ScheduleRequest& request);

}  // namespace plumbline
