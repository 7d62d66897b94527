// A run as its user sees it on standard error while it goes: lines, the probes' one line, then the
// table of cells with a bar.
#pragma once

#include <string>

#include "cli/args.h"
#include "cli/plain_caller.h"
#include "cli/progress.h"
#include "cli/status_line.h"

namespace plumbline {

class RunScreen : public Caller {
 public:
  // `quiet`: lines only.
  RunScreen(Context& context, bool quiet);
  void say(const std::string& line) override;
  void progress(const RunProgress& state) override;
  Wish ask() override { return wish_of_signals(); }

 private:
  const bool quiet_;
  StatusLine probing_;
  Progress cells_;
};

}  // namespace plumbline
