#include "reports/links/link_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/units.h"
#include "reports/text.h"
#include "reports/thresholds.h"

namespace plumbline {
namespace {

constexpr uint64_t kFillingBytes = 64 << 10;  // of a message

// What a measure gives, as grids. `value` of one link.
struct GridRow {
  const char* measure;
  const char* word;
  const char* title;
  LinkUnit unit;
  std::optional<double> (*value)(const LinkResult&);
  bool fills = false;
};

std::optional<double> rate_of(const LinkResult& link) { return link.rate_Bps; }

std::optional<double> loss(const LinkResult& link) {
  if (!link.udp || link.udp->sent == 0) return std::nullopt;
  return link.udp->share(link.udp->lost());
}

// Half a round trip, as perftest tells it.
std::optional<double> one_way(const LinkResult& link) {
  if (!link.rtt || !link.rtt->p50) return std::nullopt;
  return *link.rtt->p50 / 2;
}
std::optional<double> message_rate(const LinkResult& link) { return link.messages_per_s; }

constexpr GridRow kGrids[] = {
    {"latency", "latency_p50", "Round trip, median", LinkUnit::kTime,
     [](const LinkResult& l) { return l.rtt ? l.rtt->p50 : std::nullopt; }},
    {"latency", "latency_p99", "Round trip, p99", LinkUnit::kTime,
     [](const LinkResult& l) { return l.rtt ? l.rtt->p99 : std::nullopt; }},
    {"stream", "stream", "One stream, one way", LinkUnit::kRate, rate_of, true},
    {"duplex", "duplex", "Both ways at once", LinkUnit::kRate, rate_of},
    {"parallel", "parallel", "Parallel streams", LinkUnit::kRate, rate_of, true},
    {"loaded_rtt", "loaded_p50", "Round trip under load, median", LinkUnit::kTime,
     [](const LinkResult& l) { return l.loaded_rtt ? l.loaded_rtt->p50 : std::nullopt; }},
    {"incast", "incast", "All others to one receiver", LinkUnit::kRate, rate_of},
    {"udp", "loss", "Datagrams lost", LinkUnit::kShare, loss},
    {"udp", "jitter", "Jitter of datagrams", LinkUnit::kTime,
     [](const LinkResult& l) { return l.udp ? l.udp->jitter_ns : std::nullopt; }},
    {"all_pairs", "all_pairs", "All pairs at once", LinkUnit::kRate, rate_of},
    {"send_lat", "send_lat", "SEND, median of half a round trip", LinkUnit::kTime, one_way},
    {"write_lat", "write_lat", "RDMA WRITE, median of half a round trip", LinkUnit::kTime, one_way},
    {"read_lat", "read_lat", "RDMA READ, median", LinkUnit::kTime,
     [](const LinkResult& l) { return l.rtt ? l.rtt->p50 : std::nullopt; }},
    {"send_bw", "send_bw", "SEND, one way", LinkUnit::kRate, rate_of, true},
    {"send_bw", "send_mps", "SEND, messages a second", LinkUnit::kMessages, message_rate},
    {"write_bw", "write_bw", "RDMA WRITE, one way", LinkUnit::kRate, rate_of, true},
    {"write_bw", "write_mps", "RDMA WRITE, messages a second", LinkUnit::kMessages, message_rate},
    {"read_bw", "read_bw", "RDMA READ, one way", LinkUnit::kRate, rate_of, true},
    {"read_bw", "read_mps", "RDMA READ, messages a second", LinkUnit::kMessages, message_rate},
    {"send_bibw", "send_bibw", "SEND, both ways at once", LinkUnit::kRate, rate_of},
    {"write_bibw", "write_bibw", "RDMA WRITE, both ways at once", LinkUnit::kRate, rate_of},
};

// What tells cells of one measure apart: "64 B", "4 streams", "50 Mb/s".
std::string variant_of(const Cell& cell) {
  std::vector<std::string> parts;
  const LinkMeasureRow* const measure = find_link_measure(cell.measure);
  if (measure != nullptr && measure->sized) parts.push_back(format_bytes(cell.bytes));
  if (cell.measure == "parallel") parts.push_back(fmt::format("{} streams", cell.outstanding));
  if (measure != nullptr && measure->verbs && cell.outstanding > 1) {
    parts.push_back(fmt::format("{} queue pairs", cell.outstanding));
  }
  if (cell.measure == "udp") {
    parts.push_back(grid_text(LinkUnit::kRate, static_cast<double>(cell.rate_bps) / 8));
  }
  if (cell.repeat > 0) parts.push_back(fmt::format("repetition {}", cell.repeat));
  for (const auto& [name, value] : cell.params) parts.push_back(name + "=" + value);
  return join(parts, ", ");
}

std::string file_word(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || c == '_') out += c;
  }
  return out;
}

void add_grids(const Record& record, LinkWorld& world) {
  const std::string variant = variant_of(record.cell);
  for (const GridRow& row : kGrids) {
    if (record.cell.measure != row.measure) continue;
    LinkGrid grid{row.measure, row.word, row.title, row.unit, row.fills, {}};
    // Small messages fill no link.
    if (const LinkMeasureRow* measure = find_link_measure(row.measure);
        measure != nullptr && measure->verbs && record.cell.bytes < kFillingBytes) {
      grid.fills = false;
    }
    if (!variant.empty()) {
      grid.title += " (" + variant + ")";
      grid.name += "_" + file_word(variant);
    }
    grid.values.resize(static_cast<size_t>(world.ranks) * static_cast<size_t>(world.ranks));
    bool any = false;
    for (const LinkResult& link : record.measurement.links) {
      if (!link.measured() || std::max(link.from, link.to) >= world.ranks) continue;
      // Who READs gets the bytes.
      const bool back = row.measure == std::string_view("read_bw");
      auto& cell = grid.values[back ? pair_index(world.ranks, link.to, link.from)
                                    : pair_index(world.ranks, link.from, link.to)];
      cell = row.value(link);
      any = any || cell.has_value();
    }
    if (any) world.grids.push_back(std::move(grid));
  }
}

