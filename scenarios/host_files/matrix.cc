// JACCL's device matrix alone, the file behind MLX_IBV_DEVICES: row i has the devices of rank i,
// cell [i][j] the one that faces rank j (null for itself, a list where several cables do).
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/limits.h"
#include "scenarios/read.h"

namespace plumbline {

bool is_device_matrix(const HostText& in) {
  return in.json != nullptr && in.json->is_array() && !in.json->empty() &&
         std::all_of(in.json->begin(), in.json->end(),
                     [](const Json& row) { return row.is_array(); });
}

HostFile read_device_matrix(const HostText& in, Problems& problems) {
  HostFile out;
  const Json& rows = *in.json;
  if (rows.size() > kMaxListLength) {
    problems.add("$", fmt::format("has {} rows", rows.size()),
                 fmt::format("at most {} are accepted", kMaxListLength));
    return out;
  }
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

}  // namespace plumbline
