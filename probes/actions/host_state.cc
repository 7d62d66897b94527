#include "probes/actions/host_state.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/number.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

struct NameRow {
  std::string_view kernel, ours;
};
// RFC 4022 (TCP), RFC 4293 (IP), RFC 4113 (UDP), with the names of the protocol. The others keep
// the kernel's.
constexpr NameRow kNames[] = {
    {"Tcp.OutSegs", "tcp.out_segments"},
    {"Tcp.InSegs", "tcp.in_segments"},
    {"Tcp.RetransSegs", "tcp.retransmitted"},
    {"Tcp.InErrs", "tcp.in_errors"},
    {"Tcp.InCsumErrors", "tcp.in_checksum_errors"},
    {"Tcp.OutRsts", "tcp.out_resets"},
    {"Tcp.AttemptFails", "tcp.attempt_fails"},
    {"Tcp.ActiveOpens", "tcp.active_opens"},
    {"Tcp.PassiveOpens", "tcp.passive_opens"},
    {"Ip.InReceives", "ip.in_receives"},
    {"Ip.InDelivers", "ip.in_delivers"},
    {"Ip.InDiscards", "ip.in_discards"},
    {"Ip.InAddrErrors", "ip.in_address_errors"},
    {"Ip.InHdrErrors", "ip.in_header_errors"},
    {"Ip.OutRequests", "ip.out_requests"},
    {"Ip.OutDiscards", "ip.out_discards"},
    {"Ip.OutNoRoutes", "ip.out_no_routes"},
    {"Ip.ForwDatagrams", "ip.forwarded"},
    {"Ip6.InReceives", "ip6.in_receives"},
    {"Ip6.InDelivers", "ip6.in_delivers"},
    {"Ip6.InDiscards", "ip6.in_discards"},
    {"Ip6.InAddrErrors", "ip6.in_address_errors"},
    {"Ip6.InHdrErrors", "ip6.in_header_errors"},
    {"Ip6.OutRequests", "ip6.out_requests"},
    {"Ip6.OutDiscards", "ip6.out_discards"},
    {"Ip6.OutNoRoutes", "ip6.out_no_routes"},
    {"Ip6.OutForwDatagrams", "ip6.forwarded"},
    {"Udp.InDatagrams", "udp.in_datagrams"},
    {"Udp.OutDatagrams", "udp.out_datagrams"},
    {"Udp.NoPorts", "udp.no_ports"},
    {"TcpExt.ListenDrops", "tcp.listen_drops"},
    {"TcpExt.ListenOverflows", "tcp.listen_overflows"},
    {"TcpExt.TCPTimeouts", "tcp.timeouts"},
    {"IpExt.InNoRoutes", "ip.in_no_routes"},
    {"TcpExt.IPReversePathFilter", "ip.reverse_path_filtered"},
};

struct ColumnRow {
  size_t index;  // 0 = the first number behind the name
  const char* name;
};
// Of /proc/net/dev.
constexpr ColumnRow kDeviceColumns[] = {
    {0, "rx_bytes"},   {1, "rx_packets"}, {2, "rx_errors"},   {3, "rx_dropped"},  {8, "tx_bytes"},
    {9, "tx_packets"}, {10, "tx_errors"}, {11, "tx_dropped"}, {13, "collisions"},
};

constexpr size_t kMaxInterfaces = 1000;

// Most of the kernel's some four hundred are asked for by nobody who asks every second.
void set(Counters& counters, const CounterFilter& wanted, std::string_view kernel_name,
         std::string_view value) {
  const auto* const row =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const NameRow& each) { return each.kernel == kernel_name; });
  const std::string_view name = row == std::end(kNames) ? kernel_name : row->ours;
  if (wanted && !wanted(name)) return;
  if (const auto number = parse_whole(value)) counters[std::string(name)] = *number;
}

}  // namespace

void parse_snmp(const std::string& text, Counters& counters, const CounterFilter& wanted) {
  // Pairs of lines: "Tcp: Name Name ..." and "Tcp: 1 2 ...".
  const std::vector<std::string_view> lines = lines_of(text);
  for (size_t k = 0; k + 1 < lines.size(); k += 2) {
    const std::vector<std::string_view> names = words_of(lines[k]), values = words_of(lines[k + 1]);
    if (names.empty() || values.size() != names.size() || names[0] != values[0] ||
        names[0].back() != ':') {
      continue;
    }
    std::string name(names[0].substr(0, names[0].size() - 1));
    name += '.';
    for (size_t i = 1, group = name.size(); i < names.size(); ++i) {
      name.resize(group);
      set(counters, wanted, name.append(names[i]), values[i]);
    }
  }
}

void parse_snmp6(const std::string& text, Counters& counters, const CounterFilter& wanted) {
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() != 2) continue;
    // "Ip6InReceives" -> "Ip6.InReceives"
    const size_t digit = words[0].find('6');
    if (digit == std::string::npos) continue;
    set(counters, wanted, std::string(words[0]).insert(digit + 1, "."), words[1]);
  }
}

void parse_net_devices(const std::string& text, Counters& counters, const CounterFilter& wanted) {
  size_t interfaces = 0;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.rfind(": ");  // names may have colons, numbers have none
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(' ');
    const std::string name(line.substr(begin, colon - begin));
    const std::vector<std::string_view> values = words_of(line.substr(colon + 1));
    if (values.size() < 14) continue;
    if (++interfaces > kMaxInterfaces) break;
    for (const ColumnRow& column : kDeviceColumns) {
      set(counters, wanted, "if." + name + "." + column.name, values[column.index]);
    }
  }
}

Counters counters_difference(const Counters& earlier, const Counters& later) {
  Counters out;
  for (const auto& [name, value] : later) {
    const auto before = earlier.find(name);
    if (before != earlier.end() && value >= before->second) out[name] = value - before->second;
  }
  return out;
}

}  // namespace plumbline
