// The table of algorithms and the choice that "auto" makes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "collectives/predict.h"
#include "collectives/schedule.h"
#include "core/text.h"

namespace plumbline {

// The build functions, in algorithms/.
using Build = Schedule(const ScheduleRequest& request);
Build build_allreduce_direct, build_allreduce_gather_reduce, build_allreduce_serial_star;
Build build_allreduce_recursive_doubling, build_allreduce_ring;
Build build_allreduce_exchange, build_allreduce_halving_doubling, build_allreduce_double_tree;
Build build_reduce_scatter_direct, build_reduce_scatter_ring;
Build build_reduce_scatter_recursive_halving;
Build build_allgather_ring, build_allgather_recursive_doubling, build_allgather_bruck;
Build build_allgather_direct, build_allgather_exchange;
Build build_broadcast_binomial, build_broadcast_chain;
Build build_broadcast_scatter_allgather, build_broadcast_double_tree;
Build build_reduce_binomial, build_reduce_chain;
Build build_reduce_scatter_gather, build_reduce_double_tree;
Build build_gather_direct, build_scatter_direct, build_alltoall_direct;
Build build_gather_binomial, build_scatter_binomial;
Build build_alltoall_pairwise, build_alltoall_bruck;
Build build_barrier_dissemination;
Build build_allreduce_tree, build_reduce_scatter_tree, build_allgather_tree, build_broadcast_tree;
Build build_reduce_tree, build_gather_tree, build_scatter_tree, build_alltoall_tree;
Build build_barrier_tree;
Build build_pingpong_direct, build_stream_direct, build_bidirectional_direct, build_sendrecv_direct;

namespace {

std::string any_size(const ScheduleRequest&) { return {}; }
std::string two_ranks(const ScheduleRequest& q) {
  return q.size == 2 ? "" : "needs exactly two ranks";
}
std::string power_of_two(const ScheduleRequest& q) {
  return std::has_single_bit(static_cast<unsigned>(q.size)) ? ""
                                                            : "needs a power-of-two world size";
}
std::string radices_fit(const ScheduleRequest& q) {
  int64_t product = 1;
  for (const int radix : radices_of(q)) {
    product *= radix;
    if (product > q.size) break;
  }
  if (product == q.size) return {};
  if (q.size == 1) return "needs no radices: name the algorithm alone";
  return fmt::format("needs radices whose product is the number of ranks, such as {}",
                     fitting_radices(q.size));
}

std::string order_fits(const ScheduleRequest& q) {
  const std::vector<int>& order = q.parameter.order;
  if (order.empty() || is_order_of(order, static_cast<size_t>(q.size))) return {};
  if (q.size == 1) return "needs no order: name the algorithm alone";
  constexpr int kMostShown = 16;
  const std::string such = q.size > kMostShown
                               ? fmt::format(" from 0 to {}", q.size - 1)
                               : ", such as " + order_text(ring_order(q.size, apart_of(q)));
  return "needs an order of all ranks" + such;
}

std::string reaches_all(const ScheduleRequest& q) {
  if (apart_of(q).empty() || spanning_tree(q.size, apart_of(q))) return {};
  return "needs a way from rank 0 to every other";
}

constexpr ParameterRow kRadices = {
    ParameterForm::kRadices, "RADICES",
    "sizes of the groups of each round, nearest ranks first, such as 4x2; their product is the "
    "number of ranks, and what is usual are its prime factors"};
constexpr ParameterRow kRings = {
    ParameterForm::kNumber,
    "RINGS:ORDER",
    "2: half of the data goes round the other way; the order of the ranks in the ring, such as "
    "0-2-1-3; or both, such as 2:0-2-1-3",
    1,
    2,
    1,
    true};
constexpr ParameterRow kWindow = {
    ParameterForm::kNumber, "WINDOW", "so many exchanges at once, usually 4", 1, 1024, 4};

constexpr const char* kTreeHelp = "along one tree of ranks that are connected, over those between";
constexpr const char* kTreeSource = "folklore: a spanning tree, breadth first from rank 0";
constexpr const char* kPatarasuk =
    "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009";
constexpr const char* kTwoTrees =
    "Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and "
    "scan, 2009";
constexpr const char* kRabenseifner =
    "Rabenseifner, Optimization of collective reduction operations, 2004";
constexpr const char* kThakur =
    "Thakur, Rabenseifner and Gropp, Optimization of collective communication in MPICH, 2005";
constexpr const char* kVanDeGeijn = "van de Geijn, On global combine operations, 1994";
constexpr const char* kInterCom =
    "Barnett, Shuler, van de Geijn, Gupta, Payne and Watts, Interprocessor collective "
    "communication library (InterCom), 1994";
constexpr const char* kBruck =
    "Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all, 1997";

}  // namespace

// A function, so that the table exists before anybody's static initialisation asks for it.
const std::vector<AlgorithmRow>& algorithm_table() {
  static const std::vector<AlgorithmRow> table = {
      {Op::kAllreduce, "gather_reduce", "all arrays to rank 0, the result back to all",
       "folklore: a star, two messages deep", any_size, build_allreduce_gather_reduce},
      {Op::kAllreduce, "direct", "two ranks swap their whole arrays and both reduce",
       "folklore: one message each way is the least latency", two_ranks, build_allreduce_direct},
      {Op::kAllreduce, "recursive_doubling", "log2(n) swaps of whole arrays, any number of ranks",
       kThakur, any_size, build_allreduce_recursive_doubling},
      {Op::kAllreduce, "ring", "reduce-scatter and allgather around a ring, pipelined", kPatarasuk,
       order_fits, build_allreduce_ring, kRings},
      {Op::kAllreduce, "exchange", "whole arrays to all others of a group, group after group",
       "Ruefenacht, Bull and Booth, Generalisation of recursive doubling for AllReduce, 2017",
       radices_fit, build_allreduce_exchange, kRadices},
      {Op::kAllreduce, "halving_doubling", "blocks to their owners group by group, and back to all",
       kRabenseifner, radices_fit, build_allreduce_halving_doubling, kRadices},
      {Op::kAllreduce, "double_tree",
       "halves up and down two trees, leaves of one inside the other", kTwoTrees, any_size,
       build_allreduce_double_tree},
      {Op::kAllreduce, "serial_star",
       "rank 0 takes array after array, and sends one after the other",
       "MCCL: what it does, to compare with", any_size, build_allreduce_serial_star},
      {Op::kAllreduce, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_allreduce_tree},

      {Op::kReduceScatter, "ring", "each part collects one contribution per hop, pipelined",
       kPatarasuk, order_fits, build_reduce_scatter_ring, kRings},
      {Op::kReduceScatter, "direct", "every part straight to its owner, reduced in rank order",
       "folklore: pairwise exchange, one message deep", any_size, build_reduce_scatter_direct},
      {Op::kReduceScatter, "recursive_halving", "blocks to their owners, group by group",
       kRabenseifner, radices_fit, build_reduce_scatter_recursive_halving, kRadices},
      {Op::kReduceScatter, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all,
       build_reduce_scatter_tree},

      {Op::kAllgather, "ring", "each part visits every rank, pipelined", kThakur, order_fits,
       build_allgather_ring, kRings},
      {Op::kAllgather, "recursive_doubling", "log2(n) swaps of doubling size, n a power of two",
       kThakur, power_of_two, build_allgather_recursive_doubling},
      {Op::kAllgather, "bruck", "ceil(log2 n) rounds for any number of ranks", kBruck, any_size,
       build_allgather_bruck},
      {Op::kAllgather, "direct", "every part straight to all others",
       "folklore: pairwise exchange, one message deep", any_size, build_allgather_direct},
      {Op::kAllgather, "exchange", "all parts so far to all others of a group, group after group",
       kThakur, radices_fit, build_allgather_exchange, kRadices},
      {Op::kAllgather, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_allgather_tree},

      {Op::kBroadcast, "binomial", "a tree of depth log2(n), every byte forwarded at once",
       "folklore: binomial tree", any_size, build_broadcast_binomial},
      {Op::kBroadcast, "chain", "rank to rank, every byte forwarded at once",
       "folklore: pipelined chain, one transfer time for any number of ranks", any_size,
       build_broadcast_chain},
      {Op::kBroadcast, "scatter_allgather", "a part to each rank, which hands it to all others",
       kInterCom, any_size, build_broadcast_scatter_allgather},
      {Op::kBroadcast, "double_tree", "halves down two trees, leaves of one inside the other",
       kTwoTrees, any_size, build_broadcast_double_tree},
      {Op::kBroadcast, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_broadcast_tree},

      {Op::kReduce, "binomial", "a tree of depth log2(n) towards the root",
       "folklore: binomial tree", any_size, build_reduce_binomial},
      {Op::kReduce, "chain", "rank to rank towards the root, pipelined",
       "folklore: pipelined chain, one transfer time for any number of ranks", any_size,
       build_reduce_chain},
      {Op::kReduce, "scatter_gather", "a part to each rank, which reduces it for the root",
       kVanDeGeijn, any_size, build_reduce_scatter_gather},
      {Op::kReduce, "double_tree", "halves up two trees, leaves of one inside the other", kTwoTrees,
       any_size, build_reduce_double_tree},
      {Op::kReduce, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_reduce_tree},

      {Op::kGather, "direct", "every part straight to the root", "folklore", any_size,
       build_gather_direct},
      {Op::kGather, "binomial", "a tree of depth log2(n), parts of subtrees together",
       "folklore: binomial tree", any_size, build_gather_binomial},
      {Op::kGather, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_gather_tree},
      {Op::kScatter, "direct", "every part straight from the root", "folklore", any_size,
       build_scatter_direct},
      {Op::kScatter, "binomial", "a tree of depth log2(n), parts of subtrees together",
       "folklore: binomial tree", any_size, build_scatter_binomial},
      {Op::kScatter, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_scatter_tree},
      {Op::kAlltoall, "direct", "every part straight to its place, staggered",
       "folklore: pairwise exchange, in hop k to the rank k further", any_size,
       build_alltoall_direct},
      {Op::kAlltoall, "pairwise", "as direct, but only some exchanges at once",
       "folklore: pairwise exchange with a window", any_size, build_alltoall_pairwise, kWindow},
      {Op::kAlltoall, "bruck", "ceil(log2 n) rounds, half of the parts in each", kBruck, any_size,
       build_alltoall_bruck},
      {Op::kAlltoall, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_alltoall_tree},
      {Op::kBarrier, "dissemination", "ceil(log2 n) rounds of empty messages",
       "Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988", any_size,
       build_barrier_dissemination},
      {Op::kBarrier, kTreeAlgorithm, kTreeHelp, kTreeSource, reaches_all, build_barrier_tree},
      {Op::kPingpong, "direct", "rank 0 to 1, and back when all has arrived", "folklore", any_size,
       build_pingpong_direct},
      {Op::kStream, "direct", "rank 0 to 1, then an empty message back", "folklore", any_size,
       build_stream_direct},
      {Op::kBidirectional, "direct", "both ways between ranks 0 and 1 at once", "folklore",
       any_size, build_bidirectional_direct},
      {Op::kSendrecv, "direct", "to the right neighbour, from the left one", "folklore", any_size,
       build_sendrecv_direct},
  };
  return table;
}

bool is_tree(const AlgorithmRow& algorithm) {
  return std::string_view(algorithm.name) == kTreeAlgorithm;
}

namespace {

// What auto picks, first match of (op, ranks, S in bytes) that is supported; no match = the first
// supported algorithm of the op. `small` marks the limit that SMALL_MSG_THRESHOLD overrides.
struct AutoRow {
  Op op;
  int min_ranks, max_ranks;
  uint64_t max_bytes;  // S of core/op.h
  bool small;
  const char* algorithm;  // with its parameter, where it has one
};
constexpr int kManyRanks = std::numeric_limits<int>::max();
constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();
// Measured with `plumbline coll OP --algorithm NAME -b 1K -e 1M -f 4 -n 200` over loopback TCP on a
// 16-core machine with 2, 4 and 8 ranks, 2026-11-20 (docs/performance.md): each limit is the last
// size at which the row's algorithm was not slower. Broadcast and reduce: back-to-back times favour
// the chain, because its root runs ahead; one small operation by itself is over sooner in a tree.
// The rows of allreduce: over TCP and shared memory, 3 to 16 ranks, 2026-11-25. Those that begin
// with 8, 12 and 16 ranks: over both, 4 to 16 ranks, 2026-11-27; not with fewer, because on a
// network that is slower than loopback each round costs more.
constexpr AutoRow kAuto[] = {
    {Op::kAllreduce, 2, 2, 128 << 10, true, "direct"},
    {Op::kAllreduce, 3, kManyRanks, 32 << 10, true, "recursive_doubling"},
    {Op::kAllreduce, 3, kManyRanks, 128 << 10, false, "halving_doubling"},
    {Op::kAllreduce, 8, kManyRanks, 256 << 10, false, "halving_doubling"},
    {Op::kAllreduce, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kReduceScatter, 8, kManyRanks, 128 << 10, true, "recursive_halving"},
    {Op::kReduceScatter, 3, kManyRanks, 64 << 10, true, "direct"},
    {Op::kReduceScatter, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kAllgather, 3, kManyRanks, 256 << 10, true, "recursive_doubling"},
    {Op::kAllgather, 3, kManyRanks, 64 << 10, true, "bruck"},
    {Op::kAllgather, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kBroadcast, 4, kManyRanks, 64 << 10, true, "binomial"},
    {Op::kBroadcast, 2, kManyRanks, kAnyBytes, false, "chain"},
    {Op::kReduce, 4, kManyRanks, 64 << 10, true, "binomial"},
    {Op::kReduce, 2, kManyRanks, kAnyBytes, false, "chain"},
    {Op::kScatter, 16, kManyRanks, 64 << 10, true, "binomial"},
    {Op::kAlltoall, 12, kManyRanks, 16 << 10, true, "bruck"},
};

// What auto picks for 3 ranks and more where every two have a cable of their own, from more than so
// many bytes on: one message over each of a rank's cables at once, where a ring uses one of them.
// Four hosts, cables of 100 Mbit/s, 1 KiB to 8 MiB, 2026-11-27 (docs/performance.md, "A mesh of
// cables"). Smaller arrays are a matter of rounds and messages, as anywhere.
struct MeshRow {
  Op op;
  uint64_t above_bytes;  // S of core/op.h
  const char* algorithm;
  bool one_group;  // with the number of ranks for its radix
};
constexpr int kLeastMesh = 3;
constexpr MeshRow kMesh[] = {
    {Op::kAllreduce, 32 << 10, "halving_doubling", true},
    {Op::kReduceScatter, 32 << 10, "direct", false},
    {Op::kAllgather, 32 << 10, "direct", false},
    {Op::kBroadcast, 64 << 10, "scatter_allgather", false},
    {Op::kReduce, 64 << 10, "scatter_gather", false},
};

std::string over_own_cables(const ScheduleRequest& q, uint64_t bytes, uint64_t small_bytes) {
  if (!q.own_cables || q.size < kLeastMesh) return {};
  for (const MeshRow& row : kMesh) {
    if (row.op != q.op || bytes <= (small_bytes > 0 ? small_bytes : row.above_bytes)) continue;
    return row.one_group ? fmt::format("{}{}{}", row.algorithm, kParameterMark, q.size)
                         : row.algorithm;
  }
  return {};
}

// The first row of the operation with this name ("" = any) that can do it; its parameter goes into
// the request.
const AlgorithmRow* supported(const std::string& name, ScheduleRequest& request) {
  const SplitName split = split_algorithm(name);
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op != request.op || (!name.empty() && split.base != row.name)) continue;
    const Expected<AlgorithmParameter> parameter = read_parameter(row.parameter, split);
    request.parameter = parameter.value_or(AlgorithmParameter{});
    if (parameter && row.unsupported(request).empty()) return &row;
  }
  return nullptr;
}

