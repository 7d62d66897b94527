// Whoever asked for a run and looks on while it goes: the command line with its terminal, a test,
// another program. What conducts a run speaks to it through these three functions and no other way.
#pragma once

#include <string>

#include "scenarios/runner.h"

namespace plumbline {

// What somebody who looks on wants: the run goes on, ends after what is under way, ends at once.
enum class Wish { kGoOn, kEnd, kEndNow };

class Caller {
 public:
  virtual ~Caller() = default;
  // A line to be read, whole and without its end; whoever shows it cleans it. From any thread.
  virtual void say(const std::string& line) = 0;
  // Where the run stands.
  virtual void progress(const RunProgress& state) = 0;
  // What is wanted by now; asked often, and from any thread.
  virtual Wish ask() = 0;
};

}  // namespace plumbline
