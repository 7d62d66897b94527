// The caller of commands that conduct no run: it says lines on standard error, shows no progress,
// and wants what the signals ask for. Ctrl-C is counted: the first asks the run to end in order,
// the second to end now. Signal handlers cannot be handed a context, so the count is this program's
// one piece of global state. Thread-safe.
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

// Counts SIGINT and SIGTERM from now on instead of dying from them.
void watch_interrupts();
int interrupts();

// For a process that serves another one which has gone: what still runs has a moment to end, then
// SIGALRM ends it.
void end_soon();

}  // namespace plumbline
