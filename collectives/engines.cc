// The one table of engines.
#include <fmt/format.h>

#include "collectives/engine.h"
#include "core/hint.h"

namespace plumbline {
namespace {

std::string always_available() { return {}; }
// Which algorithm can do what is said by the table of algorithms.
std::string does_every_cell(const Cell& /*cell*/) { return {}; }

constexpr EngineRow kEngines[] = {
    {kNativeEngine, "plumbline's own schedules over its transports", always_available,
     does_every_cell, open_native_engine},
};

}  // namespace

std::span<const EngineRow> engine_table() { return kEngines; }

Expected<const EngineRow*> find_engine(std::string_view name) {
  return find_engine(kEngines, name);
}

Expected<const EngineRow*> find_engine(std::span<const EngineRow> table, std::string_view name) {
  std::vector<std::string> names;
  for (const EngineRow& row : table) {
    names.emplace_back(row.name);
    if (name != row.name) continue;
    const std::string reason = row.unavailable();
    if (reason.empty()) return &row;
    return fail(ErrorCode::kUnsupported, fmt::format("engine {}: {}", name, reason),
                fmt::format("use the engine {}", kNativeEngine));
  }
  const std::string wrong(name);
  return fail(ErrorCode::kUsage, fmt::format("there is no engine {}", in_quotes(wrong)),
              hint_for(wrong, names));
}

std::string engine_unsupported(const Cell& cell) {
  for (const EngineRow& row : kEngines) {
    if (cell.engine != row.name) continue;
    const std::string reason = row.unavailable();
    return reason.empty() ? row.unsupported(cell) : reason;
  }
  return {};
}

}  // namespace plumbline
