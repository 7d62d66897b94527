#include "core/record/cell.h"

#include <string_view>

#include "core/json.h"
#include "core/sha256.h"

namespace plumbline {

void to_json(nlohmann::json& json, const Cell& cell) {
  json = {{"kind", cell.kind},
          {"op", cell.op},
          {"engine", cell.engine},
          {"transport", cell.transport},
          {"algorithm", cell.algorithm},
          {"dtype", cell.dtype},
          {"redop", cell.redop},
          {"root", cell.root},
          {"ranks", cell.ranks},
          {"bytes", cell.bytes},
          {"count", cell.count},
          {"placement", cell.placement},
          {"sync", cell.sync},
          {"cache", cell.cache},
          {"outstanding", cell.outstanding},
          {"repeat", cell.repeat},
          {"params", cell.params}};
  // Only where it means something: other cells keep their ids.
  if (!cell.measure.empty()) {
    json["measure"] = cell.measure;
    json["rate_bps"] = cell.rate_bps;
  }
  if (!cell.hosts.empty()) json["hosts"] = cell.hosts;
  if (!cell.distribution.empty()) json["distribution"] = cell.distribution;
}

void from_json(const nlohmann::json& json, Cell& cell) {
  get_field(json, "kind", cell.kind);
  get_field(json, "op", cell.op);
  get_field(json, "engine", cell.engine);
  get_field(json, "transport", cell.transport);
  get_field(json, "algorithm", cell.algorithm);
  get_field(json, "dtype", cell.dtype);
  get_field(json, "redop", cell.redop);
  get_field(json, "root", cell.root);
  get_field(json, "ranks", cell.ranks);
  get_field(json, "bytes", cell.bytes);
  get_field(json, "count", cell.count);
  get_field(json, "placement", cell.placement);
  get_field(json, "sync", cell.sync);
  get_field(json, "cache", cell.cache);
  get_field(json, "outstanding", cell.outstanding);
  get_field(json, "repeat", cell.repeat);
  get_field(json, "params", cell.params);
  cell.measure = json.value("measure", std::string());
  cell.rate_bps = json.value("rate_bps", uint64_t{0});
  cell.hosts = json.value("hosts", std::string());
  cell.distribution = json.value("distribution", std::string());
}

std::string canonical_json(const Cell& cell) {
  // nlohmann's default object is a std::map: keys come out sorted.
  return nlohmann::json(cell).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string cell_id(const Cell& cell) { return to_hex(sha256(canonical_json(cell))).substr(0, 16); }

size_t CellIds::Hash::operator()(const Cell& cell) const {
  size_t hash = 0;
  const auto add = [&hash](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U; };
  for (const std::string* word :
       {&cell.kind, &cell.op, &cell.transport, &cell.algorithm, &cell.dtype, &cell.redop,
        &cell.placement, &cell.sync, &cell.measure, &cell.hosts}) {
    add(std::hash<std::string_view>()(*word));
  }
  for (const uint64_t number : {static_cast<uint64_t>(cell.ranks), cell.bytes, cell.count,
                                static_cast<uint64_t>(cell.outstanding),
                                static_cast<uint64_t>(cell.repeat), uint64_t{cell.params.size()}}) {
    add(number);
  }
  return hash;
}

const std::string& CellIds::of(const Cell& cell) {
  constexpr size_t kMost = 20'000;
  if (const auto known = ids_.find(cell); known != ids_.end()) return known->second;
  if (ids_.size() >= kMost) ids_.clear();
  return ids_.emplace(cell, cell_id(cell)).first->second;
}

}  // namespace plumbline