// S of core/op.h.
uint64_t bytes_of(const ScheduleRequest& q) {
  const uint64_t ranks = row(q.op).per_rank_share ? static_cast<uint64_t>(q.size) : 1;
  return q.count * q.elem_size * ranks;
}

// Two ranks between which the algorithm would send although they are not connected.
std::optional<std::pair<int, int>> missing_link(const AlgorithmRow& algorithm, ScheduleRequest q) {
  const RankPairs& pairs = apart_of(q);
  if (pairs.empty() || is_tree(algorithm)) return std::nullopt;
  const std::set<std::pair<int, int>> apart(pairs.begin(), pairs.end());
  // More segments go the same ways.
  q.segment_bytes = std::numeric_limits<uint64_t>::max();
  for (q.rank = 0; q.rank < q.size; ++q.rank) {
    for (const Step& step : algorithm.build(q).steps) {
      if (step.kind == StepKind::kLocal) continue;
      const std::pair<int, int> pair = std::minmax(q.rank, step.peer);
      if (apart.count(pair) != 0) return pair;
    }
  }
  return std::nullopt;
}

// What a ring is for where some are not connected: hosts joined by cables, each of which carries as
// much in both directions at once. With two rings all of that is used, and a tree has fewer hops
// (docs/performance.md, "A ring of cables"). Both go by the order of the cables.
std::string between_cables(const std::string& name, uint64_t bytes, uint64_t small_bytes) {
  constexpr uint64_t kSmall = 32 << 10;
  if (name != "ring") return name;
  return bytes <= (small_bytes > 0 ? small_bytes : kSmall) ? kTreeAlgorithm : "ring:2";
}

