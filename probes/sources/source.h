// What a host says about itself: one row per tool or file, with the command that shows it and the
// function that reads it. The agent runs the rows of its system and parses at once; collect.sh runs
// the same commands on machines without plumbline and writes what they print into one file, which
// `doctor --from` parses with the same functions. Parsers never trust their input: truncated,
// localised, missing or hostile text fills in less and adds a line to `unreadable`, nothing else.
// What fills in a HostEvidence is not thread-safe for one of them, all else is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "probes/evidence.h"

namespace plumbline {

struct SourceRow {
  const char* name;    // of the section, "ip-addr"
  const char* system;  // "linux" | "macos" | "any"
  // What shows it: a program with its arguments, separated by single spaces and run without a shell
  // (no quotes, no pipes, no "|" character). Or one of these, which agent and collect.sh do in
  // their own ways to the same effect:
  //   "@file PATH"               the file's text;
  //   "@files PATTERN..."        every line of every readable file that fits, as "PATH:LINE";
  //   "@clsact tc ... dev"       "qdiscs" and what `tc qdisc show` prints; then, for each device
  //                              that has a clsact or ingress qdisc and for both directions, a line
  //                              "dev DEV DIRECTION" and the command's output with these two words
  //                              behind it.
  const char* command;
  // When it may be run at all, because running it would load kernel modules or be in vain; empty =
  // always. Conditions joined by " and ":
  //   "has PATH"         the file can be read and is not empty;
  //   "module NAME"      this part of the kernel is loaded or built in (or that cannot be told);
  //   "loaded NAME"      it is loaded for sure;
  //   "process NAME"     such a process runs, in our network namespace as far as can be told;
  //   "without PROGRAM"  this better program is not there.
  const char* needs;
  // The packet filter that it shows ("nftables", see FilterSource), whose presence and readability
  // are noted; empty for all others.
  const char* filter;
  bool slow;  // only with deep probing or in collect.sh
  // Reads the output into the host's evidence; kConfig or kProtocol when it makes no sense. Called
  // in the order of the table, and only when the command ended with status 0.
  Status (*parse)(const std::string& text, HostEvidence& host);
  const char* help;  // what is learned from it
};

// All systems' rows. Later rows may rely on what earlier ones of their system filled in.
const std::vector<SourceRow>& source_table();

struct SnapshotRequest {
  std::vector<int> ports;          // of the job, for leftover processes
  std::vector<std::string> names;  // host names to resolve, of the peers
  std::string own_data_ip;         // what the own name should give
  int64_t buffer_bytes = 0;        // socket buffer to ask for, 0 = none
  bool deep = false;
};
// Runs the rows of this system side by side and adds what needs no tool (names, limits, buffers,
// verbs library). Never longer than the deadline; what was not ready by then is in `unreadable`.
HostEvidence take_snapshot(const std::string& host, const SnapshotRequest& request,
                           Deadline deadline);

// ---- doing what a row says, and putting what came out into the evidence ----

struct SourceOutput {
  enum class State {
    kRead,     // ended with status 0
    kFailed,   // did not; `why` says how
    kAbsent,   // there is no such program or file
    kSkipped,  // what the row needs is not there, so that there is nothing to see
    kDenied,   // what the row needs is there and may not be read
  };
  State state = State::kSkipped;
  std::string text = {};
  std::string why = {};
  bool sure = false;  // the part of the kernel that it is about is loaded for sure
};

// At most a MiB, or a little more, of it; nullopt with errno when it cannot be opened or read.
std::optional<std::string> read_small_file(const std::string& path);
// Where a symbolic link leads, "net:[4026531840]"; empty when it may not be read. For short ones.
std::string link_target(const std::string& path);

// Never longer than the deadline (but a file that blocks in the kernel blocks this thread).
SourceOutput run_source(const SourceRow& row, Deadline deadline);

// Parses, or notes why there is nothing to parse: a line in `unreadable`, and the filter's entry.
void apply_output(const SourceRow& row, const SourceOutput& output, HostEvidence& host);

// What is noted of a tool so far; nullptr = nothing.
FilterSource* find_filter(HostEvidence& host, const std::string& tool);
// Adds what one command found out about a tool to what others did: present when any says so,
// readable when all that see it could be read. A state that is not empty replaces the old one.
void note_filter(HostEvidence& host, const FilterSource& source);

// Leaves out connections that have nothing to do with these ports: they are nobody's business.
// Listeners stay.
void keep_sockets_of_interest(HostEvidence& host, const std::vector<int>& ports);

}  // namespace plumbline
