// A Cell is one thing to do, fully described by its independent variables: its kind
// (core/record/cell_kind.h), which says what is asked, and its axes. Its id is the hash of those
// variables *as asked for* (an `auto` stays `auto`), so the same question has the same id in every
// run. Plain value, no behaviour beyond JSON and the id.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/error.h"
#include "core/record/cell_kind.h"

namespace plumbline {

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

  bool operator==(const Cell&) const = default;
};

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
// Throws nlohmann's exceptions on wrong types; record_from_line turns them into an Error.
void from_json(const nlohmann::json& json, Cell& cell);

}  // namespace plumbline