const AlgorithmRow* choose_by_thresholds(ScheduleRequest& q, uint64_t small_bytes) {
  const uint64_t bytes = bytes_of(q);
  if (const std::string name = over_own_cables(q, bytes, small_bytes); !name.empty()) {
    const AlgorithmRow* found = supported(name, q);
    if (found != nullptr && !missing_link(*found, q)) return found;
  }
  for (const AutoRow& rule : kAuto) {
    const uint64_t limit = rule.small && small_bytes > 0 ? small_bytes : rule.max_bytes;
    if (rule.op != q.op || q.size < rule.min_ranks || q.size > rule.max_ranks) continue;
    if (bytes > limit) continue;
    const bool cables = !apart_of(q).empty();
    const AlgorithmRow* found =
        supported(cables ? between_cables(rule.algorithm, bytes, small_bytes) : rule.algorithm, q);
    if (found != nullptr && !missing_link(*found, q)) return found;
  }
  const AlgorithmRow* first = supported("", q);
  if (first == nullptr || !missing_link(*first, q)) return first;
  const AlgorithmRow* tree = supported(kTreeAlgorithm, q);
  return tree != nullptr ? tree : first;
}

const AlgorithmRow* choose_tuned(ScheduleRequest& q) {
  if (q.tuned == nullptr) return nullptr;
  const uint64_t bytes = bytes_of(q);
  for (const TunedRange& range : *q.tuned) {
    if (range.op != q.op || bytes < range.from_bytes || bytes > range.to_bytes) continue;
    return supported(range.algorithm, q);
  }
  return nullptr;
}

