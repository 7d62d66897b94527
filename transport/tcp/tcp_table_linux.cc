#include "transport/tcp/tcp_table_linux.h"

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/host/ip.h"
#include "core/number.h"

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

}  // namespace plumbline
