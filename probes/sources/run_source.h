// Doing what a row of the table says, on this host, and putting what came out into its evidence:
// shared by the agent (which does both) and the reader of collect.sh's files (which only has the
// outputs). run_source is thread-safe; apply_output is not, for one HostEvidence.
#pragma once

#include <string>

#include "core/clock.h"
#include "probes/sources/source.h"

namespace plumbline {

struct SourceOutput {
  enum class State {
    kRead,     // ended with status 0
    kFailed,   // did not; `why` says how
    kAbsent,   // there is no such program or file
    kSkipped,  // what the row needs is not there, so that there is nothing to see
    kDenied,   // what the row needs is there and may not be read
  };
  State state = State::kSkipped;
  std::string text;
  std::string why;
  bool sure = false;  // the part of the kernel that it is about is loaded for sure
};

// Never longer than the deadline (but a file that blocks in the kernel blocks this thread).
SourceOutput run_source(const SourceRow& row, Deadline deadline);

// Parses, or notes why there is nothing to parse: a line in `unreadable`, and the filter's entry.
void apply_output(const SourceRow& row, const SourceOutput& output, HostEvidence& host);

// Bytes that are no UTF-8 become question marks: evidence is written as JSON.
std::string to_utf8(const std::string& text);

}  // namespace plumbline
