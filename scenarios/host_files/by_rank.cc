// Lists by rank, which name no machines. JACCL's device matrix alone, the file behind
// MLX_IBV_DEVICES: row i has the devices of rank i, cell [i][j] the one that faces rank j (null for
// itself, a list where several cables do). The file behind MLX_HOSTFILE of MLX's ring: by rank a
// list of "ip:port", where that rank waits for the one before it; its hosts are reached at these
// addresses themselves.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/host/ip.h"
#include "core/json.h"
#include "core/number.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/json_text.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

// Is the list short enough to be read? What it has too many of is reported.
bool is_bounded(const Json& list, const char* what, Problems& problems) {
  if (list.size() <= kMaxListLength) return true;
  problems.add("$", fmt::format("has {} {}", list.size(), what),
               fmt::format("at most {} are accepted", kMaxListLength));
  return false;
}

struct Endpoint {
  std::string ip;
  int port = 0;
};

// "10.0.1.1:32323", "[fd00::1]:32323".
std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  Endpoint out;
  out.ip = text.substr(0, colon);
  const bool bracketed = out.ip.size() > 2 && out.ip.front() == '[' && out.ip.back() == ']';
  if (bracketed) out.ip = out.ip.substr(1, out.ip.size() - 2);
  if (!ip_problem(out.ip).empty() || bracketed != is_v6(out.ip)) return std::nullopt;
  const auto port = parse_port(std::string_view(text).substr(colon + 1));
  if (!port) return std::nullopt;
  out.port = *port;
  return out;
}

std::string endpoint_text(const std::string& ip, int port) {
  return is_v6(ip) ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

void read_rank(const Json& list, size_t rank, HostFile& out, Problems& problems) {
  const std::string where = json_path("$", rank);
  out.ips.emplace_back();
  out.ports.emplace_back();
  if (list.empty() || list.size() > kMaxListLength) {
    problems.add(where, "is no list of addresses", "a rank of a ring has at least one \"ip:port\"");
  }
  for (size_t i = 0; i < list.size() && i < kMaxListLength; ++i) {
    const std::string text = list[i].is_string() ? list[i].get<std::string>() : "";
    const std::optional<Endpoint> endpoint = parse_endpoint(text);
    if (!endpoint) {
      const bool portless = ip_problem(text).empty();
      problems.add(json_path(where, i),
                   portless ? fmt::format("{} is no address with a port: the port is missing",
                                          in_quotes(text))
                            : fmt::format("{} is no address with a port", in_quotes(text)),
                   "a ring file names the port behind each address: \"10.0.1.1:32323\"");
      continue;
    }
    out.ips.back().push_back(endpoint->ip);
    out.ports.back().push_back(endpoint->port);
  }
}

ScenarioHost ring_host(const HostFile& file, size_t rank, int ranks) {
  ScenarioHost host = unnamed_host(rank, ranks);
  host.ring = true;
  for (const std::string& ip : file.ips[rank]) {
    const bool known = contains(host.data, ip);
    if (!known) host.data.push_back(ip);
  }
  if (host.data.empty()) return host;  // reported
  host.local = is_loopback_ip(host.data[0]);
  if (!host.local) host.ssh = host.data[0];
  return host;
}

}  // namespace

bool is_device_matrix(const HostText& in) {
  return in.json != nullptr && in.json->is_array() && !in.json->empty() &&
         std::all_of(in.json->begin(), in.json->end(),
                     [](const Json& row) { return row.is_array(); });
}

HostFile read_device_matrix(const HostText& in, Problems& problems) {
  HostFile out;
  const Json& rows = *in.json;
  if (!is_bounded(rows, "rows", problems)) return out;
  for (size_t i = 0; i < rows.size(); ++i) {
    ScenarioHost host = unnamed_host(i, in.usual_ranks());
    host.rdma = read_device_row(rows[i], i, json_path("$", i), problems);
    host.data_interfaces = matrix_interfaces(host);
    out.hosts.push_back(std::move(host));
    out.places.push_back(json_path("$", i));
  }
  return out;
}

Expected<std::string> write_device_matrix(const HostFile& file, int) {
  Json rows = Json::array();
  for (const ScenarioHost& host : file.hosts) {
    if (host.rdma.size() != file.hosts.size()) {
      return fail(
          ErrorCode::kConfig,
          fmt::format("write {} as a device matrix: the row of {} has {} cells for {} hosts",
                      file.file, host.name, host.rdma.size(), file.hosts.size()),
          "give every host a key `rdma` with one cell per host");
    }
    rows.push_back(cells_json(host));
  }
  return lines_of(rows, "") + "\n";
}

bool is_ring_file(const HostText& in) {
  if (!is_device_matrix(in)) return false;  // lists in a list, both of them
  // An address without its port is no device either: read_rank() says what is missing.
  const auto is_endpoint = [](const Json& cell) {
    if (!cell.is_string()) return false;
    const auto& text = cell.get_ref<const std::string&>();
    return text.find(':') != std::string::npos || ip_problem(text).empty();
  };
  return std::any_of(in.json->begin(), in.json->end(), [&](const Json& list) {
    return std::any_of(list.begin(), list.end(), is_endpoint);
  });
}

HostFile read_ring_file(const HostText& in, Problems& problems) {
  HostFile out;
  out.backend = "ring";
  const Json& ranks = *in.json;
  if (!is_bounded(ranks, "ranks", problems)) return out;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    read_rank(ranks[rank], rank, out, problems);
    out.hosts.push_back(ring_host(out, rank, in.usual_ranks()));
    out.places.push_back(json_path("$", rank));
  }
  return out;
}

Expected<std::string> write_ring_file(const HostFile& file, int port) {
  Json ranks = Json::array();
  int next = port == 0 ? kMlxStartingPort : port;
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    const Expected<std::vector<std::string>> ips = ring_addresses(file, i);
    if (!ips) return fail(ips.error());
    const bool own_ports = port == 0 && i < file.ports.size();
    // Ranks that share a host listen side by side.
    for (int copy = 0; copy < file.hosts[i].ranks; ++copy) {
      Json endpoints = Json::array();
      for (size_t k = 0; k < ips->size(); ++k) {
        if (next > 65535) {
          return fail(ErrorCode::kConfig, "the ports of the ring run past 65535",
                      "start lower with --port");
        }
        endpoints.push_back(endpoint_text((*ips)[k], own_ports ? file.ports[i][k] : next++));
      }
      ranks.push_back(std::move(endpoints));
    }
  }
  return lines_of(ranks, "") + "\n";
}

}  // namespace plumbline
