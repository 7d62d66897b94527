#include "launch/leftovers.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

namespace plumbline {
namespace {

constexpr int kPauseMs = 20;

// Not `launch`, which starts nothing twice, nor its guards.
bool is_coordinator(const ProcessFacts& facts) {
  const std::string command = facts.arguments.size() > 1 ? facts.arguments[1] : std::string();
  return facts.name.rfind("plumbline", 0) == 0 && (command == "run" || command == "coll") &&
         facts.user == static_cast<int64_t>(getuid());
}

std::string command_of(const ProcessFacts& facts) {
  constexpr size_t kShown = 120;  // characters
  std::string text;
  for (const std::string& word : facts.arguments) text += (text.empty() ? "" : " ") + word;
  text = text.substr(0, kShown);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  return text;
}

// Still what it was: a pid may have become somebody else's.
bool lives(const Leftover& coordinator) {
  const std::optional<ProcessFacts> now = read_process(coordinator.pid);
  // One that waits to be reaped has no arguments any more.
  return now && is_coordinator(*now) && command_of(*now) == coordinator.command;
}

// One signal after the other, with a time to end between them. look() takes out of `left` what has
// gone; it is asked anew each time, because a pid may have become somebody else's.
template <typename Look>
void end_all(const std::vector<Leftover>& left, std::initializer_list<int> signals,
             int64_t gentle_ms, const Look& look) {
  for (const int number : signals) {
    for (const Leftover& process : left) kill(process.pid, number);
    const Deadline deadline = Deadline::after_ms(gentle_ms);
    while (!left.empty() && !deadline.passed()) {
      poll(nullptr, 0, kPauseMs);
      look();
    }
  }
}

}  // namespace

std::vector<Leftover> find_coordinators(const std::vector<Leftover>& processes) {
  std::vector<Leftover> found;
  const auto has = [](const std::vector<Leftover>& list, int64_t pid) {
    return std::any_of(list.begin(), list.end(), [&](const Leftover& l) { return l.pid == pid; });
  };
  for (const Leftover& process : processes) {
    const std::optional<ProcessFacts> own = read_process(process.pid);
    const std::optional<ProcessFacts> above = own ? read_process(own->parent) : std::nullopt;
    if (!above || !is_coordinator(*above) || above->pid == getpid()) continue;
    if (has(processes, above->pid) || has(found, above->pid)) continue;
    found.push_back({static_cast<pid_t>(above->pid), process.run_id, command_of(*above)});
  }
  return found;
}

std::vector<Leftover> end_coordinators(const std::vector<Leftover>& coordinators,
                                       int64_t gentle_ms) {
  const auto gone = [](const Leftover& coordinator) { return !lives(coordinator); };
  std::vector<Leftover> left = coordinators;
  const auto look = [&] { std::erase_if(left, gone); };
  look();
  end_all(left, {SIGTERM, SIGTERM, SIGKILL}, gentle_ms, look);
  return left;
}

std::vector<Leftover> find_leftovers(const std::string& run_id) {
  std::vector<Leftover> found = find_marked(kRunIdVariable);
  std::erase_if(
      found, [&](const Leftover& process) { return !run_id.empty() && process.run_id != run_id; });
  return found;
}

std::vector<Leftover> end_leftovers(const std::string& run_id, int64_t gentle_ms) {
  std::vector<Leftover> left = find_leftovers(run_id);
  end_all(left, {SIGTERM, SIGKILL}, gentle_ms, [&] { left = find_leftovers(run_id); });
  return left;
}

}  // namespace plumbline
