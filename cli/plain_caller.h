// The caller of commands that conduct no run: it says lines on standard error, shows no progress,
// and wants what the signals ask for.
#pragma once

#include <ostream>

#include "runs/caller.h"

namespace plumbline {

// What interrupts() says: one ends after what is under way, a second one at once.
Wish wish_of_signals();

class PlainCaller : public Caller {
 public:
  explicit PlainCaller(std::ostream& err) : err_(err) {}
  // One string, so that lines of several threads stay whole.
  void say(const std::string& line) override;
  void progress(const RunProgress&) override {}
  Wish ask() override { return wish_of_signals(); }

 private:
  std::ostream& err_;
};

}  // namespace plumbline
