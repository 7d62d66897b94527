// Linux: ip_local_reserved_ports in ip(7), written as "29600-29603,40000".
#include <fstream>
#include <string>

#include "core/host_parse.h"
#include "probes/port_list.h"
#include "probes/reserved_ports.h"

namespace plumbline {

std::vector<int> reserved_ports() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_reserved_ports");
  std::string line;
  std::getline(file, line);
  return parse_port_list(trimmed(line)).value_or(std::vector<int>{});
}

}  // namespace plumbline
