// A Cell is one thing to do, fully described by its independent variables: its kind, which says
// what is asked about a group of ranks, and its axes. A row of the table of kinds says what readers
// must know of one, so that they ask its row and not its name; what a higher folder does with it
// stands in that folder's own table, by the same key: how the block of a scenario becomes cells
// (scenarios/block_kinds.h), how a rank measures one (collectives/cell_run.h), how reports show it
// (reports/kind_view.h). A cell's id is the hash of its variables *as asked for* (an `auto` stays
// `auto`), so the same question has the same id in every run. Plain value, no behaviour beyond JSON
// and the id. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/field.h"

namespace plumbline {

// In the order in which reports show them.
enum class CellKind : uint8_t {
  kLatency,
  kBandwidth,
  kThroughput,
  kCheck,
  kLink,
  kRoof,
  kEndpoint
};

// What a cell of the kind times.
enum class CellTiming : uint8_t {
  kNothing,    // it only looks whether the data are right
  kEach,       // one operation after the other, each a sample
  kSustained,  // several operations in flight, over a fixed time
  kPairs,      // every ordered pair of ranks on its own; what was found lies in the links
  kBarePath,   // the path without our protocol, as the scale of the others
  kRequests,   // requests to somebody else's server, so many at a time, over a fixed time
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
  // What it measures goes over connections of its own, and not over the ranks'.
  bool own_connections() const {
    return timing == CellTiming::kPairs || timing == CellTiming::kRequests;
  }
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

// The engine that a cell names where nobody asks for another (collectives/engine.h).
inline constexpr const char* kNativeEngine = "native";

struct Cell {
  CellKind kind = CellKind::kLatency;
  std::string op;                      // name in the op table; for a roof "raw_pingpong" ...
  std::string engine = kNativeEngine;  // or the tool that a result was imported from
  std::string transport = "auto";
  std::string algorithm = "auto";
  std::string dtype = "f32";
  std::string redop = "sum";  // "none" where the op does not reduce
  int root = -1;              // -1 where the op has no root
  int ranks = 0;
  uint64_t bytes = 0;             // S, already rounded down to whole elements per rank
  uint64_t count = 0;             // elements of one rank's argument
  std::string placement = "out";  // "in" | "out" of place
  std::string sync = "barrier";   // how ranks start together: "barrier" | "none" | "window"
  std::string cache =
      "cold";           // "cold": buffers take turns over much memory; "hot": always the same ones
  int outstanding = 1;  // operations in flight at once (throughput)
  int repeat = 0;       // index of the repetition (0 first)
  std::map<std::string, std::string> params;  // options set for this cell only
  // Cells of links only (elsewhere empty, and then not part of the JSON): what is measured, a
  // name in link_measure_table(), and the rate of datagrams in bits of payload per second.
  std::string measure;
  uint64_t rate_bps = 0;
  // Which hosts take part, "node1+node3", and how ranks are dealt to them, "block" or "cyclic". Not
  // part of the JSON where empty: all hosts, filled one after the other (or as a launcher did).
  std::string hosts, distribution;
  // The codec of the data (core/codec.h), "fp16". Not part of the JSON where empty: none.
  std::string compression;
  // An allreduce of so many arrays as one operation (collectives/list_work.h), which have `bytes`
  // and `count` together. Not part of the JSON where it is 1.
  int arrays = 1;
  // Groups of the ranks that run the operation at the same time, each by itself (core/split.h):
  // "mod:2". `bytes`, `count` and `root` are those of one group. Not part of the JSON where empty:
  // all ranks are one.
  std::string split;
  // Cells of servers of language models only (elsewhere empty or 0, and then not part of the JSON):
  // where the server is, the model (empty: its first), how it is asked ("chat" | "completions") and
  // answers ("stream" | "whole"), of how many tokens at most, what a right answer contains (empty:
  // not looked at), and the variable of the coordinator's environment that holds the key.
  std::string url, model, api, answer, answer_has, key_from;
  int max_tokens = 0;

  bool operator==(const Cell&) const = default;
};

// No list has more arrays: models have thousands of parameters, not millions.
inline constexpr int kMostArrays = 65'536;

// Ranks that run one operation of the cell together: those of a group by colour, else all. Bus
// bandwidths go by this number. And how many such groups there are.
int group_ranks(const Cell& cell);
int groups_of(const Cell& cell);

// What a group of ranks is started for: cells with the same can share a group.
struct WorldShape {
  int ranks = 0;
  std::string transport;
  std::map<std::string, std::string> params;
  std::string hosts, distribution;

  bool operator==(const WorldShape&) const = default;
  bool operator<(const WorldShape& other) const {
    const auto all = [](const WorldShape& w) {
      return std::tie(w.ranks, w.transport, w.params, w.hosts, w.distribution);
    };
    return all(*this) < all(other);
  }
};
inline WorldShape world_of(const Cell& cell) {
  return {cell.ranks, cell.transport, cell.params, cell.hosts, cell.distribution};
}

// Between what was asked for and what was chosen for it: "auto > ring:2".
inline constexpr const char* kChosen = " > ";

// Keys sorted, no spaces: the text that cell_id hashes.
std::string canonical_json(const Cell& cell);
// First 16 hex digits of SHA-256 over canonical_json.
std::string cell_id(const Cell& cell);

// The ids of cells that come again and again, computed once each. Memory is bounded: after 20 000
// cells it starts anew.
class CellIds {
 public:
  // Good until the next call.
  const std::string& of(const Cell& cell);

 private:
  struct Hash {
    size_t operator()(const Cell& cell) const;
  };
  std::unordered_map<Cell, std::string, Hash> ids_;
};

void to_json(nlohmann::json& json, const Cell& cell);
// Throws nlohmann's exceptions on wrong types; RecordParser turns them into an Error.
void from_json(const nlohmann::json& json, Cell& cell);

PLUMBLINE_FIELDS(Cell);

}  // namespace plumbline
