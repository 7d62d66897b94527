// What puts a finding right, as a value: commands (vectors of words) and advice in words for
// people, in the order in which they are to be read and done. A word is what our own source says,
// or a slot: a value from outside (an interface's name, an address, a PID ...) that passed the
// check of its kind. There is no other way to make one, so that nothing that a host, a file or a
// ruleset says can become an option, a second command or a second line. A command whose words did
// not all pass their checks is none: what stands there is advice that shows it. shell_text() is the
// one way from a command to a shell, Remedy::text() the one to people, and nothing reads either
// again: who wants to execute takes the commands. Plain values; pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  kPath,          // absolute, of letters, digits and "/._+@=-", without a ".." in it
  kLogin,         // what ssh connects to, "mini1.local", "me@mini1"
  kPackage,       // of Python (PEP 508): letters, digits, "._-"
  kVersion,       // of such a package (PEP 440): letters, digits, ".+!_-"
  kVariable,      // name of a variable of the environment
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
// Consecutive ports as ranges, ascending, each port once; those outside 1-65535 are left out.
std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports);
// "29500,29600:29603" with ":" as `to`.
Word ports_word(const std::vector<std::pair<int, int>>& ranges, const Word& to,
                const Word& between);

class Command {
 public:
  // The first word is a program, and always a literal. Where only a shell can do it, the words are
  // "sh", "-c", a script that is a literal, "sh", and the values as its arguments.
  Command(std::vector<Word> words) : words_(std::move(words)) {}  // NOLINT: a list of words is one
  Command(std::initializer_list<Word> words) : words_(words) {}

  // What it meets may already be as it should be: its failure is none, and it says nothing.
  Command&& may_fail() &&;
  // Said beside it, for people.
  Command&& remark(const std::string& text) &&;

  // Where it is to be executed; empty: where the finding is.
  const std::string& host() const { return host_; }
  // Why it must not be executed, "'x y' is no address"; empty for a sound one.
  std::string problem() const;
  // As a program takes it.
  std::vector<std::string> argv() const;

 private:
  friend std::string shell_text(const Command& command);
  friend class Remedy;
  std::string host_;
  std::vector<Word> words_;
  bool may_fail_ = false;
  std::string remark_;
};

// One line of POSIX shell that does what the command says and nothing else.
std::string shell_text(const Command& command);

// One line of a remedy.
struct RemedyStep {
  std::optional<Command> command;  // sound
  std::string text;                // for people: the command, or advice
  bool is_code = false;            // to be shown as a command: it is one, or was one in a file
};

// A command and where it is to be executed, for whoever executes it.
struct HostCommand {
  std::string host;
  std::vector<std::string> argv;
};

class Remedy {
 public:
  Remedy() = default;
  // Advice, one line of it: control characters in it are escaped, line ends as well. Nothing for an
  // empty text.
  Remedy(const std::string& advice) { say(advice); }  // NOLINT: advice is the simplest remedy
  Remedy(const char* advice) { say(advice); }         // NOLINT
  Remedy(const Command& command) { run(command); }    // NOLINT: so is one command

  Remedy& say(const std::string& advice) &;
  Remedy& run(const Command& command) &;
  // Steps of another one, each only once.
  Remedy& then(const Remedy& other) &;
  Remedy&& say(const std::string& advice) && { return std::move(say(advice)); }
  Remedy&& run(const Command& command) && { return std::move(run(command)); }
  Remedy&& then(const Remedy& other) && { return std::move(then(other)); }

  // Its commands are for this host, but for those that were given to another one before.
  Remedy& on(const std::string& host);
  // What was read from a file: lines to look at. Those that the file lists as commands are shown as
  // such, but there is nothing to execute in it.
  static Remedy only_shown(const std::string& text, const std::vector<std::string>& code);

  bool empty() const { return steps_.empty(); }
  const std::vector<RemedyStep>& steps() const { return steps_; }
  std::vector<HostCommand> commands() const;
  // One line for every step.
  std::string text() const;
  // Rewrites the advice: to leave private words out.
  void reword(const std::function<std::string(const std::string&)>& reworded);

 private:
  std::vector<RemedyStep> steps_;
};

}  // namespace plumbline
