// Who a rank of `plumbline launch` is, and the variables by which it learns that, in the manner of
// one launcher or another. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/host_files/backends.h"

namespace plumbline {

// Two entries of one machine are one group: their ranks are counted up together.
struct LaunchRank {
  size_t host = 0;
  int local_rank = 0, local_size = 1;  // on its machine
  int group = 0, groups = 1;           // which machine of how many
};
std::vector<LaunchRank> places_of(const std::vector<ScenarioHost>& hosts);

// What the variables of a style are made from.
struct StyleInput {
  const HostFile* file = nullptr;
  const LaunchFiles* mlx = nullptr;
  std::vector<LaunchRank> ranks;
  std::string master, run_id;
  int master_port = 0;
};

struct StyleRow {
  const char* name;
  EnvironmentList (*variables)(const StyleInput& in, size_t rank);
};
std::span<const StyleRow> launch_style_table();
const StyleRow* find_launch_style(const std::string& name);  // nullptr: none

}  // namespace plumbline
