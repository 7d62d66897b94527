// The vocabulary of diagnosis: every root cause that plumbline can name, as one table, and the
// messages that people paste, each with the causes that may be behind it. The ids are part of the
// interface: scripts, docs and tests rely on them. docs/diagnosis.md is generated from the causes,
// `plumbline explain` and the rules speak in their words. Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct CauseRow {
  const char* id;       // "firewall.drop_inbound"
  const char* meaning;  // one sentence
  const char* seen_by;  // the evidence that decides, and what tells it apart from its neighbours
  const char* outcome;  // how serious: "fail", "warn", "note", or "fail, warn while it still works"
};

// In ladder order.
std::span<const CauseRow> cause_table();
const CauseRow* find_cause(std::string_view id);

// ---- what a program said when the network failed it, which causes are behind it, and which probes
// tell them apart: one table for the systems of the field (the C library on Linux and macOS, gloo,
// NCCL, MLX, MCCL, Open MPI, ssh) ----

struct SymptomRow {
  const char*
      pattern;  // words that the message holds, in this order, "*" between them; case ignored
  const char* source;   // who says so: "linux", "macos", "any", "gloo", "nccl", "mlx", "mccl", ...
  const char* meaning;  // one sentence
  std::vector<std::string> causes;   // ids, likeliest first
  std::vector<std::string> probes;   // that tell them apart, in ladder order; none: see by_hand
  const char* errno_name = nullptr;  // "ECONNRESET": this word alone fits, too
  // What to try by hand where no probe looks (ssh); nullptr elsewhere.
  const char* by_hand = nullptr;
  // The stack (a name of `doctor --stack`) whose own words these are; nullptr: of none, or of
  // several. `runs`: they come from a job that ran already, so that the job itself is looked at.
  const char* stack = nullptr;
  bool runs = false;
};

const std::vector<SymptomRow>& symptom_table();
// Rows that fit, the most specific first: those of one program or system, then by the length of
// their pattern.
std::vector<const SymptomRow*> explain(std::string_view message);

}  // namespace plumbline
