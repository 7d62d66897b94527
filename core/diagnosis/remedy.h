// What puts a finding right, as a value: commands (vectors of words, core/diagnosis/word.h) and
// advice in words for people, in the order in which they are to be read and done. A command whose
// words did not all pass their checks is none: what stands there is advice that shows it.
// shell_text() is the one way from a command to a shell, Remedy::text() the one to people, and
// nothing reads either again: who wants to execute takes the commands. Plain values; pure
// functions, thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnosis/word.h"

namespace plumbline {

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
