// Takes names, addresses and paths out of the few texts of a record that are published: each
// becomes an ordinal of this bundle (host1, addr1, mac1, user1, path1), the same thing the same
// ordinal, never a hash, because hashes of names can be guessed. Names are found whatever their
// case, but only as whole words; addresses and paths by their looks, whatever surrounds them:
// "10.0.0.1-10.0.0.9", "wlx0200c0ffee01" and "log:/srv/x" hold two addresses, a MAC and a path.
// When in doubt it is one: a word too few in a public file does less harm than a name too many.
// Most of a record never gets here: bundle_build.cc copies what the table of bundle fields allows,
// and nothing else. (cli/anonymise.h keeps the structure of addresses, which a diagnosis needs and
// a result does not.) Not thread-safe: it learns while it works; finding is pure.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options/options.h"

namespace plumbline {

// Something in a line of text that looks like an address or a path.
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

// Whose words a text is.
enum class TextFrom {
  kSystem,   // a system's, which may hold the names of whoever built it: a kernel's release
  kProduct,  // out of a vendor's list (operating system, CPU): users' names in it are chance
  kTyped,    // the submitter's own, in which a name of one letter is a word
};

struct NameInText {
  std::string kind, word;  // "host" or "user"; as it stands there
};

class Redactor {
 public:
  // A host's name, with the parts of a long one, under one ordinal; empty ones and "localhost" are
  // nobody's. `as`: another name of the same host.
  void learn_host(const std::string& name, const std::string& as = "");
  // The ordinal of a host, given out in the order of the first calls.
  std::string host(const std::string& name);
  void learn_user(const std::string& name);
  // Users and hosts out of a word of a command line, an option or a path: user@host, /home/user.
  void learn_from(const std::string& text);

  // What options of the type kNamed may be: words of our own tables, and nobody's names.
  void know_words(OptionChoices choices) { words_ = std::move(choices); }
  const OptionChoices& words() const { return words_; }

  // The names that a typed text holds.
  std::vector<NameInText> names_in(std::string_view typed) const;
  // A word that is a name here, and is meant as a word: typed texts keep it.
  void keep(const std::string& word);

  std::string text(std::string_view original, TextFrom from = TextFrom::kSystem);
  // What was replaced so far, in order: "mini1 -> host1".
  std::vector<std::string> replaced() const { return said_; }

 private:
  struct Name {
    std::string kind, key;  // names with the same key get the same ordinal
  };
  void learn(const std::string& kind, const std::string& name, const std::string& key);
  std::string ordinal(const std::string& kind, const std::string& key, const std::string& what);
  struct Marked {
    std::string text, done;  // done: ' ' where the text is still the original
  };
  std::string address(const std::string& kind, const std::string& what);
  Marked without_found(const Marked& from, Found (*find)(std::string_view, size_t));
  const std::pair<const std::string, Name>* name_at(const std::string& folded, size_t at,
                                                    TextFrom from) const;
  std::string without_names(const Marked& marked, TextFrom from);

  std::map<std::string, Name> names_;                                   // lower case
  std::map<std::string, std::map<std::string, std::string>> ordinals_;  // kind -> what -> "host1"
  std::set<std::string> kept_;                                          // lower case
  std::vector<std::string> said_;
  OptionChoices words_;
};

// Whether a text holds nothing that text() would take for an address or a path.
bool is_redacted(std::string_view text);

}  // namespace plumbline
