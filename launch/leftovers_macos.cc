#include <sys/sysctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "core/clock.h"
#include "launch/leftovers.h"

namespace plumbline {
namespace {

constexpr size_t kShown = 120;  // characters of a command line

std::vector<kinfo_proc> own_processes() {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_UID, static_cast<int>(geteuid())};
  size_t bytes = 0;
  if (sysctl(name, 4, nullptr, &bytes, nullptr, 0) != 0) return {};
  std::vector<kinfo_proc> processes(bytes / sizeof(kinfo_proc) + 16);
  bytes = processes.size() * sizeof(kinfo_proc);
  if (sysctl(name, 4, processes.data(), &bytes, nullptr, 0) != 0) return {};
  processes.resize(bytes / sizeof(kinfo_proc));
  return processes;
}

constexpr const char* kMarkVariable = "PLUMBLINE_GUARD";

}  // namespace

std::vector<Leftover> find_marked(const std::string& variable) {
  std::vector<Leftover> found;
  for (const kinfo_proc& process : own_processes()) {
    const pid_t pid = process.kp_proc.p_pid;
    if (pid == getpid()) continue;
    std::string id = process_variable(pid, variable);
    if (id.empty()) continue;
    std::string command;
    if (const auto facts = read_process(pid)) {
      for (const std::string& word : facts->arguments) {
        command += (command.empty() ? "" : " ") + word;
      }
    }
    found.push_back({pid, std::move(id), command.substr(0, kShown)});
  }
  return found;
}

Offspring::Offspring() : mark_(std::to_string(getpid()) + "-" + std::to_string(monotonic_ns())) {
  setenv(kMarkVariable, mark_.c_str(), 1);
}

std::vector<pid_t> Offspring::find() const {
  std::vector<pid_t> found;
  for (const Leftover& process : find_marked(kMarkVariable)) {
    if (process.run_id == mark_) found.push_back(process.pid);
  }
  return found;
}

}  // namespace plumbline
