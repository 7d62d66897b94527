// Copying plumbline to another machine. First the program: one that needs nothing of the system it
// runs on but what each machine with it has, as scripts/static_binary.sh (Linux) and
// scripts/cross_macos.sh --ship (macOS) build it, called plumbline-SYSTEM-MACHINE as `uname` says
// both, the system in small letters; where it lies on this machine, and whether it is what its name
// says. Then the two questions that a coordinator asks a host's POSIX shell over ssh, and the
// reading of what it answers. `look` says what is there; `send` takes the program on its standard
// input and puts it, checked, to
//   ${XDG_CACHE_HOME:-$HOME/.cache}/plumbline/SHA256/plumbline
// Both run through any login shell (they are one line without `!`), need nothing but POSIX tools
// and one of sha256sum, shasum, openssl, and start no file whose SHA-256 is not the one that was
// asked for. Copies that are sent at once do not disturb each other: each has a name of its own
// until it is complete, and then takes the place of the final one in one step. See the XDG base
// directory specification for the folder. Reads files at the most; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

// Stands in every plumbline before its build (runs/build.cc). A macro, to be joined to it at
// compile time.
#define PLUMBLINE_BUILD_MARK "plumbline-build:"

namespace plumbline {

struct PushQuestion {
  bool accept_own = false;  // the program that is there may be used when it is of the same build
  std::string build;        // ours (runs/build.h)
  std::string program;      // the path that would be started there
  std::map<std::string, std::string> hashes;  // platform -> SHA-256 of what we could send it
};
// What starts on the host, as words for ssh_command().
std::vector<std::string> push_look_words(const PushQuestion& question);

struct PushShipment {
  std::string sha256, build;
  size_t bytes = 0;
  std::string id;  // of this copy: letters and digits
};
std::vector<std::string> push_send_words(const PushShipment& shipment);

struct PushAnswer {
  // own: `program` is of our build. there: at `text`. send: nothing yet for the platform `text`.
  // platform: there is none of ours for `text`. All others: a row of push_failure(), `text` being
  // what the host's tools said.
  std::string word;
  bool present = false;  // `program` starts there, of whatever build
  std::string text;
};
// Of a host's standard output; what a login shell prints before is overread. Empty word = no
// answer.
PushAnswer read_push_answer(const std::string& output);

// What an answer other than own, there and send means, with what to do; cause ssh.no_binary.
Error push_failure(const std::string& host, const PushAnswer& answer);

struct StaticBinary {
  std::string path;
  std::string sha256;   // hex, of `content`
  std::string content;  // the whole file
};

struct StaticMachine {
  const char *system, *name;  // of `uname -s` and `uname -m`
  const char* file;           // what the program is called
  const char* builder;        // the command that makes the program
  const char* folder;         // where it leaves it, beside the build's own folder
  uint16_t elf_machine;       // Linux: e_machine of its programs, see elf(5)
  // What is wrong with bytes as a program for it that brings along what the system has not; empty =
  // nothing.
  std::string (*why_not)(std::string_view content, const StaticMachine& machine);
};
// Every system and architecture that can be built.
const std::vector<StaticMachine>& static_machines();

// `Linux x86_64`: how hosts are told apart.
std::string platform_of(const StaticMachine& machine);

// The files that may hold the plumbline of a machine, in the order they are looked at: in `folder`
// when one is named, else beside `program` (the one that runs), where a build leaves it, and the
// running program itself.
std::vector<std::string> static_places(const std::string& program, const std::string& folder,
                                       const StaticMachine& machine);

// What is wrong with such a file as a program for that machine and of that build (core version and
// commit); empty = nothing.
std::string why_not_static(std::string_view content, const StaticMachine& machine,
                           const std::string& build);

// The first file of these places that is right; an Error names each and what is wrong with it.
Expected<StaticBinary> find_static_binary(const std::vector<std::string>& places,
                                          const StaticMachine& machine, const std::string& build);

}  // namespace plumbline