// A prediction is off by so much now and then: what promises less than this is no reason to leave
// what was measured, if elsewhere.
constexpr double kClearlyFaster = 0.85;

// What the model promises to be clearly faster than the usual choice.
const AlgorithmRow* choose_predicted(const AlgorithmRow& usual, ScheduleRequest& q) {
  if (q.topology == nullptr) return nullptr;
  ScheduleRequest better = q;
  const std::optional<PredictedChoice> fastest = fastest_predicted(better);
  if (!fastest) return nullptr;
  // Nothing: it cannot be done on this topology.
  const std::optional<double> time = predict_ns(usual, q);
  if (time && fastest->time_ns > kClearlyFaster * *time) return nullptr;
  q.parameter = std::move(better.parameter);
  return fastest->algorithm;
}

const AlgorithmRow* choose(ScheduleRequest& q, uint64_t small_bytes) {
  if (small_bytes == 0) {
    const AlgorithmRow* found = choose_tuned(q);
    if (found != nullptr && !missing_link(*found, q)) return found;
  }
  const AlgorithmRow* usual = choose_by_thresholds(q, small_bytes);
  if (small_bytes > 0 || usual == nullptr) return usual;
  const AlgorithmRow* predicted = choose_predicted(*usual, q);
  return predicted != nullptr ? predicted : usual;
}

