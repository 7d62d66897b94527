// The record: one cell's outcome with everything needed to understand it years later, one JSON
// object a line; where and how it was measured is a line of its own, to which many records refer.
// SI units (bytes, nanoseconds, bytes per second), null instead of NaN. docs/record_format.md and
// docs/record.schema.json describe every field, from the tables of their fields.
// Derived fields (time_ns, algbw, busbw) are a cache: reports recompute them from samples or
// histogram with recompute(). Plain values; RecordFile appends with fsync.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "core/field.h"
#include "core/host/host.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/record/link.h"
#include "core/stats/prediction.h"
#include "core/stats/stats.h"

namespace plumbline {

inline constexpr int kRecordSchema = 2;  // that is written; earlier ones are read for good

enum class Outcome { kPassed, kFailed, kSkipped, kError };
const char* to_string(Outcome outcome);

// What the system granted to data connections.
struct ConnectionSettings {
  std::string congestion_control;
  uint64_t mss = 0;                           // bytes; 0 = not told
  uint64_t send_buffer = 0, recv_buffer = 0;  // bytes, the smallest among them; 0 = not told
  uint64_t ends = 0;                          // ends of connections that have these
};

// Pairs of ranks that did not get what the transport first tried for them, all for one reason.
struct FellBack {
  std::string pair;  // the first of them, "0-1"
  uint64_t pairs = 0;
  std::string reason;
};
// "ranks 0 and 1 (and 2 more pairs) of one machine stay on TCP: REASON".
std::string fell_back_text(const FellBack& pairs);

// What `auto` became, and what the connection really is.
struct Resolved {
  // "shm+tcp" where some pairs of ranks use the one and some the other; kernel = SIMD target,
  // "AVX3"
  std::string transport, algorithm, congestion_control, kernel;
  uint64_t chunk_bytes = 0;
  int streams = 1;
  bool progress_thread = false;            // of each rank, for what is large
  std::vector<std::string> address_pairs;  // "0-1 127.0.0.1:40000>127.0.0.1:29601", by stream
  std::vector<ConnectionSettings> connections = {};  // alike ones told once
  // Of an engine that is not ours, as it calls itself: "Open MPI v4.1.4".
  std::string library = {};
  std::vector<FellBack> fell_back = {};  // each reason once
  int group_ranks = 0;                   // of each group of Cell::split; 0 = all ranks are one
  // One entry per congestion control and MSS.
  void add(const ConnectionSettings& more);
  void add(const FellBack& more);
  // What other ranks of the same world used.
  void add_transport(const std::string& more);
};

// What moved the bytes of one rank, over the timed part of a cell. Counted, not sampled.
struct RankCounters {
  uint64_t received_bytes = 0;               // headers included
  uint64_t write_calls = 0, read_calls = 0;  // system calls on its connections
  uint64_t poll_calls = 0, yield_calls = 0;  // system calls in which it waited
  uint64_t in_place_bytes = 0;               // received payload that was used where it lay
  uint64_t copied_bytes = 0;                 // received payload that it copied once more itself
  // Times when a few tries in a row moved nothing, by what it waited for (transport/channel/
  // channel.h, Stall).
  uint64_t peer_late_stalls = 0, receiving_stalls = 0, send_full_stalls = 0, park_full_stalls = 0;

