// How long a cell will take, roughly: for --dry-run and for the first minutes of a progress bar;
// and how long a run will still take, from these estimates scaled by how wrong they were so far.
// Pure.
#pragma once

#include "scenarios/plan.h"

namespace plumbline {

// Seconds, from a crude model of one operation over TCP on one machine.
double estimate_cell_s(const PlanCell& cell);
// Seconds that a group of ranks needs to start and connect.
double estimate_start_s(int ranks);

class Eta {
 public:
  explicit Eta(double estimated_s)
      : left_s_(estimated_s), estimated_s_(estimated_s / 10), took_s_(estimated_s_) {}

  // One more cell is done; `estimated_s` is its part of the sum.
  void done(double estimated_s, double took_s) {
    left_s_ -= estimated_s;
    estimated_s_ += estimated_s;
    took_s_ += took_s;
  }
  double seconds() const {
    const double scale = estimated_s_ > 0 ? took_s_ / estimated_s_ : 1.0;
    return left_s_ > 0 ? left_s_ * scale : 0.0;
  }

 private:
  double left_s_, estimated_s_, took_s_;
};

}  // namespace plumbline
