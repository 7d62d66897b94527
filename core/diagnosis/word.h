// The words of commands. A word is what our own source says, or a slot: a value from outside (an
// interface's name, an address, a PID ...) that passed the check of its kind. There is no other way
// to make one, so that nothing that a host, a file or a ruleset says can become an option, a second
// command or a second line. A value that fails stays in the word to be shown, and the word is not
// sound. Plain values; pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

// What a slot may be filled with. The checks are no stricter than the systems' own rules where
// these leave no doubt: an interface may be called a;b on Linux. None lets pass what a program
// would take for an option or would read again in a syntax of its own.
enum class Slot {
  kInterface,     // name of a network interface
  kAddress,       // IPv4 or IPv6, without prefix and zone
  kDestination,   // "default", an address, or one with a prefix length
  kRoutingTable,  // number or name of a table of routes
  kFilterName,    // table or chain of iptables and ebtables, which take it as it is
  kNftName,       // table or chain of nft, which parses its arguments once more; a firewalld zone
  kTcHandle,      // "0x1", "800::800"
  kTcKind,        // "flower"
  kSysctlKey,     // "net.ipv4.conf.eth0.rp_filter"
  kSysctlValue,   // "0", "29500,29600-29603"
  kHostName,      // letters, digits, '.', '-' and '_': safe in /etc/hosts and in a pattern
  kMatchValue,    // behind an option of a filter's rule: letters, digits, "._:/,+-"
};
// "interface", "address" ...: with an article, as in "'x y' is no address".
const char* name_of(Slot slot);
bool fits(Slot slot, std::string_view text);

class Word {
 public:
  // What our own code says. Arrays only, and no variable ones: a pointer may lead anywhere.
  template <size_t N>
  Word(const char (&literal)[N])  // NOLINT(google-explicit-constructor): reads as the word it is
      : text_(literal), literal_(true) {}
  template <size_t N>
  Word(char (&)[N]) = delete;

  const std::string& text() const { return text_; }
  bool is_literal() const { return literal_; }
  bool is_sound() const { return problem_.empty(); }
  // "'x y' is no address", ready to be shown; empty when sound.
  const std::string& problem() const { return problem_; }

  // One word of several parts: 10.0.0.1/24.
  friend Word operator+(const Word& a, const Word& b);
  bool operator==(const Word&) const = default;

 private:
  friend Word slot(Slot kind, std::string_view value);
  friend Word number(int64_t value, int64_t least, int64_t most, int base);
  friend Word one_of(std::string_view value, const std::vector<Word>& known);
  explicit Word(std::string text, std::string problem)
      : text_(std::move(text)), problem_(std::move(problem)) {}

  std::string text_, problem_;
  bool literal_ = false;
};

Word slot(Slot kind, std::string_view value);
// In decimal, or in hexadecimal as 0xfffc; not sound outside the bounds.
Word number(int64_t value, int64_t least = 0, int64_t most = INT64_MAX, int base = 10);
// The literal that says the same; not sound where none does.
Word one_of(std::string_view value, const std::vector<Word>& known);
// A process that a command may name: never 0, 1 or a group.
Word pid_word(int64_t pid);
Word port_word(int port);

}  // namespace plumbline
