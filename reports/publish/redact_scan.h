// Where addresses and paths stand in a line of text, whatever surrounds them: "10.0.0.1-10.0.0.9",
// "wlx0200c0ffee01" and "log:/srv/x" hold two addresses, a MAC and a path. When in doubt it is one:
// a word too few in a public file does less harm than a name too many. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace plumbline {

struct Found {
  const char* kind = "";  // "addr", "mac" or "path"
  size_t length = 0;      // characters from where it was looked for; 0 = nothing begins there
};

// IPv4 (also with dashes, as in ip-10-0-0-1), IPv6, reversed names (in-addr.arpa), MAC addresses in
// the ways in which tools write them: with : - . or blanks, macOS' arp without leading zeros,
// twelve digits in one.
Found address_at(std::string_view text, size_t at);

// Absolute paths, ~ and ~name, ./ and ../, and words with two slashes. Blanks belong to it as long
// as a slash follows soon ("/srv/ann lee/x y/z"), and up to the closing quote inside quotes.
Found path_at(std::string_view text, size_t at);

}  // namespace plumbline
