// What a host says about itself: one row per tool or file, with the command that shows it and the
// function that reads it. The agent runs the rows of its system and parses at once; collect.sh runs
// the same commands on machines without plumbline and writes what they print into one file, which
// `doctor --from` parses with the same functions. Parsers never trust their input: truncated,
// localised, missing or hostile text fills in less and adds a line to `unreadable`, nothing else.
#pragma once

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
// The macOS rows, in a file of their own (sources_macos_table.cc); part of source_table().
const std::vector<SourceRow>& macos_source_table();
const SourceRow* find_source(const std::string& name, const std::string& system);
// The table as it stands in collect.sh, one line "SYSTEM|NAME|NEEDS|COMMAND" each.
std::string collect_script_rows();

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

// One file of collect.sh: its sections, each with the command, its exit status and its output.
// Hosts of several files become one EvidenceSet; pairs come from the pings and connections that the
// script tried. Errors name the file and the section.
Expected<HostEvidence> parse_collected(const std::string& text, const std::string& name);
Expected<EvidenceSet> read_collected_files(const std::vector<std::string>& paths);

}  // namespace plumbline
