// Roofs: cells that measure what the path and the machine can do without our protocol, as the scale
// of all others. One row a roof: its name (Cell::op), what it is for people, and what of it is
// told: a time, or a rate. docs/measuring.md says how each is measured.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace plumbline {

struct RoofRow {
  const char* op;
  const char* label;
  bool latency;        // a time is told; else a rate
  const char* suffix;  // behind the number
};

inline constexpr std::array kRoofTable = {
    RoofRow{"raw_pingpong", "bare socket ping-pong", true, " round trip"},
    RoofRow{"raw_exchange", "swap both ways at once", true, ""},
    RoofRow{"raw_stream", "one-way stream", false, ""},
    RoofRow{"raw_duplex", "both ways at once", false, " each way"},
    RoofRow{"array_stream", "one-way stream of arrays", false, ""},
    RoofRow{"array_duplex", "arrays both ways at once", false, " each way"},
    RoofRow{"reduce_kernel", "reduction", false, ""},
    RoofRow{"memcpy", "memcpy", false, ""},
};

// Null where there is no such roof.
inline const RoofRow* find_roof(std::string_view op) {
  const auto* const found = std::find_if(kRoofTable.begin(), kRoofTable.end(),
                                         [op](const RoofRow& row) { return op == row.op; });
  return found == kRoofTable.end() ? nullptr : found;
}

}  // namespace plumbline
