// MLX's JACCL: RDMA over Thunderbolt, with a TCP connection of every rank to rank 0 for the start.
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/json.h"
#include "core/number.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/mlx.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

// A cell is null, a name, or a list of names (one for each cable).
std::vector<std::string> names_in(const nlohmann::json& cell) {
  if (cell.is_string()) return {cell.get<std::string>()};
  if (cell.is_array()) return cell.get<std::vector<std::string>>();
  return {};
}

// The devices of each rank, by the rank that they face.
using DeviceMatrix = std::vector<std::vector<std::vector<std::string>>>;
Expected<DeviceMatrix> read_matrix(const std::string& text) {
  try {
    DeviceMatrix out;
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const nlohmann::json& row : json) {
      out.emplace_back();
      for (const nlohmann::json& cell : row) out.back().push_back(names_in(cell));
    }
    return out;
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::kConfig, "no matrix of device names: " + json_reason(problem));
  }
}

// Names that win over MLX's, as in JACCL itself.
std::string jaccl_variable(const PlannedRank& rank, const char* own, const char* mlx) {
  return rank.is_set(own) ? rank.variable(own) : rank.variable(mlx);
}

class JacclPlan {
 public:
  JacclPlan(const StackQuestion& question, StackPlan& plan) : question_(question), plan_(plan) {}

  void run() {
    for (size_t i = 0; i < plan_.ranks.size(); ++i) {
      PlannedRank rank(question_, plan_, i);
      coordinate(rank);
      devices(rank, i);
    }
  }

 private:
  void coordinate(PlannedRank& rank) {
    const std::string place = jaccl_variable(rank, "JACCL_COORDINATOR", "MLX_JACCL_COORDINATOR");
    const size_t colon = place.find(':');
    const auto port =
        colon == std::string::npos ? std::nullopt : parse_port(place.substr(colon + 1));
    const std::string ip = place.substr(0, colon);
    if (!port || !parse_ip(ip)) {
      rank.cannot(place.empty() ? "no coordinator is given" : "'" + place + "' is no coordinator");
      rank.trap("config.mismatch", "fail",
                place.empty()
                    ? "MLX_JACCL_COORDINATOR is not set: the address of rank 0 is missing"
                    : fmt::format("MLX_JACCL_COORDINATOR={} is no IPv4 address with a port", place),
                "give the first host an address under `ips` that all hosts reach");
      return;
    }
    if (rank.rank().rank != 0) return;
    plan_.rendezvous_host = rank.rank().host;
    plan_.rendezvous_ip = ip;
    plan_.rendezvous_port = *port;
    rank.choose(ip, "MLX_JACCL_COORDINATOR");
    rank.fixed("rendezvous (JACCL's side channel)", ip, *port);
    if (!rank.known() || carrier_on(rank.host(), ip)) return;
    rank.trap("ip.missing", "fail",
              fmt::format("rank 0 would listen on {}, which is no address of {} (bind fails with "
                          "errno 49)",
                          ip, rank.rank().host),
              "write the host file anew: addresses change when Macs restart", {*port});
  }

  void devices(PlannedRank& rank, size_t index) {
    const std::string path = jaccl_variable(rank, "JACCL_IBV_DEVICES", "MLX_IBV_DEVICES");
    const auto file = question_.files.find(path);
    if (file == question_.files.end()) {
      rank.cannot(path.empty() ? "MLX_IBV_DEVICES is not set"
                               : "what stands in " + path + " is not known");
      return;
    }
    const auto matrix = read_matrix(file->second);
    if (!matrix || index >= matrix->size()) {
      rank.cannot(matrix ? path + " has no row of this rank" : path + ": " + matrix.error().what);
      return;
    }
    const auto& row = (*matrix)[index];
    for (size_t peer = 0; peer < row.size(); ++peer) {
      for (const std::string& device : row[peer]) {
        rank.rank().also.push_back(fmt::format("{} to rank {}", device, peer));
        look_for(rank, device);
      }
    }
  }

  void look_for(PlannedRank& rank, const std::string& device) {
    const auto& rdma = rank.host().rdma;
    if (!rank.known() || !rdma || rdma->devices.empty()) return;
    const RdmaDevice* found =
        find_where(rdma->devices, [&](const RdmaDevice& each) { return each.name == device; });
    if (found == nullptr) {
      rank.trap("rdma.no_device", "fail",
                fmt::format("the matrix names {}, which {} does not have ('Could not find device')",
                            device, rank.rank().host),
                "write the host file anew: device names change with the ports that are used");
    }
  }

  const StackQuestion& question_;
  StackPlan& plan_;
};

}  // namespace

void plan_mlx_common(const StackQuestion& question, StackPlan& plan) {
  plan.remarks.emplace_back(
      "mx.distributed.init() without a backend ends as a world of one rank whose collectives do "
      "nothing when none can be had: name the backend, and check the size");
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    const PlannedRank rank(question, plan, i);
    if (!rank.is_set("MLX_METAL_FAST_SYNCH")) continue;
    plan.remarks.emplace_back(
        "MLX_METAL_FAST_SYNCH is set: community guides and exo call it essential for RDMA (5 to 6 "
        "times the tokens per second), while a race of its fences has left GPUs busy until a "
        "restart and garbled output, and MLX's documentation dropped it in August 2026: measure "
        "both, and check the output");
    break;
  }
}

void plan_mlx_jaccl(const StackQuestion& question, StackPlan& plan) {
  plan_mlx_common(question, plan);
  JacclPlan(question, plan).run();
}

}  // namespace plumbline
