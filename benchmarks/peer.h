// What the programs of the peers share, so that each is asked the same and timed alike: the arrays
// of one rank of one operation, a check of its result, and the measuring loop of `plumbline coll`
// (back to back, one duration per operation and rank). benchmarks/vs_peers.py starts the ranks and
// combines what they write. Bytes are counted as in core/op.h: S spans all ranks for allgather,
// reduce_scatter, gather, scatter and alltoall. f32, sum, root 0. Linux; one thread.
#pragma once

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace peer {

inline constexpr int kFailed = 1, kWrongResult = 3;

// What every program is asked, in this order: OP PLACEMENT BYTES TIMED WARMUP FOLDER CPUS. FOLDER
// takes the durations, CPUS is a list ("0,1": rank r runs on the r-th, round and round) or "-".
inline constexpr int kWords = 7;
inline constexpr const char* kUsage = "OP in|out BYTES TIMED WARMUP FOLDER CPUS|-";

struct Job {
  std::string op;
  bool in_place = false;
  size_t bytes = 0;
  int timed = 0, warmup = 0;
  std::string folder;
  std::vector<int> cpus;
  int rank = 0, size = 1;
};

inline Job job_from(char** words, int rank, int size) {
  Job job{words[0],
          std::string(words[1]) == "in",
          std::strtoull(words[2], nullptr, 10),
          std::atoi(words[3]),
          std::atoi(words[4]),
          words[5],
          {},
          rank,
          size};
  for (const char* at = words[6]; *at >= '0' && *at <= '9';) {
    char* end = nullptr;
    job.cpus.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
  }
  return job;
}

// Before the library starts threads of its own, which inherit it.
inline bool bind(const std::vector<int>& cpus, int rank) {
  if (cpus.empty()) return true;
  const int cpu = cpus[static_cast<size_t>(rank) % cpus.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return true;
  std::fprintf(stderr, "rank %d cannot be bound to processor %d\n", rank, cpu);
  return false;
}

struct OpRow {
  const char* name;
  bool share;      // S spans all ranks
  bool whole_in;   // with share: the input spans all ranks
  bool whole_out;  // with share: the output does
};
inline constexpr OpRow kOps[] = {
    {"allreduce", false, false, false}, {"reduce_scatter", true, true, false},
    {"allgather", true, false, true},   {"broadcast", false, false, false},
    {"reduce", false, false, false},    {"gather", true, false, true},
    {"scatter", true, true, false},     {"alltoall", true, true, true},
    {"barrier", false, false, false},   {"pingpong", false, false, false},
    {"stream", false, false, false},    {"bidirectional", false, false, false},
    {"sendrecv", false, false, false},
};

inline const OpRow* row(const std::string& op) {
  for (const OpRow& row : kOps) {
    if (op == row.name) return &row;
  }
  return nullptr;
}

// Small whole numbers, so that sums are exact in any order and tell ranks and places apart.
inline float value(int rank, size_t index) {
  return static_cast<float>(index % 1021 + 1024 * static_cast<size_t>(rank));
}

// The arrays of one rank, on pages of their own and filled. In place, `in` and `out` are one array:
// `in` is this rank's part of `out` for allgather and gather, else both begin at its start.
class Arrays {
 public:
  explicit Arrays(const Job& job) : job_(job), row_(*peer::row(job.op)) {
    const auto n = static_cast<size_t>(job.size);
    const size_t whole = job.bytes / sizeof(float);
    count_ = job.op == "barrier" ? 0 : row_.share ? whole / n : whole;
    const size_t in_elems = row_.share && row_.whole_in ? count_ * n : count_;
    const size_t out_elems = row_.share && row_.whole_out ? count_ * n : count_;
    out_ = allocate(job.in_place ? std::max(in_elems, out_elems) : out_elems);
    if (job.in_place) {
      const bool part = job.op == "allgather" || job.op == "gather";
      in = out_.get() + (part ? static_cast<size_t>(job.rank) * count_ : 0);
    } else {
      in_ = allocate(in_elems);
      in = in_.get();
    }
    out = out_.get();
    for (size_t i = 0; i < in_elems; ++i) in[i] = value(job.rank, i);
  }

  size_t count() const { return count_; }  // elements of one rank's argument
  float* in = nullptr;
  float* out = nullptr;

  // After one operation; prints what is wrong.
  bool right() const {
    const size_t parts = row_.share && row_.whole_out ? static_cast<size_t>(job_.size) : 1;
    if (!has_result()) return true;
    for (size_t part = 0; part < parts; ++part) {
      for (size_t i = 0; i < count_; ++i) {
        const float got = out[part * count_ + i], want = expected(static_cast<int>(part), i);
        if (got == want) continue;
        std::fprintf(stderr, "wrong result: %s, element %zu of rank %d is %g, not %g\n",
                     job_.op.c_str(), part * count_ + i, job_.rank, static_cast<double>(got),
                     static_cast<double>(want));
        return false;
      }
    }
    return true;
  }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  using Memory = std::unique_ptr<float, Free>;

  static Memory allocate(size_t elems) {
    constexpr size_t kPage = 4096;
    const size_t bytes = (elems * sizeof(float) / kPage + 1) * kPage;
    Memory memory(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
    if (!memory) {
      std::fprintf(stderr, "no memory for an array of %zu bytes\n", bytes);
      std::exit(kFailed);
    }
    for (size_t i = 0; i < bytes / sizeof(float); ++i) memory.get()[i] = -1;
    return memory;
  }

  bool has_result() const {
    const std::string& op = job_.op;
    if (op == "reduce" || op == "gather") return job_.rank == 0;
    if (op == "pingpong" || op == "bidirectional") return job_.rank < 2;
    if (op == "stream") return job_.rank == 1;
    return op != "barrier";
  }

  float expected(int part, size_t i) const {
    const std::string& op = job_.op;
    const size_t own = static_cast<size_t>(job_.rank) * count_ + i;
    if (op == "allreduce" || op == "reduce" || op == "reduce_scatter") {
      float sum = 0;
      for (int r = 0; r < job_.size; ++r) sum += value(r, op == "reduce_scatter" ? own : i);
      return sum;
    }
    if (op == "allgather" || op == "gather") return value(part, i);
    if (op == "alltoall") return value(part, own);
    if (op == "scatter") return value(0, own);
    if (op == "bidirectional") return value(1 - job_.rank, i);
    if (op == "sendrecv") return value((job_.rank + job_.size - 1) % job_.size, i);
    return value(0, i);  // broadcast, pingpong, stream
  }

  const Job& job_;
  const OpRow& row_;
  size_t count_ = 0;
  Memory in_, out_;
};

inline int64_t now_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

// One operation that is checked, the warm-up, the timed ones; then there is FOLDER/RANK with their
// durations (ns), one a line. A wrong result has no time. Returns the exit status.
inline int measure(const Job& job, const Arrays& arrays, const std::function<void()>& operation) {
  operation();
  if (!arrays.right()) return kWrongResult;
  for (int i = 0; i < job.warmup; ++i) operation();
  std::vector<int64_t> durations;
  durations.reserve(static_cast<size_t>(job.timed));
  for (int i = 0; i < job.timed; ++i) {
    const int64_t start = now_ns();
    operation();
    durations.push_back(now_ns() - start);
  }
  const std::string path = job.folder + "/" + std::to_string(job.rank), part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    return kFailed;
  }
  for (const int64_t ns : durations) std::fprintf(file, "%lld\n", static_cast<long long>(ns));
  if (std::fclose(file) == 0 && std::rename(part.c_str(), path.c_str()) == 0) return 0;
  std::perror(path.c_str());
  return kFailed;
}

// Until ranks 0 to `ranks` - 1 have their durations written, without taking a processor from them.
// vs_peers.py has the deadline.
inline void await(const Job& job, int ranks) {
  constexpr useconds_t kNapUs = 1000;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = job.folder + "/" + std::to_string(rank);
    while (access(path.c_str(), F_OK) != 0) usleep(kNapUs);
  }
}

}  // namespace peer
