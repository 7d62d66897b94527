// Messages that people paste: what a program said when the network failed it, which causes are
// behind it, and which probes tell them apart. One table for the systems of the field (the C
// library on Linux and macOS, gloo, NCCL, MLX, MCCL, Open MPI, ssh). Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct SymptomRow {
  const char*
      pattern;  // words that the message holds, in this order, "*" between them; case ignored
  const char* source;   // who says so: "linux", "macos", "any", "gloo", "nccl", "mlx", "mccl", ...
  const char* meaning;  // one sentence
  std::vector<const char*> causes;   // ids, likeliest first
  std::vector<const char*> probes;   // that tell them apart, in ladder order; none: see by_hand
  const char* errno_name = nullptr;  // "ECONNRESET": this word alone fits, too
  // What to try by hand where no probe looks (ssh); nullptr elsewhere.
  const char* by_hand = nullptr;
};

const std::vector<SymptomRow>& symptom_table();
// Rows that fit, the most specific first: those of one program or system, then by the length of
// their pattern.
std::vector<const SymptomRow*> explain(std::string_view message);

}  // namespace plumbline
