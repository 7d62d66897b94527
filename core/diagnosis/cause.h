// The vocabulary of diagnosis: every root cause that plumbline can name, as one table. The ids are
// part of the interface: scripts, docs and tests rely on them. docs/diagnosis.md is generated from
// it, `plumbline explain` and the rules speak in its words. Thread-safe.
#pragma once

#include <span>
#include <string_view>

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

}  // namespace plumbline
