// Where more load stops being worth it: the knee of a sweep. The measure is power, what comes out
// a second over the time that one request takes (L. Kleinrock, "Power and deterministic rules of
// thumb for probabilistic problems in computer communications", ICC 1979): it grows while load
// brings more than it costs, and falls when requests only wait for one another. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace plumbline {

struct LoadPoint {
  double load = 0;     // requests at a time
  double rate = 0;     // what comes out, a second
  double time_ns = 0;  // of one request
};

struct Knee {
  size_t index = 0;     // of the point with the greatest power; of equal ones the least load
  bool at_end = false;  // the sweep ends there: the knee may lie beyond it
};

// Of points by ascending load, at least three that are sound (all numbers above 0); others are
// passed over.
std::optional<Knee> knee_of(std::span<const LoadPoint> points);

}  // namespace plumbline
