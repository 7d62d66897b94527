// A plumbline that needs nothing of the Linux it runs on, as scripts/static_binary.sh builds it:
// where it lies on this machine, and whether it is what its name says before it is copied anywhere.
// Such a file is called plumbline-linux-MACHINE, MACHINE as `uname -m` says it. Reads files only;
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

// Stands in every plumbline before its build (runs/build.cc). A macro, to be joined to it at
// compile time.
#define PLUMBLINE_BUILD_MARK "plumbline-build:"

namespace plumbline {

struct StaticBinary {
  std::string path, machine;
  std::string sha256;   // hex, of `content`
  std::string content;  // the whole file
};

struct StaticMachine {
  const char* name;  // of `uname -m`
  int elf_machine;   // e_machine of its programs, see elf(5)
};
// Every architecture that can be built.
const std::vector<StaticMachine>& static_machines();

// The files that may hold the static plumbline of a machine, in the order they are looked at: in
// `folder` when one is named, else beside `program` (the one that runs), where a build leaves it
// (build-static beside the build's own folder), and the running program itself.
std::vector<std::string> static_places(const std::string& program, const std::string& folder,
                                       const std::string& machine);

// What is wrong with such a file as a static program of that machine and build (core version and
// commit); empty = nothing.
std::string why_not_static(std::string_view content, const StaticMachine& machine,
                           const std::string& build);

// The first file of these places that is right; an Error names each and what is wrong with it.
Expected<StaticBinary> find_static_binary(const std::vector<std::string>& places,
                                          const StaticMachine& machine, const std::string& build);

}  // namespace plumbline