// What would work where an order that was asked for does not: the usual one, if it is connected.
std::string connected_order(const AlgorithmRow& found, ScheduleRequest q) {
  if (q.parameter.order.empty()) return {};
  q.parameter.order = ring_order(q.size, apart_of(q));
  return missing_link(found, q) ? "" : full_name(found, q) + ", ";
}

// What was chosen or named, if its ranks are connected.
Expected<const AlgorithmRow*> if_connected(const AlgorithmRow& found, const ScheduleRequest& q) {
  const auto missing = missing_link(found, q);
  if (!missing) return &found;
  const bool relays =
      std::any_of(algorithm_table().begin(), algorithm_table().end(),
                  [&q](const AlgorithmRow& row) { return row.op == q.op && is_tree(row); });
  const std::string in_its_place = relays ? connected_order(found, q) : "";
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} of {} sends between ranks {} and {}, which are not connected",
                          full_name(found, q), to_string(q.op), missing->first, missing->second),
              relays ? fmt::format("use {}algorithm auto, which sends over those between, or tree",
                                   in_its_place)
                     : "choose hosts that are all connected");
}

std::string names_of(Op op) {
  std::string names = "auto";
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op == op) names += std::string(", ") + row.name;
  }
  return names;
}

}  // namespace

std::vector<int> radices_of(const ScheduleRequest& q) {
  return q.parameter.radices.empty() ? prime_factors(q.size) : q.parameter.radices;
}

