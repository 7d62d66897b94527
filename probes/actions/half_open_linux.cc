#include "probes/actions/half_open.h"
#include "transport/tcp/tcp_table_linux.h"

namespace plumbline {

std::vector<HalfOpenConnection> half_open_connections(const std::set<int>& ports) {
  std::vector<HalfOpenConnection> out;
  for (TcpTableRow& row : read_tcp_tables()) {
    if (row.state != kTcpSynReceived || ports.count(row.port) == 0) continue;
    out.push_back({std::move(row.ip), row.port, std::move(row.peer_ip), row.peer_port});
  }
  return out;
}

}  // namespace plumbline
