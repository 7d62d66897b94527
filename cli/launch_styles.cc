#include "cli/launch_styles.h"

#include <map>

namespace plumbline {
namespace {

EnvironmentList plumbline_variables(const StyleInput& in, size_t rank) {
  const LaunchRank& place = in.ranks[rank];
  return {{"PLUMBLINE_RANK", std::to_string(rank)},
          {"PLUMBLINE_WORLD_SIZE", std::to_string(in.ranks.size())},
          {"PLUMBLINE_LOCAL_RANK", std::to_string(place.local_rank)},
          {"PLUMBLINE_LOCAL_WORLD_SIZE", std::to_string(place.local_size)},
          {"PLUMBLINE_MASTER_ADDR", in.master}};
}

// As torch/distributed/elastic/agent/server/local_elastic_agent.py sets them. A group is an agent
// of torchrun's, one per machine; all ranks have the one role that torchrun gives them, so that
// their place in it is their rank.
EnvironmentList torchrun_variables(const StyleInput& in, size_t rank) {
  const LaunchRank& place = in.ranks[rank];
  const std::string number = std::to_string(rank), size = std::to_string(in.ranks.size());
  return {{"RANK", number},
          {"WORLD_SIZE", size},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)},
          {"GROUP_RANK", std::to_string(place.group)},
          {"GROUP_WORLD_SIZE", std::to_string(place.groups)},
          {"ROLE_NAME", "default"},
          {"ROLE_RANK", number},
          {"ROLE_WORLD_SIZE", size},
          {"MASTER_ADDR", in.master},
          {"MASTER_PORT", std::to_string(in.master_port)}};
}

EnvironmentList mlx_variables(const StyleInput& in, size_t rank) {
  return in.mlx->environment[rank];
}

constexpr StyleRow kStyles[] = {
    {"plumbline", plumbline_variables}, {"torchrun", torchrun_variables}, {"mlx", mlx_variables}};

}  // namespace

std::vector<LaunchRank> places_of(const std::vector<ScenarioHost>& hosts) {
  std::vector<LaunchRank> ranks;
  std::map<std::string, int> groups;  // machine -> number
  std::vector<int> sizes;
  for (size_t host = 0; host < hosts.size(); ++host) {
    const auto fresh = static_cast<int>(groups.size());
    const int group = groups.emplace(machine_of(hosts[host]), fresh).first->second;
    if (group == fresh) sizes.push_back(0);
    int& size = sizes[static_cast<size_t>(group)];
    for (int i = 0; i < hosts[host].ranks; ++i) ranks.push_back({host, size++, 0, group, 0});
  }
  for (LaunchRank& rank : ranks) {
    rank.local_size = sizes[static_cast<size_t>(rank.group)];
    rank.groups = static_cast<int>(sizes.size());
  }
  return ranks;
}

std::span<const StyleRow> launch_style_table() { return kStyles; }

const StyleRow* find_launch_style(const std::string& name) {
  for (const StyleRow& row : kStyles) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace plumbline
