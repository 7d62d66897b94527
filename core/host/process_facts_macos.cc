// proc_pidinfo(3) of <libproc.h>, KERN_PROCARGS2 of sysctl(3).
#include <libproc.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <sys/proc_info.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/host/process_facts.h"

namespace plumbline {
namespace {

// KERN_PROCARGS2: the number of arguments, the program's path, zeros, then arguments and variables,
// each ended by a zero. Of the own user's processes; root reads all.
struct Words {
  std::vector<std::string> arguments, variables;
};

Words read_words(int64_t pid) {
  Words words;
  int name[] = {CTL_KERN, KERN_PROCARGS2, static_cast<int>(pid)};
  size_t bytes = 0;
  if (sysctl(name, 3, nullptr, &bytes, nullptr, 0) != 0) return words;
  std::string text(bytes, '\0');
  if (sysctl(name, 3, text.data(), &bytes, nullptr, 0) != 0 || bytes < sizeof(int)) return words;
  text.resize(bytes);
  int count = 0;
  std::memcpy(&count, text.data(), sizeof count);
  size_t at = std::min(text.find('\0', sizeof count), text.size());
  while (at < text.size() && text[at] == '\0') ++at;
  for (int index = 0; at < text.size(); ++index) {
    const size_t end = std::min(text.find('\0', at), text.size());
    (index < count ? words.arguments : words.variables).push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::optional<ProcessFacts> read_process(int64_t pid) {
  if (pid <= 0) return std::nullopt;
  proc_bsdshortinfo info{};  // of other users' processes too
  const int size = proc_pidinfo(static_cast<int>(pid), PROC_PIDT_SHORTBSDINFO, 0, &info,
                                static_cast<int>(sizeof info));
  if (size != static_cast<int>(sizeof info)) return std::nullopt;
  ProcessFacts facts;
  facts.pid = pid;
  facts.parent = info.pbsi_ppid;
  facts.user = info.pbsi_ruid;
  facts.name.assign(info.pbsi_comm, strnlen(info.pbsi_comm, sizeof info.pbsi_comm));
  facts.arguments = read_words(pid).arguments;
  return facts;
}

std::string process_variable(int64_t pid, const std::string& name) {
  const std::string wanted = name + "=";
  for (const std::string& entry : read_words(pid).variables) {
    if (entry.compare(0, wanted.size(), wanted) == 0) return entry.substr(wanted.size());
  }
  return {};
}

std::string process_environment(int64_t pid) {
  std::string text;
  for (const std::string& entry : read_words(pid).variables) text.append(entry).push_back('\0');
  return text;
}

std::optional<uint64_t> resident_bytes() {
  proc_taskinfo info{};
  const int size = proc_pidinfo(getpid(), PROC_PIDTASKINFO, 0, &info, sizeof info);
  if (size != static_cast<int>(sizeof info)) return std::nullopt;
  return info.pti_resident_size;
}

int physical_cores() {
  int cores = 1;
  size_t size = sizeof cores;
  if (sysctlbyname("hw.physicalcpu", &cores, &size, nullptr, 0) != 0) return 1;
  return std::max(1, cores);
}

Expected<std::string> own_program_path() {
  std::array<char, PATH_MAX> path{};
  uint32_t size = path.size();
  if (_NSGetExecutablePath(path.data(), &size) != 0) {
    return fail(ErrorCode::kSystem, "the path of this program is too long");
  }
  std::array<char, PATH_MAX> real{};
  if (realpath(path.data(), real.data()) == nullptr) {
    return fail_errno(ErrorCode::kSystem, "resolve the path of this program", errno);
  }
  return std::string(real.data());
}

}  // namespace plumbline