  bool operator==(const RankCounters&) const = default;
  RankCounters& operator+=(const RankCounters& other);
  // What came since `before`.
  RankCounters operator-(const RankCounters& before) const;
  uint64_t stalls() const {
    return peer_late_stalls + receiving_stalls + send_full_stalls + park_full_stalls;
  }
  uint64_t system_calls() const { return write_calls + read_calls + poll_calls + yield_calls; }
};

// Where the time of an operation went on one rank, each the mean of the operations that were taken
// apart after the timed part of the cell (docs/measuring.md). ns; the four parts add up to the
// total.
struct TimeSplit {
  uint64_t operations = 0;
  double total = 0;
  double queue = 0;    // older operations of this rank were in flight
  double sync = 0;     // it waited, and nothing of what it waited for had come
  double reduce = 0;   // arithmetic, and copies inside the rank
  double network = 0;  // the rest: bytes moved, or it waited in the middle of a message
};

// What one rank saw. Times in ns, of its own durations (not the slowest rank's).
struct PerRank {
  int rank = 0;
  std::string host;
  std::optional<double> p50, p99, mean;
  uint64_t wire_bytes = 0;       // bytes it sent in timed iterations, headers included
  int64_t cpu_ns = 0;            // user + system time over the timed part
  int64_t context_switches = 0;  // voluntary + involuntary over the timed part
  uint64_t retransmits = 0;      // TCP segments, over the timed part
  int cpu = -1;                  // that plumbline bound it to; -1 = none
  std::string affinity;          // CPUs it might really use: "3", "0-7,16-23"; empty = not known
  int numa_node = -1;            // of all of them; -1 = several, or not known
  // Window timing only: rank 0's monotonic clock minus this rank's when the cell ended, and how far
  // the true offset may be from it.
  std::optional<double> clock_offset_ns, clock_error_ns;
  // Resident, of its process when the cell ended; absent = not told.
  std::optional<uint64_t> memory_bytes = std::nullopt;
  // Granted by the system (of shared memory: the ring); the smallest of its connections.
  std::optional<uint64_t> send_buffer_bytes = std::nullopt, recv_buffer_bytes = std::nullopt;
  std::optional<RankCounters> counters = std::nullopt;  // absent = its engine does not count
  std::optional<TimeSplit> split = std::nullopt;        // absent = nothing was taken apart
};

struct Noise {
  std::string verdict = "clean";    // "clean" | "noisy" | "invalid" | "unknown" (imported)
  std::vector<std::string> causes;  // "oversubscribed", "load", "cv", "steal", "short interval" ...
};

// Keys of Measurement::extra. Involuntary context switches of all ranks over the timed part.
inline constexpr const char* kInvoluntarySwitches = "involuntary_switches_count";
// Speed of the slowest link between its ranks in bits per second: the host file's, else that of the
// interface; only where every one of them is known.
inline constexpr const char* kLinkSpeed = "link_bps";
// Keys of cells with window timing (docs/measuring.md).
inline constexpr const char* kClockError = "clock_error_ns";   // of any rank, at any sample
inline constexpr const char* kClockDrift = "clock_drift_ppm";  // of any rank, magnitude
inline constexpr const char* kClockDriftError = "clock_drift_error_ppm";
inline constexpr const char* kClockBreaks = "clock_breaks_count";  // jumps, changes of rate
inline constexpr const char* kLateSamples = "late_samples_count";  // dropped: a rank started late
inline constexpr const char* kWindow = "window_ns";  // from the announcement to the common start
// Keys of cells that were measured after idle time (docs/soak.md). Meeting: a barrier, as the rank
// that came last saw it. First operations: kColdOp and the number from 1 on, "cold_op_1_ns".
inline constexpr const char* kColdMeeting = "cold_meeting_ns";
inline constexpr const char* kWarmMeeting = "warm_meeting_ns";
std::string cold_op_key(int number);
// Compressed results against the exact ones: the largest error of an element, and that as a share
// of the largest exact element.
inline constexpr const char* kMaxErrorAbs = "max_error_abs";
inline constexpr const char* kMaxErrorRel = "max_error_rel";
// How many of a cell's operations were verified, of how many that ran; records of versions before
// these keys, and imported ones, have none. Every operation of the cell counts: the first one,
// those of the warm-up, and those after a stop, which are not timed.
inline constexpr const char* kOperations = "operations_count";
inline constexpr const char* kVerifiedOperations = "verified_operations_count";
// What the random choice of the verified operations began with; only where there was a choice.
inline constexpr const char* kVerifySeed = "verify_seed";
// Operations of the timed part, whether they were timed or not: what the ranks' processor time and
// context switches were spent on.
inline constexpr const char* kMeasuredOperations = "measured_operations_count";
// Of those verified, how many were wrong, on the rank that saw most; absent = none.
inline constexpr const char* kWrongOperations = "wrong_operations_count";
// What the operation's schedule costs (core/stats/prediction.h).
inline constexpr const char* kCostDepth = "cost_depth_count";
inline constexpr const char* kCostWire = "cost_wire_bytes";
inline constexpr const char* kCostReduce = "cost_reduce_bytes";
inline constexpr const char* kCostCopy = "cost_copy_bytes";
// Keys of cells of kind `endpoint` (docs/serving.md): requests by how they ended (AnswerEnd of
// transport/http/completion.h, "endpoint_busy_count"), wrong answers, and of those that were
// answered: tokens, all per second; of streamed ones the rate of one answer, and between tokens.
inline constexpr const char* kEndpointRequests = "endpoint_requests_count";
inline constexpr const char* kEndpointWrong = "endpoint_wrong_count";
inline constexpr const char* kEndpointTokens = "endpoint_tokens_count";
inline constexpr const char* kEndpointTokenRate = "endpoint_tokens_per_s";
inline constexpr const char* kEndpointAnswerRate = "endpoint_answer_tokens_per_s";  // median
inline constexpr const char* kEndpointAnswerTime = "endpoint_answer_p50_ns";
inline constexpr const char* kEndpointGap50 = "endpoint_gap_p50_ns";
inline constexpr const char* kEndpointGap99 = "endpoint_gap_p99_ns";
std::string endpoint_count_key(std::string_view end);
// Whether the speeds that links are held against are the user's own word: of how many links of the
// record the host file states the speed of both ends. Records of versions before it have none.
inline constexpr const char* kStatedSpeeds = "stated_link_speeds_count";

// What another program printed where we would have samples: only in records that were imported from
// its output (docs/reports.md). These are its numbers under its own name for them; nothing here
// becomes a quantile of ours.
struct Reported {
  std::string tool, version;      // "iperf3", "3.12"; the version may be empty
  std::string statistic;          // what time_ns is, or without one the bandwidth: "mean" ...
  std::optional<double> time_ns;  // of one operation, as our operation table counts it
  // Bandwidths as it printed them; absent = they follow from the time.
  std::optional<double> algbw_Bps, busbw_Bps;
  std::string note;  // what had to be converted, in words; may be empty
};

// Samples and counters of one cell: what the measuring loop returns.
struct Measurement {
  Outcome outcome = Outcome::kPassed;
  std::string reason;  // why skipped / failed / error, in words
  std::string cause;   // cause id, may be empty
  bool verified = false;
  std::optional<uint64_t> wrong;  // wrong elements over all ranks; absent when nothing was checked
  Histogram hist;                 // slowest rank per iteration
  std::vector<int64_t> samples_ns;  // the first 10 000 at most, in time order
  std::string stop_reason;
  uint64_t iterations = 0;  // timed iterations (== hist.n() but for throughput cells)
  int64_t first_op_ns = 0;  // the very first operation, connection warm-up included
  int64_t elapsed_ns = 0;   // whole timed part
  std::optional<double> ops_per_s, bytes_per_s;  // throughput cells only
  uint64_t warmup_iterations = 0;
  bool warmup_converged = false;
  uint64_t wire_bytes = 0;  // per operation, summed over ranks, headers excluded
  std::vector<PerRank> per_rank;
  Resolved resolved;
  std::map<std::string, double> extra;  // anything else with its unit in the key, e.g. "ttl_count"
  std::vector<LinkResult> links;        // cells of kind "link": one per ordered pair of ranks
  std::optional<Reported> reported;     // imported records only
};

// What the record says of its schedule's cost; nothing where it says none, or one that cannot be.
std::optional<OperationCost> cost_in(const Measurement& measurement);
// What failed of the cell: operations with a wrong result, or 1 where an error ended it.
uint64_t errors_of(const Measurement& measurement);

// What stands under a key of `extra`.
std::optional<double> extra_of(const Measurement& measurement, const char* key);

// The cause of cells whose data were wrong, by our own comparison or by the transport's checksum.
inline constexpr const char* kWrongDataCause = "collective.wrong_data";

struct VerifiedCount {
  uint64_t verified = 0, operations = 0;
};
// Nothing where the record has no such counters, or none that can be true.
std::optional<VerifiedCount> verified_count(const Measurement& measurement);
// What a counter of the timed part is divided by for one operation; the number of samples where a
// record has no better.
uint64_t measured_operations(const Measurement& measurement);
// "verified 41 of 320 operations", "verified, count unknown", "not verified".
std::string verified_text(const Measurement& measurement);

// kMismatch, cause config.mismatch, when it ran over another transport than the cell names, or,
// where the cell says `auto`, than the option does. `auto` in both is any; what was skipped or
// failed by an error ran over none.
Status ran_as_asked(const Cell& cell, const Measurement& measurement,
                    const std::string& option = "auto");

struct Environment {
  std::vector<HostFacts> hosts;                // one per host that took part
  std::map<std::string, OptionValue> options;  // every option with its origin
  std::vector<std::string> command;            // argv of the coordinator
  std::string control;  // "pipes" | "ssh" | "data-network": what control traffic used
  std::string auth;     // "token" | "rendezvous" | "none"
};

// Where a record of a soak (`run --for`) stands in it.
struct SoakMark {
  int64_t round = 1;
  int64_t at_ns = 0;                     // end of the cell, since the soak's start (monotonic)
  int64_t idle_ns = 0;                   // so long nothing was measured before it; 0 = warm round
  std::optional<uint64_t> memory_bytes;  // resident, of the coordinator; absent = not told
};

// Which launch of several (`run --repeat`) measured it: processes and connections of its own. Of
// two configurations that are measured in turns (`run --interleave`), `side` says which: "a" or
// "b".
struct LaunchMark {
  int64_t number = 1;     // from 1 on
  int64_t series = 1;     // 2 = measured again because the first series looked suspicious
  std::string side = {};  // empty = there is only one
};

struct Record {
  int schema = kRecordSchema;               // of the line that it was read from
  std::string suite_version, run_id, time;  // time: RFC 3339 UTC, end of the cell
  std::string scenario;                     // name of the scenario, "coll" for that command
  std::string question;                     // the scenario's one-sentence question
  std::string plan_hash;
  uint64_t seed = 0;  // of the shuffle
  Cell cell;
  Measurement measurement;
  TimeSummary time_ns;                         // derived
  std::optional<double> algbw_Bps, busbw_Bps;  // derived
  uint64_t ideal_wire_bytes = 0;               // derived
  Noise noise;
  Environment environment;
  std::optional<SoakMark> soak;
  std::optional<LaunchMark> launch;
  // Launches of the cell that it stands for; not part of the file. Reports merge them when there
  // are very many (reports/record_set.h): then the derived fields are not those of its samples.
  uint64_t launches = 1;
};

std::string cell_id(const Record& record);
// The derived values: from the samples, or the histogram when more were taken than kept.
struct Rates {
  std::optional<double> algbw_Bps, busbw_Bps;
  uint64_t ideal_wire_bytes = 0;
};
TimeSummary time_of(const Measurement& measurement);
Rates rates_of(const Cell& cell, const Measurement& measurement, const TimeSummary& time);
// Fills in all of them.
void recompute(Record& record);

// The hash by which records refer to an environment: of its content, 16 hex digits.
std::string environment_hash(const Environment& environment);

// Records as lines of a file or stream, each with its newline.
class RecordLines {
 public:
  // `environment`: the hash of the one that stands there last already.
  explicit RecordLines(std::string environment = {}) : last_(std::move(environment)) {}

