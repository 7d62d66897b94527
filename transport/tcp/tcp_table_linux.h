// The kernel's table of TCP sockets, /proc/net/tcp and tcp6 (proc(5)): readable without privilege,
// of the own network namespace. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

constexpr int kTcpSynReceived = 3, kTcpListen = 10;  // states as the kernel numbers them

struct TcpTableRow {
  std::string ip, peer_ip;  // without scope; IPv4 addresses inside IPv6 sockets as "::ffff:1.2.3.4"
  int port = 0, peer_port = 0;
  int state = 0;
  uint64_t inode = 0;
};
// Lines that make no sense are left out. `v6` says which of the two tables it is.
std::vector<TcpTableRow> parse_tcp_table(const std::string& text, bool v6);
// Both tables of this thread's namespace.
std::vector<TcpTableRow> read_tcp_tables();

}  // namespace plumbline