// Hosts by rank; where a host has several ranks, with the rank behind.
void add_names(LinkWorld& world) {
  std::vector<std::string> hosts(static_cast<size_t>(world.ranks));
  for (const Record* record : world.records) {
    for (const LinkResult& link : record->measurement.links) {
      if (std::max(link.from, link.to) >= world.ranks) continue;
      hosts[static_cast<size_t>(link.from)] = clean(link.from_host);
      hosts[static_cast<size_t>(link.to)] = clean(link.to_host);
    }
  }
  std::map<std::string, int> ranks_of;
  for (const std::string& host : hosts) ++ranks_of[host];
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::string& host = hosts[rank];
    if (host.empty()) {
      world.names.push_back(fmt::format("rank{}", rank));
    } else {
      world.names.push_back(ranks_of[host] > 1 ? fmt::format("{}:{}", host, rank) : host);
    }
  }
}

void add_missing(LinkWorld& world) {
  std::set<std::string> skipped;
  for (const Record* record : world.records) {
    for (const LinkResult& link : record->measurement.links) {
      if (std::max(link.from, link.to) >= world.ranks) continue;
      const std::string name = world.names[static_cast<size_t>(link.from)] + " > " +
                               world.names[static_cast<size_t>(link.to)];
      if (!link.skipped.empty()) skipped.insert(name + ": " + link.skipped);
      if (!link.error.empty()) world.failed.push_back(record->cell.measure + ": " + link.error);
    }
  }
  world.skipped.assign(skipped.begin(), skipped.end());
}

bool shares_cores(const Record& record) {
  std::set<std::string> boots;
  for (const HostFacts& host : record.environment.hosts) {
    if (!host.boot_id.empty() && !boots.insert(host.boot_id).second) return true;
  }
  return false;
}

}  // namespace

const LinkGrid* LinkWorld::find(const std::string& measure, LinkUnit unit) const {
  for (const LinkGrid& grid : grids) {
    if (grid.measure == measure && grid.unit == unit) return &grid;
  }
  return nullptr;
}

std::vector<bool> LinkWorld::direct() const {
  std::vector<bool> out(static_cast<size_t>(ranks) * static_cast<size_t>(ranks), false);
  for (const Record* record : records) {
    for (const LinkResult& link : record->measurement.links) {
      if (!link.skipped.empty() || !link.direct || std::max(link.from, link.to) >= ranks) continue;
      out[pair_index(ranks, link.from, link.to)] = true;
      out[pair_index(ranks, link.to, link.from)] = true;
    }
  }
  return out;
}

std::vector<LinkWorld> link_worlds(const View& view) {
  std::vector<LinkWorld> worlds;
  std::map<WorldKey, size_t> index;
  for (const Item& item : view.items) {
    const Record& record = *item.record;
    if (record.cell.kind != CellKind::kLink || record.measurement.links.empty()) continue;
    const auto [found, fresh] = index.try_emplace(world_key(record), worlds.size());
    if (fresh) {
      LinkWorld& world = worlds.emplace_back();
      world.ranks = record.cell.ranks;
      world.title = world_title(record);
    }
    worlds[found->second].records.push_back(&record);
  }
  for (LinkWorld& world : worlds) {
    add_names(world);
    add_missing(world);
    // In the order of the table of measures, whatever order they ran in.
    for (const LinkMeasureRow& row : link_measure_table()) {
      for (const Record* record : world.records) {
        if (record->cell.measure == row.name) add_grids(*record, world);
      }
    }
    for (const Record* record : world.records) {
      world.shared_cores = world.shared_cores || shares_cores(*record);
    }
  }
  return worlds;
}

const LinkGrid* rate_grid(const LinkWorld& world) {
  for (const LinkGrid& grid : world.grids) {
    if (grid.fills) return &grid;
  }
  for (const char* measure : {"duplex", "send_bibw", "write_bibw"}) {
    if (const LinkGrid* grid = world.find(measure, LinkUnit::kRate)) return grid;
  }
  return nullptr;
}

const LinkGrid* latency_grid(const LinkWorld& world) {
  for (const char* measure : {"latency", "send_lat", "write_lat", "read_lat"}) {
    if (const LinkGrid* grid = world.find(measure, LinkUnit::kTime)) return grid;
  }
  return nullptr;
}

std::string both_rates(double bytes_per_second) {
  return fmt::format("{} ({} GB/s)", grid_text(LinkUnit::kRate, bytes_per_second),
                     gbps_text(bytes_per_second));
}

std::string grid_text(LinkUnit unit, const std::optional<double>& value) {
  if (!value) return {};
  if (unit == LinkUnit::kTime) return format_duration(*value);
  if (unit == LinkUnit::kShare) return percent_text(value) + " %";
  if (unit == LinkUnit::kMessages) {
    if (*value >= 999.5e3) return fmt::format("{:.3g} M/s", *value / 1e6);
    return *value >= 999.5 ? fmt::format("{:.3g} k/s", *value / 1e3)
                           : fmt::format("{:.3g} /s", *value);
  }
  const double bits = *value * 8;
  const auto text = [bits](double scale, const char* word) {
    return fmt::format("{:.3g} {}", bits / scale, word);
  };
  if (bits >= 999.5e6) return bits >= 999.5e9 ? text(1e12, "Tb/s") : text(1e9, "Gb/s");
  return bits >= 999.5e3 ? text(1e6, "Mb/s") : text(1e3, "kb/s");
}

}  // namespace plumbline