  struct Lines {
    std::string environment;  // to be written before the record; empty where it is there
    std::string record;
  };
  Lines of(const Record& record);
  // Both as one text.
  std::string text_of(const Record& record);

 private:
  std::string last_;
};

void to_json(nlohmann::json& json, const Measurement& measurement);
void from_json(const nlohmann::json& json, Measurement& measurement);

// What becomes of a line that is no record, or one of a newer version.
enum class Damage {
  kSkip,   // it is left out with a warning, a newer record read as far as it is understood; that no
           // record is left is an error
  kRefuse  // it is an error; what --resume and a proof need
};

// Reads a file of records ("-": the standard input) one at a time, in memory that does not grow
// with it: a line may have kLongestRecord bytes, longer ones count as damaged. The record is good
// during the call only; whoever wants to keep it copies it. Warnings name file and line; after
// kMostWarnings of a file the rest is counted. A last line without newline (a killed writer) is
// left out when it is no whole record, with Damage::kRefuse always. docs/record_format.md says all
// of this to users.
Status for_each_record(const std::string& path, std::vector<std::string>* warnings,
                       const std::function<void(const Record&)>& take,
                       Damage damage = Damage::kSkip);
inline constexpr size_t kLongestRecord = size_t{64} << 20;
inline constexpr size_t kMostWarnings = 10;
// The same of the standard input, of which somebody has read `start` already to find out what it
// holds: a pipe cannot be read twice. It must stay good during the call.
Status for_each_piped_record(std::string_view start, std::vector<std::string>* warnings,
                             const std::function<void(const Record&)>& take);
// All of them, with Damage::kRefuse.
Expected<std::vector<Record>> read_records(const std::string& path,
                                           std::vector<std::string>* warnings = nullptr);

// Appends records, each with the line of its environment before it where another stands there; each
// line is one write(2) followed by fsync(2), so a kill loses at most the record being written and
// leaves none without its environment. Opening an existing file cuts a torn last line off first.
// One writer per file.
class RecordFile {
 public:
  static Expected<RecordFile> open(const std::string& path);
  Status append(const Record& record);
  const std::string& path() const { return path_; }

