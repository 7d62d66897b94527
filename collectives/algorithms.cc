// The table of algorithms and the choice that "auto" makes.
#include <bit>
#include <cstdint>
#include <limits>

#include "collectives/schedule.h"

namespace plumbline {

// The build functions, in algorithms/.
using Build = Schedule(const ScheduleRequest& request);
Build build_allreduce_direct, build_allreduce_gather_reduce;
Build build_allreduce_recursive_doubling, build_allreduce_ring;
Build build_reduce_scatter_direct, build_reduce_scatter_ring;
Build build_allgather_ring, build_allgather_recursive_doubling, build_allgather_bruck;
Build build_broadcast_binomial, build_broadcast_chain;
Build build_reduce_binomial, build_reduce_chain;
Build build_gather_direct, build_scatter_direct, build_alltoall_direct;
Build build_barrier_dissemination;
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

}  // namespace

// A function, so that the table exists before anybody's static initialisation asks for it.
const std::vector<AlgorithmRow>& algorithm_table() {
  static const std::vector<AlgorithmRow> table = {
      {Op::kAllreduce, "gather_reduce", "all arrays to rank 0, the result back to all",
       "folklore: a star, two messages deep", any_size, build_allreduce_gather_reduce},
      {Op::kAllreduce, "direct", "two ranks swap their whole arrays and both reduce",
       "folklore: one message each way is the least latency", two_ranks, build_allreduce_direct},
      {Op::kAllreduce, "recursive_doubling", "log2(n) swaps of whole arrays, any number of ranks",
       "Thakur, Rabenseifner and Gropp, Optimization of collective communication in MPICH, 2005",
       any_size, build_allreduce_recursive_doubling},
      {Op::kAllreduce, "ring", "reduce-scatter and allgather around a ring, pipelined",
       "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009", any_size,
       build_allreduce_ring},

      {Op::kReduceScatter, "ring", "each part collects one contribution per hop, pipelined",
       "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009", any_size,
       build_reduce_scatter_ring},
      {Op::kReduceScatter, "direct", "every part straight to its owner, reduced in rank order",
       "folklore: pairwise exchange, one message deep", any_size, build_reduce_scatter_direct},

      {Op::kAllgather, "ring", "each part visits every rank, pipelined",
       "Thakur, Rabenseifner and Gropp, Optimization of collective communication in MPICH, 2005",
       any_size, build_allgather_ring},
      {Op::kAllgather, "recursive_doubling", "log2(n) swaps of doubling size, n a power of two",
       "Thakur, Rabenseifner and Gropp, Optimization of collective communication in MPICH, 2005",
       power_of_two, build_allgather_recursive_doubling},
      {Op::kAllgather, "bruck", "ceil(log2 n) rounds for any number of ranks",
       "Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all, 1997",
       any_size, build_allgather_bruck},

      {Op::kBroadcast, "binomial", "a tree of depth log2(n), every byte forwarded at once",
       "folklore: binomial tree", any_size, build_broadcast_binomial},
      {Op::kBroadcast, "chain", "rank to rank, every byte forwarded at once",
       "folklore: pipelined chain, one transfer time for any number of ranks", any_size,
       build_broadcast_chain},

      {Op::kReduce, "binomial", "a tree of depth log2(n) towards the root",
       "folklore: binomial tree", any_size, build_reduce_binomial},
      {Op::kReduce, "chain", "rank to rank towards the root, pipelined",
       "folklore: pipelined chain, one transfer time for any number of ranks", any_size,
       build_reduce_chain},

      {Op::kGather, "direct", "every part straight to the root", "folklore", any_size,
       build_gather_direct},
      {Op::kScatter, "direct", "every part straight from the root", "folklore", any_size,
       build_scatter_direct},
      {Op::kAlltoall, "direct", "every part straight to its place, staggered",
       "folklore: pairwise exchange, in hop k to the rank k further", any_size,
       build_alltoall_direct},
      {Op::kBarrier, "dissemination", "ceil(log2 n) rounds of empty messages",
       "Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988", any_size,
       build_barrier_dissemination},
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

namespace {

// What auto picks, first match of (op, ranks, S in bytes) that is supported; no match = the first
// supported algorithm of the op. `small` marks the limit that SMALL_MSG_THRESHOLD overrides.
struct AutoRow {
  Op op;
  int min_ranks, max_ranks;
  uint64_t max_bytes;  // S of core/op.h
  bool small;
  const char* algorithm;
};
constexpr int kManyRanks = std::numeric_limits<int>::max();
constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();
// Measured with `plumbline coll OP --algorithm NAME -b 1K -e 1M -f 4 -n 200` over loopback TCP on a
// 16-core machine with 2, 4 and 8 ranks, 2026-11-20 (docs/performance.md): each limit is the last
// size at which the row's algorithm was not slower. Broadcast and reduce: back-to-back times favour
// the chain, because its root runs ahead; one small operation by itself is over sooner in a tree.
constexpr AutoRow kAuto[] = {
    {Op::kAllreduce, 2, 2, 128 << 10, true, "direct"},
    {Op::kAllreduce, 3, kManyRanks, 64 << 10, true, "recursive_doubling"},
    {Op::kAllreduce, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kReduceScatter, 2, kManyRanks, 64 << 10, true, "direct"},
    {Op::kReduceScatter, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kAllgather, 3, kManyRanks, 256 << 10, true, "recursive_doubling"},
    {Op::kAllgather, 3, kManyRanks, 64 << 10, true, "bruck"},
    {Op::kAllgather, 2, kManyRanks, kAnyBytes, false, "ring"},
    {Op::kBroadcast, 4, kManyRanks, 64 << 10, true, "binomial"},
    {Op::kBroadcast, 2, kManyRanks, kAnyBytes, false, "chain"},
    {Op::kReduce, 4, kManyRanks, 64 << 10, true, "binomial"},
    {Op::kReduce, 2, kManyRanks, kAnyBytes, false, "chain"},
};

const AlgorithmRow* supported(Op op, const std::string& name, const ScheduleRequest& request) {
  for (const AlgorithmRow& row : algorithm_table()) {
    const bool named = name.empty() || name == row.name;
    if (row.op == op && named && row.unsupported(request).empty()) return &row;
  }
  return nullptr;
}

const AlgorithmRow* choose(const ScheduleRequest& q, uint64_t small_bytes) {
  const uint64_t ranks = row(q.op).per_rank_share ? static_cast<uint64_t>(q.size) : 1;
  const uint64_t bytes = q.count * q.elem_size * ranks;
  for (const AutoRow& rule : kAuto) {
    const uint64_t limit = rule.small && small_bytes > 0 ? small_bytes : rule.max_bytes;
    if (rule.op != q.op || q.size < rule.min_ranks || q.size > rule.max_ranks) continue;
    if (bytes > limit) continue;
    if (const AlgorithmRow* found = supported(q.op, rule.algorithm, q)) return found;
  }
  return supported(q.op, "", q);
}

std::string names_of(Op op) {
  std::string names = "auto";
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op == op) names += std::string(", ") + row.name;
  }
  return names;
}

}  // namespace

Expected<const AlgorithmRow*> find_algorithm(const std::string& name,
                                             const ScheduleRequest& request, uint64_t small_bytes) {
  const std::string op = to_string(request.op);
  if (request.size < row(request.op).min_ranks) {
    return fail(ErrorCode::kUnsupported,
                op + " needs at least " + std::to_string(row(request.op).min_ranks) +
                    " ranks, this world has " + std::to_string(request.size));
  }
  if (name == "auto") return choose(request, small_bytes);
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op != request.op || name != row.name) continue;
    const std::string reason = row.unsupported(request);
    if (reason.empty()) return &row;
    return fail(ErrorCode::kUnsupported, "algorithm '" + name + "' of " + op + " " + reason +
                                             ", this world has " + std::to_string(request.size));
  }
  return fail(ErrorCode::kConfig, "unknown algorithm '" + name + "' of " + op,
              "use one of: " + names_of(request.op));
}

}  // namespace plumbline
