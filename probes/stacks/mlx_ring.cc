// MLX's ring over TCP.
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

// [["10.0.1.1:32323"], ["10.0.1.2:32324"]]: by rank the places where it waits.
Expected<std::vector<std::vector<std::string>>> read_ring(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<std::vector<std::vector<std::string>>>();
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::kConfig, "no list of lists of addresses: " + json_reason(problem));
  }
}

void plan_place(PlannedRank& rank, const std::string& place) {
  const size_t colon = place.find(':');  // as parse_address of ring.cpp splits it
  const std::string ip = place.substr(0, colon);
  const auto port = colon == std::string::npos ? std::nullopt : parse_port(place.substr(colon + 1));
  if (!port || !parse_ip(ip) || is_v6(ip)) {
    rank.trap(
        "config.mismatch", "fail",
        fmt::format("'{}' of rank {} is no IPv4 address with a port", place, rank.rank().rank),
        "write places as 10.0.1.1:32323");
    return;
  }
  if (rank.rank().ip.empty()) {
    rank.choose(ip, "MLX_HOSTFILE");
  } else {
    rank.rank().also.push_back(ip);
  }
  rank.fixed("the rank before it, in the ring", ip, *port);
  if (!rank.known() || carrier_on(rank.host(), ip)) return;
  rank.trap("ip.missing", "fail",
            fmt::format("rank {} would listen on {}, which is no address of {}", rank.rank().rank,
                        ip, rank.rank().host),
            "write the host file anew: addresses change when Macs restart", {*port});
}

}  // namespace

void plan_mlx_ring(const StackQuestion& question, StackPlan& plan) {
  plan_mlx_common(question, plan);
  std::vector<std::vector<std::string>> ring;
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    PlannedRank rank(question, plan, i);
    const std::string path = rank.variable("MLX_HOSTFILE");
    const auto file = question.files.find(path);
    if (file == question.files.end()) {
      rank.cannot(path.empty() ? "MLX_HOSTFILE is not set: MLX makes a world of one rank of it"
                               : "what stands in " + path + " is not known");
      continue;
    }
    const auto read = read_ring(file->second);
    if (!read) {
      rank.cannot(path + ": " + read.error().what);
      continue;
    }
    if (i >= read->size()) {
      rank.cannot(fmt::format("{} has {} ranks only", path, read->size()));
      continue;
    }
    for (const std::string& place : (*read)[i]) plan_place(rank, place);
  }
}

}  // namespace plumbline
