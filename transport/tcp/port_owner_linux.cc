// Linux: the inode of the socket from the kernel's table, then the process that has a descriptor on
// it (proc(5)). Only sockets of the own network namespace are in the table, so a process of another
// host of a lab is never named.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <string_view>

#include "transport/tcp/port_owner.h"
#include "transport/tcp/tcp_table_linux.h"

namespace plumbline {
namespace {

// An IPv6 socket on all addresses takes the port from IPv4 too, unless it is V6ONLY; the table does
// not tell which, and nobody else could be in the way.
bool is_taken(const std::string& bound, const std::string& ip) {
  return ip.empty() || bound == ip || bound == "0.0.0.0" || bound == "::" ||
         bound == "::ffff:" + ip;
}

uint64_t owner_inode(const std::string& ip, uint16_t port) {
  const std::vector<TcpTableRow> rows = read_tcp_tables();
  for (const bool listening : {true, false}) {
    for (const TcpTableRow& row : rows) {
      const bool fits = row.port == port && is_taken(row.ip, ip) && row.inode != 0;
      if (fits && (!listening || row.state == kTcpListen)) return row.inode;
    }
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

std::string port_owner(uint16_t port, const std::string& ip) {
  const uint64_t inode = owner_inode(ip.substr(0, ip.find('%')), port);
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
