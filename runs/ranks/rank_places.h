// Where the ranks of a world are: on hosts as a cell wants them, and of ranks that a launcher
// started those that take part. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "runs/ranks/launched.h"

namespace plumbline {

struct RankPlaces {
  std::vector<size_t> hosts;    // of each rank
  std::vector<size_t> members;  // each rank's place in Launched::ranks
};
// `launched`: null = we start them ourselves. An Error: its ranks are too few, or broken.
Expected<RankPlaces> places_in_world(const std::vector<ScenarioHost>& hosts,
                                     const Launched* launched, const WorldShape& shape);

}  // namespace plumbline