std::string full_name(const AlgorithmRow& algorithm, const ScheduleRequest& request) {
  const std::string name = algorithm.name;
  const int number = request.parameter.number;
  switch (algorithm.parameter.form) {
    case ParameterForm::kNone:
      break;
    case ParameterForm::kRadices:
      return request.size == 1 ? name : name + ":" + radices_text(radices_of(request));
    case ParameterForm::kNumber: {
      const std::vector<int>& order = request.parameter.order;
      std::string text = name;
      if (number != 0 && number != algorithm.parameter.usual)
        text += fmt::format("{}{}", kParameterMark, number);
      return order.empty() ? text : text + kParameterMark + order_text(order);
    }
  }
  return name;
}

Expected<const AlgorithmRow*> find_algorithm(const std::string& name, ScheduleRequest& request,
                                             uint64_t small_bytes) {
  const std::string op = to_string(request.op);
  request.parameter = {};
  if (request.size < row(request.op).min_ranks) {
    return fail(ErrorCode::kUnsupported,
                op + " needs at least " + std::to_string(row(request.op).min_ranks) +
                    " ranks, this world has " + std::to_string(request.size));
  }
  if (name == "auto") {
    const AlgorithmRow* const chosen = choose(request, small_bytes);
    // What has no tree may need a connection that is missing.
    if (chosen == nullptr || !row(request.op).point_to_point) return chosen;
    return if_connected(*chosen, request);
  }
  const SplitName split = split_algorithm(name);
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op != request.op || split.base != row.name) continue;
    const Expected<AlgorithmParameter> parameter = read_parameter(row.parameter, split);
    if (!parameter) return fail(parameter.error());
    request.parameter = *parameter;
    const std::string reason = row.unsupported(request);
    if (reason.empty()) return if_connected(row, request);
    return fail(ErrorCode::kUnsupported, "algorithm " + in_quotes(name) + " of " + op + " " +
                                             reason + ", this world has " +
                                             std::to_string(request.size));
  }
  return fail(ErrorCode::kConfig, "unknown algorithm " + in_quotes(name) + " of " + op,
              "use one of: " + names_of(request.op));
}

std::string algorithm_malformed(const std::string& name) {
  const SplitName split = split_algorithm(name);
  if (!split.has_parameter) return {};
  std::string reason = in_quotes(split.base) + " takes no parameter";
  for (const AlgorithmRow& row : algorithm_table()) {
    if (split.base != row.name) continue;
    const Expected<AlgorithmParameter> parameter = read_parameter(row.parameter, split);
    if (parameter) return {};
    // What the row that takes one says is worth more.
    if (row.parameter.form == ParameterForm::kNone) continue;
    reason = parameter.error().what + ": " + parameter.error().hint;
  }
  return reason;
}

}  // namespace plumbline
