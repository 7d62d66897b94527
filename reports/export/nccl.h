// Writes results as the nccl-tests programs do (columns of versions 2.10 to 2.17, and the lines
// "Collective test" of later ones): the same preamble, header, column order, number formats and
// footer and no columns beside theirs, so that scripts made for them read ours; the table for
// people is coll_table.h. Each row is flushed as soon as it is there. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace plumbline {

// "allreduce" -> "all_reduce_perf": the program of nccl-tests that measures this, or would.
std::string nccl_program(const std::string& op);

// Before the rows of lists of arrays, and before those that are no lists again: a comment of this
// word and their number.
inline constexpr const char* kNcclArrays = "arrays";

struct NcclSetup {
  std::string program;    // nccl_program(); empty = no lines "Collective test"
  std::string algorithm;  // as asked for; with `transport`, told in a line of our own
  std::string transport;
  std::string compression;    // empty = none
  std::string split;          // likewise; groups by colour
  int threads = 1, gpus = 1;  // ranks per process as nccl-tests counts them
  uint64_t min_bytes = 0, max_bytes = 0;
  uint64_t step = 0;  // bytes, or the factor
  bool step_is_factor = false;
  int warmup_iterations = 0, iterations = 0, aggregate = 1;
  int validation = 0;  // -c
};

// One line of "# Using devices": for us a device is the network interface of a rank.
struct NcclDevice {
  int rank = 0, group = 0;
  int64_t pid = 0;
  std::string host;
  int device = 0;
  std::string bus;   // in brackets: interface name
  std::string name;  // to the right: address, CPU ...
};

// One placement. The caller chooses whose time `time_us` is (rank 0, average, least, most: -a).
struct NcclSide {
  double time_us = 0, algbw = 0, busbw = 0;  // microseconds, 10^9 bytes per second
  std::optional<uint64_t> wrong;             // absent = not checked, printed as N/A
  std::optional<double> p50_us, ci_low_us, ci_high_us, p99_us;  // of the slowest rank
};

struct NcclRow {
  uint64_t size = 0, count = 0;
  std::string type, redop;  // nccl's names
  int root = -1;
  std::optional<NcclSide> out, in;  // absent = the operation has no such placement: N/A
  int arrays = 1;                   // of one operation; nccl-tests has no column for it
};

// What `coll` writes, row by row.
class CollWriter {
 public:
  virtual ~CollWriter() = default;

  virtual void preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) = 0;
  virtual void header() = 0;
  virtual void row(const NcclRow& row) = 0;
  // A line that is no row: reasons of missing rows, notes.
  virtual void comment(const std::string& text) = 0;
  // A row could not be measured because a checksum of the transport rejected its data.
  virtual void spoiled() = 0;
  // Before the footer: of so many operations the data of so many were compared.
  virtual void verified(uint64_t verified, uint64_t operations) = 0;
  // How many placements had wrong data, and the mean bus bandwidth over all rows and placements.
  // What was not checked, or moved no bytes, is never said to be right, and has no bandwidth.
  virtual void footer() = 0;
};

class NcclWriter : public CollWriter {
 public:
  explicit NcclWriter(std::ostream& out) : out_(out) {}

  void preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) override;
  void header() override;
  void row(const NcclRow& row) override;
  void comment(const std::string& text) override;  // "# " in front, which parsers skip
  void spoiled() override { ++wrong_placements_; }
  void verified(uint64_t verified, uint64_t operations) override;
  void footer() override;

 private:
  void side(const std::optional<NcclSide>& side, uint64_t bytes);

  std::ostream& out_;
  std::string program_;
  int wrong_placements_ = 0;
  double busbw_sum_ = 0;
  uint64_t placements_ = 0;  // measured
  uint64_t checked_ = 0;     // of those, with verified data
  uint64_t moved_ = 0;       // of those, with bytes in them
};

}  // namespace plumbline
