// The fault matrix: every fault alone in a fresh lab, pairs of faults at the same time, and a zoo
// of healthy networks; `plumbline doctor` is run on each as a process of its own, and what it says
// is compared with what was done. Then its remedy is carried out on the host that it names, and
// doctor is asked again. Everything is drawn from a seed; a cell can be repeated alone by its name
// and seed. Nothing outside the labs is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "core/error.h"
#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {

// What doctor said (docs: `doctor --json`).
struct SaidFinding {
  std::string cause, outcome, host, peer, remedy;  // peer empty when null
  int port = 0;
  std::vector<int> ports;
  std::vector<std::string> evidence;  // "HOST: text"
  std::vector<HostCommand> commands;  // of the remedy
};
struct Diagnosis {
  std::string verdict;
  std::vector<SaidFinding> findings;
  int exit_code = 0;
  int64_t took_ns = 0;
  std::string problem;  // why there is no diagnosis: no JSON, a crash, no answer in time
};
Diagnosis parse_diagnosis(const std::string& text, int exit_code);

// How a diagnosis compares with the faults that were in. Pure.
struct Judgement {
  std::vector<std::string> found;  // names of the faults whose cause was named as a root cause
  std::vector<std::string> missed;
  bool first_is_right = false;       // the first root cause is one of the faults
  std::vector<std::string> wrong;    // "cause on host" of every fail or warn that no fault explains
  std::vector<std::string> because;  // what kept a near miss from being right
  int named = 0;                     // fail and warn findings, less `ignored`
};
// `ignored`: causes that are true of this very machine at this time (a busy one is overloaded in
// any lab).
Judgement judge(const std::vector<Injected>& injected, const Diagnosis& diagnosis,
                bool unprivileged, const std::vector<std::string>& ignored = {});
// Whether this finding names this fault; if not, why.
bool names_fault(const Injected& injected, const SaidFinding& finding, bool unprivileged,
                 std::string* because = nullptr);

enum class MatrixCellKind { kSingle, kPair, kZoo };
const char* to_string(MatrixCellKind kind);

struct MatrixCell {
  MatrixCellKind kind = MatrixCellKind::kSingle;
  std::string name;                 // "drop_inbound", "drop_inbound+link_down", "mesh"
  std::vector<std::string> faults;  // empty in the zoo
  uint64_t seed = 0;
};

struct CellResult {
  MatrixCell cell;
  std::string lab;      // "star of 4, IPv4, MTU 1500, 1Gbit"
  std::string skipped;  // why it could not be made; then nothing else counts
  std::string error;    // the lab or doctor itself failed
  std::vector<Injected> injected;
  Diagnosis diagnosis;
  Judgement judgement;
  bool right = false;  // everything found, first is right, nothing wrong; zoo: nothing named
  bool remedy_tried = false, healed = false;
  std::vector<std::string> changed_elsewhere;  // by the remedy, on hosts that it did not name
  std::vector<std::string> after_remedy;       // what doctor still said
};

struct MatrixOptions {
  uint64_t seed = 1;
  int seeds = 1;  // this many, from `seed` on
  int zoo_runs = 5;
  int jobs = 1;                   // cells at the same time, each in a lab of its own
  std::vector<std::string> only;  // names of faults, pairs and networks, or single, pairs, zoo
  bool reduced = false;
  bool unprivileged = false;
  std::string program;  // the plumbline that is tried
  std::string keep;     // folder for doctor's answers; empty = not kept
  std::function<void(const CellResult&, size_t done, size_t all)> progress;
  // 0 = go on; 1 = end doctor in order and remove the labs; 2 = the same, but end doctor at once.
  // Asked by several threads. What was cut short is no result.
  std::function<int()> stop;
};

struct MatrixResult {
  MatrixOptions options;
  std::vector<CellResult> cells;
  std::string machine;  // "16 cores, Linux 6.18.44"
  bool interrupted = false;
};

// The cells that the options ask for; kUsage when a name of `only` is none.
Expected<std::vector<MatrixCell>> matrix_cells(const MatrixOptions& options);
// The network that a cell lives in, with the reason why it cannot be made ("" = it can). Pure.
struct CellNetwork {
  LabTopology topology;
  std::string unavailable;
};
CellNetwork cell_network(const MatrixCell& cell, bool unprivileged);
std::string in_words(const LabTopology& topology);

// Calls `progress` from one thread at a time. Results are in the order of `cells`.
MatrixResult run_matrix(const MatrixOptions& options, const std::vector<MatrixCell>& cells);

// ---- counting and showing ----

struct Proportion {
  int hits = 0, all = 0;
  double low() const;  // Wilson's interval at 95 %; 0 and 1 when all is 0
  double high() const;
  double value() const;
};

struct MatrixSummary {
  Proportion singles, recall, precision, pairs, pair_faults, zoo, remedies;
  int skipped = 0, errors = 0;
  double median_s = 0, max_s = 0, median_zoo_s = 0;  // of doctor
  std::vector<std::string> confusions;               // "drop_path: got tcp.no_listener on a"
  bool all_right() const;
};
MatrixSummary summarise(const MatrixResult& result);

std::string matrix_text(const MatrixResult& result, bool verbose);
std::string matrix_json(const MatrixResult& result);
// Tables for docs/diagnosis.md.
std::string matrix_docs(const MatrixResult& result);
// The part of the page that these options fill: "matrix", or "matrix-unprivileged".
const char* docs_block(const MatrixOptions& options);
// The text with what stands between the lines "<!-- BLOCK:begin -->" and "<!-- BLOCK:end -->"
// replaced; they are added at the end when they are missing.
std::string with_generated(const std::string& text, const std::string& block,
                           const std::string& generated);
// "  firewall.drop_inbound (fail) on ada>bode ..." and its evidence.
std::string finding_text(const SaidFinding& finding);

// ---- small texts that its pages share ----

// "link.down on a", what doctor should have said, and what it said.
std::string expected_words(const CellResult& cell);
std::string said_words(const CellResult& cell);
// Recall, precision and so on, a line each behind `bullet`.
std::string summary_lines(const MatrixSummary& summary, const char* bullet);

}  // namespace plumbline
