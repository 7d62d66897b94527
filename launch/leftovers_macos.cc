#include <sys/sysctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

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

// KERN_PROCARGS2: the number of arguments, the program's path, zeros, then arguments and variables,
// each ended by a zero; see sysctl(3).
bool read_process(pid_t pid, const std::string& variable, std::string& command,
                  std::string& run_id) {
  int name[] = {CTL_KERN, KERN_PROCARGS2, pid};
  size_t bytes = 0;
  if (sysctl(name, 3, nullptr, &bytes, nullptr, 0) != 0) return false;
  std::string text(bytes, '\0');
  if (sysctl(name, 3, text.data(), &bytes, nullptr, 0) != 0 || bytes < sizeof(int)) return false;
  text.resize(bytes);
  int count = 0;
  std::memcpy(&count, text.data(), sizeof count);
  size_t at = std::min(text.find('\0', sizeof count), text.size());
  while (at < text.size() && text[at] == '\0') ++at;
  const std::string wanted = variable + "=";
  for (int index = 0; at < text.size(); ++index) {
    const size_t end = std::min(text.find('\0', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (index < count) {
      command += (command.empty() ? "" : " ") + word;
    } else if (word.compare(0, wanted.size(), wanted) == 0) {
      run_id = word.substr(wanted.size());
    }
    at = end + 1;
  }
  return true;
}

}  // namespace

std::vector<Leftover> find_marked(const std::string& variable) {
  std::vector<Leftover> found;
  for (const kinfo_proc& process : own_processes()) {
    Leftover entry;
    entry.pid = process.kp_proc.p_pid;
    if (entry.pid == getpid() || !read_process(entry.pid, variable, entry.command, entry.run_id) ||
        entry.run_id.empty()) {
      continue;
    }
    if (entry.command.size() > kShown) entry.command.resize(kShown);
    found.push_back(std::move(entry));
  }
  return found;
}

}  // namespace plumbline
