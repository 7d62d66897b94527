// Linux: the inode of the socket from /proc/net/tcp and tcp6 (proc(5)), then the process
// that has a descriptor on it.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "transport/port_owner.h"

namespace plumbline {
namespace {

constexpr const char* kListenState = "0A";

// Inode of a socket bound to `port`, 0 = none in this table.
uint64_t socket_inode(const char* table, uint16_t port, bool listening) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // column titles
  const std::string suffix = fmt::format(":{:04X}", port);
  while (std::getline(file, line)) {
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
    std::istringstream fields(line);
    std::string sl, local, remote, state, queues, timer, retransmits, uid, timeout;
    uint64_t inode = 0;
    fields >> sl >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
        inode;
    const bool fits = local.ends_with(suffix) && (!listening || state == kListenState);
    if (fields && fits && inode != 0) return inode;  // 0: nobody's any more (TIME_WAIT)
  }
  return 0;
}

// Names of the entries of a directory; empty when it may not be read.
std::vector<std::string> list(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir.get())) names.emplace_back(entry->d_name);
  return names;
}

bool has_descriptor(const std::string& pid, const std::string& target) {
  const std::string folder = "/proc/" + pid + "/fd/";
  const std::vector<std::string> names = list(folder);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    char link[64];
    const ssize_t length = ::readlink((folder + name).c_str(), link, sizeof link);
    return length > 0 && target == std::string_view(link, static_cast<size_t>(length));
  });
}

}  // namespace

std::string port_owner(uint16_t port) {
  uint64_t inode = 0;
  for (const bool listening : {true, false}) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      if (inode == 0) inode = socket_inode(table, port, listening);
    }
  }
  if (inode == 0) return {};
  const std::string target = fmt::format("socket:[{}]", inode);
  for (const std::string& pid : list("/proc")) {
    if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0 || !has_descriptor(pid, target)) {
      continue;
    }
    std::string name = "?";
    std::ifstream comm("/proc/" + pid + "/comm");
    std::getline(comm, name);
    return fmt::format("PID {} ({})", pid, name);
  }
  return "a process that this user cannot see";
}

}  // namespace plumbline
