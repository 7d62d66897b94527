// What a process started and what came of that, also where it went into a session of its own or
// lost its parent (a daemon). Linux: this process becomes the parent of its descendants' orphans,
// so that all of them stay below it, whatever they do. macOS has no such thing: there it is what
// carries a variable of ours in its environment, which a program can take out. Platform code:
// offspring_linux.cc, offspring_macos.cc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace plumbline {

class Offspring {
 public:
  // Before anything is started. One per process.
  Offspring();
  // Those that live now, but for this process itself; the ended ones that wait to be reaped are
  // none.
  std::vector<pid_t> find() const;

 private:
  std::string mark_;  // macOS: the variable's value
};

}  // namespace plumbline
