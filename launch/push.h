// Copying plumbline to another machine: the two questions that a coordinator asks a host's POSIX
// shell over ssh, and the reading of what it answers. `look` says what is there; `send` takes the
// program on its standard input and puts it, checked, to
//   ${XDG_CACHE_HOME:-$HOME/.cache}/plumbline/SHA256/plumbline
// Both run through any login shell (they are one line without `!`), need nothing but POSIX tools
// and one of sha256sum, shasum, openssl, and start no file whose SHA-256 is not the one that was
// asked for. Copies that are sent at once do not disturb each other: each has a name of its own
// until it is complete, and then takes the place of the final one in one step. See the XDG base
// directory specification for the folder. Pure; thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

struct PushQuestion {
  bool accept_own = false;  // the program that is there may be used when it is of the same build
  std::string build;        // ours (runs/build.h)
  std::string program;      // the path that would be started there
  std::map<std::string, std::string> hashes;  // machine -> SHA-256 of what we could send it
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
  // own: `program` is of our build. there: at `text`. send: nothing yet for the machine `text`.
  // system, machine: `text` is no Linux; no machine that we have a program for. All others: a row
  // of push_failure(), `text` being what the host's tools said.
  std::string word;
  bool present = false;  // `program` starts there, of whatever build
  std::string text;
};
// Of a host's standard output; what a login shell prints before is overread. Empty word = no
// answer.
PushAnswer read_push_answer(const std::string& output);

// What an answer other than own, there and send means, with what to do; cause ssh.no_binary.
Error push_failure(const std::string& host, const PushAnswer& answer);

}  // namespace plumbline