 private:
  Status append_line(const std::string& line);

  Fd fd_;
  std::string path_;
  RecordLines lines_;
};

// The line that says where and how the records below it were measured.
struct EnvironmentLine {
  int schema = kRecordSchema;
  std::string hash;  // environment_hash()
  Environment environment;
};

PLUMBLINE_FIELDS(ConnectionSettings);  // core/record/measurement_fields.cc, as the next seven
PLUMBLINE_FIELDS(FellBack);
PLUMBLINE_FIELDS(Resolved);
PLUMBLINE_FIELDS(RankCounters);
PLUMBLINE_CHECKED_FIELDS(TimeSplit);
PLUMBLINE_FIELDS(PerRank);
PLUMBLINE_CHECKED_FIELDS(Reported);
PLUMBLINE_FIELDS(Measurement);  // those that stand in the record itself
PLUMBLINE_FIELDS(TimeSummary);  // core/record/record.cc, as all below
PLUMBLINE_FIELDS(Noise);
PLUMBLINE_FIELDS(OptionValue);
PLUMBLINE_FIELDS(Environment);
PLUMBLINE_FIELDS(EnvironmentLine);
PLUMBLINE_CHECKED_FIELDS(SoakMark);
PLUMBLINE_CHECKED_FIELDS(LaunchMark);
PLUMBLINE_FIELDS(Record);  // without its measurement

}  // namespace plumbline
