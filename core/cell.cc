#include "core/cell.h"

#include <nlohmann/json.hpp>

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
  json.at("kind").get_to(cell.kind);
  json.at("op").get_to(cell.op);
  json.at("engine").get_to(cell.engine);
  json.at("transport").get_to(cell.transport);
  json.at("algorithm").get_to(cell.algorithm);
  json.at("dtype").get_to(cell.dtype);
  json.at("redop").get_to(cell.redop);
  json.at("root").get_to(cell.root);
  json.at("ranks").get_to(cell.ranks);
  json.at("bytes").get_to(cell.bytes);
  json.at("count").get_to(cell.count);
  json.at("placement").get_to(cell.placement);
  json.at("sync").get_to(cell.sync);
  json.at("cache").get_to(cell.cache);
  json.at("outstanding").get_to(cell.outstanding);
  json.at("repeat").get_to(cell.repeat);
  json.at("params").get_to(cell.params);
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

}  // namespace plumbline
