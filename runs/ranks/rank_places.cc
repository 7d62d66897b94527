#include "runs/ranks/rank_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/placement.h"

namespace plumbline {
namespace {

// The launcher decided who runs where; of its ranks those take part, in the order that is asked
// for.
Expected<RankPlaces> launched_places(const std::vector<ScenarioHost>& hosts,
                                     const Launched& launched, const WorldShape& shape) {
  if (!launched.broken.empty()) {
    return fail(Error{ErrorCode::kAborted,
                      "the ranks that " + launched.program +
                          " started cannot be started again after: " + launched.broken,
                      0, "start the same command again; with --resume, run goes on from there",
                      ""});
  }
  const std::vector<size_t> chosen = hosts_of(hosts, shape.hosts);
  std::vector<std::vector<size_t>> on_host(hosts.size());
  std::vector<size_t> in_order;
  for (size_t i = 0; i < launched.ranks.size(); ++i) {
    const size_t host = launched.ranks[i].host;
    if (std::find(chosen.begin(), chosen.end(), host) == chosen.end()) continue;
    on_host[host].push_back(i);
    in_order.push_back(i);
  }
  const auto ranks = static_cast<size_t>(shape.ranks);
  if (ranks > in_order.size()) {
    return fail(ErrorCode::kUsage,
                fmt::format("{} ranks, but {} started {}{}{}", ranks, launched.program,
                            in_order.size(), shape.hosts.empty() ? "" : " on ", shape.hosts));
  }
  RankPlaces places;
  if (shape.distribution.empty()) {
    in_order.resize(ranks);
    for (const size_t member : in_order) places.hosts.push_back(launched.ranks[member].host);
    places.members = std::move(in_order);
    return places;
  }
  std::vector<size_t> taken(hosts.size(), 0);
  places.hosts = place_ranks(hosts, shape);
  for (const size_t host : places.hosts) places.members.push_back(on_host[host][taken[host]++]);
  return places;
}

// Why a thread of this machine's process cannot be a rank of that host; empty = it can.
std::string why_elsewhere(const ScenarioHost& host) {
  if (!host.ssh.empty()) return "another machine, behind ssh";
  if (!host.netns.empty()) return "network namespace " + host.netns;
  if (!host.binary.empty()) return "run with a program of its own, " + host.binary;
  return {};
}

}  // namespace

Expected<RankPlaces> places_in_world(const std::vector<ScenarioHost>& hosts,
                                     const Launched* launched, const WorldShape& shape) {
  if (launched != nullptr) return launched_places(hosts, *launched, shape);
  return RankPlaces{place_ranks(hosts, shape), {}};
}

Status check_ranks_in_process(bool asked, const std::optional<LauncherPlace>& place) {
  if (!place || !asked) return {};
  return fail(ErrorCode::kUsage,
              "--ranks-in-process under " + place->program + ", which starts a process per rank",
              "leave it out, or add --launcher none and start one process");
}

Status check_ranks_in_process(bool asked, const std::vector<ScenarioHost>& hosts) {
  if (!asked) return {};
  for (const ScenarioHost& host : hosts) {
    const std::string reason = why_elsewhere(host);
    if (reason.empty()) continue;
    return fail(ErrorCode::kUsage,
                "--ranks-in-process: the ranks of host " + host.name +
                    " cannot be threads of one process with the others: it is " + reason,
                "leave the flag out, or choose hosts that are this machine itself");
  }
  return {};
}

}  // namespace plumbline
