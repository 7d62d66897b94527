// The table of kinds of cells: what a cell asks about a group of ranks. A row names the kind and
// says what readers must know of it, so that they ask its row and not its name; what a higher
// folder does with it stands in that folder's own table, by the same key: how the block of a
// scenario becomes cells (scenarios/block_kinds.h), how a rank measures one
// (collectives/cell_run.h), how reports show it (reports/kind_view.h). Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// In the order in which reports show them.
enum class CellKind : uint8_t { kLatency, kBandwidth, kThroughput, kCheck, kLink, kRoof };

// What a cell of the kind times.
enum class CellTiming : uint8_t {
  kNothing,    // it only looks whether the data are right
  kEach,       // one operation after the other, each a sample
  kSustained,  // several operations in flight, over a fixed time
  kPairs,      // every ordered pair of ranks on its own; what was found lies in the links
  kBarePath,   // the path without our protocol, as the scale of the others
};

// The number that stands for a cell where there is room for one.
enum class Headline : uint8_t { kNone, kTime, kBusBandwidth, kOperationRate };

struct CellKindRow {
  CellKind kind;
  const char* name;
  const char* help;  // a phrase
  bool asked_for;    // blocks of scenarios ask for it; others come beside
  bool collective;   // its `op` is a row of the operation table, run by an engine and verified
  CellTiming timing;
  Headline headline;
  // Its own axes: keys of a block that do not mean something for every kind.
  std::span<const char* const> keys;

  bool has(std::string_view key) const;
  // One summary of times speaks for the whole cell.
  bool has_times() const { return timing != CellTiming::kNothing && timing != CellTiming::kPairs; }
  bool times_operations() const { return collective && has_times(); }
};

std::span<const CellKindRow> cell_kind_table();
const CellKindRow& row(CellKind kind);
inline const char* to_string(CellKind kind) { return row(kind).name; }
std::optional<CellKind> cell_kind_from(std::string_view name);

// Names of the kinds that a block can have, in the order of the table.
std::vector<std::string> asked_kinds();
// Every key that belongs to certain kinds, in the order in which the rows name them, each once.
std::vector<std::string> keys_of_kinds();
// Names of the kinds that have this key.
std::vector<std::string> kinds_with(std::string_view key);
// Names of the kinds that time this.
std::vector<std::string> kinds_that_time(CellTiming timing);

}  // namespace plumbline
