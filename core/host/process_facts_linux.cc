// proc(5).
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <set>
#include <string>

#include "core/file.h"
#include "core/host/process_facts.h"
#include "core/number.h"

namespace plumbline {
namespace {

std::string read_all(int64_t pid, const char* file) {
  return read_system_file("/proc/" + std::to_string(pid) + "/" + file);
}

// The number behind a label of /proc/PID/status, such as "\nPPid:"; the name in its first line is
// written without line breaks.
std::optional<int64_t> number_behind(const std::string& status, std::string_view label) {
  size_t at = status.find(label);
  if (at == std::string::npos) return std::nullopt;
  at = status.find_first_not_of(" \t", at + label.size());
  if (at == std::string::npos) return std::nullopt;
  return leading_whole(std::string_view(status).substr(at));
}

// Strings that each end in a NUL.
template <typename Take>
void each_string(const std::string& text, Take&& take) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    take(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

std::optional<ProcessFacts> read_process(int64_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string status = read_all(pid, "status");
  const std::optional<int64_t> parent = number_behind(status, "\nPPid:");
  if (!parent) return std::nullopt;
  ProcessFacts facts;
  facts.pid = pid;
  facts.parent = *parent;
  facts.user = number_behind(status, "\nUid:").value_or(-1);
  facts.name = read_all(pid, "comm");
  if (!facts.name.empty() && facts.name.back() == '\n') facts.name.pop_back();
  each_string(read_all(pid, "cmdline"),
              [&](std::string_view word) { facts.arguments.emplace_back(word); });
  return facts;
}

std::string process_variable(int64_t pid, const std::string& name) {
  const std::string wanted = name + "=";
  std::string value;
  bool found = false;
  each_string(read_all(pid, "environ"), [&](std::string_view entry) {
    if (found || entry.substr(0, wanted.size()) != wanted) return;
    found = true;
    value = entry.substr(wanted.size());
  });
  return value;
}

std::string process_environment(int64_t pid) { return read_all(pid, "environ"); }

// The second number of /proc/self/statm (proc(5)): resident pages.
std::optional<uint64_t> resident_bytes() {
  uint64_t total = 0, resident = 0;
  std::ifstream file("/proc/self/statm");
  const long page = sysconf(_SC_PAGESIZE);
  if (!(file >> total >> resident) || page <= 0) return std::nullopt;
  return resident * static_cast<uint64_t>(page);
}

// The threads of a core name the same list of siblings ("0,4"); without one each counts as a core.
int physical_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &usable)) continue;
    const std::string number = std::to_string(cpu);
    std::ifstream file("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
    std::string siblings;
    cores.insert(std::getline(file, siblings) ? siblings : "cpu" + number);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

Expected<std::string> own_program_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length > 0) return std::string(path.data(), static_cast<size_t>(length));
  const int problem = errno;
  // Without /proc there is still what the kernel was told to start, see getauxval(3).
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started != nullptr && realpath(started, path.data()) != nullptr) return path.data();
  return fail_errno(ErrorCode::kSystem, "read /proc/self/exe", problem);
}

}  // namespace plumbline
