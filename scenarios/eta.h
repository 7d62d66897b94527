// How long a run will still take: the plan's estimates, scaled by how wrong they were so far. The
// first cells also start the ranks, so that their own error is no measure of the others': the
// estimate counts as if a tenth of the plan had already taken what it said. Pure.
#pragma once

namespace plumbline {

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
