#include "core/record/cell_kind.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr const char* kTimedKeys[] = {"dtype",     "redop", "algorithm", "root",
                                      "placement", "sync",  "engine",    "stop"};
constexpr const char* kSustainedKeys[] = {"dtype", "redop",  "algorithm",   "root", "placement",
                                          "sync",  "engine", "outstanding", "time"};
constexpr const char* kCheckKeys[] = {"dtype",     "redop", "algorithm", "root",
                                      "placement", "sync",  "engine"};
constexpr const char* kLinkKeys[] = {"time", "measure", "streams", "rate", "datagram"};

constexpr CellKindRow kKindTable[] = {
    {CellKind::kLatency, "latency", "one operation at a time", true, true, CellTiming::kEach,
     Headline::kTime, kTimedKeys},
    {CellKind::kBandwidth, "bandwidth", "the same, for large sizes", true, true, CellTiming::kEach,
     Headline::kBusBandwidth, kTimedKeys},
    {CellKind::kThroughput, "throughput",
     "operations and bytes per second over a fixed `time` with `outstanding` operations in flight",
     true, true, CellTiming::kSustained, Headline::kOperationRate, kSustainedKeys},
    {CellKind::kCheck, "check", "correctness only", true, true, CellTiming::kNothing,
     Headline::kNone, kCheckKeys},
    {CellKind::kLink, "link",
     "every ordered pair of ranks on its own, with `op` `link` (which means this kind)", true,
     false, CellTiming::kPairs, Headline::kNone, kLinkKeys},
    {CellKind::kRoof,
     "roof",
     "what the bare socket and the memory can do",
     false,
     false,
     CellTiming::kBarePath,
     Headline::kNone,
     {}},
};

template <typename Wanted>
std::vector<std::string> names_where(Wanted wanted) {
  std::vector<std::string> names;
  for (const CellKindRow& row : kKindTable) {
    if (wanted(row)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

bool CellKindRow::has(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::span<const CellKindRow> cell_kind_table() { return kKindTable; }

const CellKindRow& row(CellKind kind) { return kKindTable[static_cast<size_t>(kind)]; }

std::optional<CellKind> cell_kind_from(std::string_view name) {
  for (const CellKindRow& row : kKindTable) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

std::vector<std::string> asked_kinds() {
  return names_where([](const CellKindRow& row) { return row.asked_for; });
}

std::vector<std::string> kinds_with(std::string_view key) {
  return names_where([key](const CellKindRow& row) { return row.has(key); });
}

std::vector<std::string> kinds_that_time(CellTiming timing) {
  return names_where([timing](const CellKindRow& row) { return row.timing == timing; });
}

std::vector<std::string> keys_of_kinds() {
  std::vector<std::string> keys;
  for (const CellKindRow& row : kKindTable) {
    for (const char* key : row.keys) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
    }
  }
  return keys;
}

}  // namespace plumbline
