// Linux: the kernel's table of sockets, and the process that has a descriptor on one of them
// (proc(5)). Only sockets of the own network namespace are in the table, so a process of another
// host of a lab is never named.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "core/host/ip.h"
#include "core/number.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

// "0100007F:73A0": the address as words of the machine's byte order, the port as a number.
bool parse_end(std::string_view text, bool v6, std::string& ip, int& port) {
  const size_t words = v6 ? 4 : 1;
  if (text.size() != words * 8 + 5 || text[words * 8] != ':') return false;
  uint32_t address[4] = {};
  for (size_t i = 0; i < words; ++i) {
    const auto word = parse_hex(text.substr(i * 8, 8));
    if (!word) return false;
    address[i] = *word;
  }
  const auto number = parse_hex(text.substr(words * 8 + 1));
  if (!number) return false;
  ip = to_text(ip_of_bytes(address, v6));
  port = static_cast<int>(*number);
  return true;
}

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

std::vector<TcpTableRow> parse_tcp_table(const std::string& text, bool v6) {
  std::vector<TcpTableRow> rows;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode; the titles do not
    // parse as a row
    std::istringstream fields(line);
    std::string sl, local, remote, state, queues, timer, retransmits, uid, timeout;
    TcpTableRow row;
    fields >> sl >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
        row.inode;
    const auto number = parse_hex(state);
    if (!fields || !number || !parse_end(local, v6, row.ip, row.port) ||
        !parse_end(remote, v6, row.peer_ip, row.peer_port)) {
      continue;
    }
    row.state = static_cast<int>(*number);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TcpTableRow> read_tcp_tables() {
  std::vector<TcpTableRow> rows = parse_tcp_table(read_file("/proc/thread-self/net/tcp"), false);
  for (TcpTableRow& row : parse_tcp_table(read_file("/proc/thread-self/net/tcp6"), true)) {
    rows.push_back(std::move(row));
  }
  return rows;
}

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
