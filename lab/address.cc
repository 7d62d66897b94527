#include "lab/address.h"

#include <set>
#include <sstream>

#include "core/number.h"

namespace plumbline {
namespace {

constexpr uint64_t kMany = uint64_t{1} << 20;

// Adds n at the bit position `from_right` (0 = last bit).
void add_at(std::array<uint8_t, 16>& bytes, int size, int from_right, uint64_t n) {
  int byte = size - 1 - from_right / 8;
  unsigned carry = 0;
  // Split n at the bit offset, so that each step adds one byte.
  unsigned offset = static_cast<unsigned>(from_right % 8);
  uint64_t rest = n;
  bool first = true;
  while (byte >= 0 && (rest != 0 || carry != 0)) {
    unsigned part = 0;
    if (first) {
      part = static_cast<unsigned>(rest << offset) & 0xff;
      rest >>= 8 - offset;
      first = false;
    } else {
      part = static_cast<unsigned>(rest & 0xff);
      rest >>= 8;
    }
    const unsigned sum = bytes[static_cast<size_t>(byte)] + part + carry;
    bytes[static_cast<size_t>(byte)] = static_cast<uint8_t>(sum);
    carry = sum >> 8;
    --byte;
  }
}

}  // namespace

std::string ip_of(const std::string& address) { return address.substr(0, address.find('/')); }

int prefix_of(const std::string& address) {
  const std::optional<Subnet> subnet = parse_ip_subnet(address);
  return subnet ? subnet->prefix : -1;
}

Expected<Subnet> parse_subnet(const std::string& text) {
  constexpr const char* kHint = "write it as 10.10.0.0/24 or fd00:1::/64";
  const std::optional<Subnet> subnet = parse_ip_subnet(text);
  if (!subnet) {
    return fail(
        ErrorCode::kConfig,
        "'" + text + "' " + (parse_ip(ip_of(text)) ? "has no prefix length" : "is not a subnet"),
        kHint);
  }
  const Subnet network = network_of(*subnet);
  if (network == *subnet) return network;
  return fail(ErrorCode::kConfig, "'" + text + "' is an address, not a subnet",
              "the subnet is " + to_text(network));
}

std::string nth_address(const Subnet& subnet, uint64_t n) {
  Ip ip = subnet.ip;
  add_at(ip.bytes, ip.bits() / 8, 0, n);
  return to_text(ip);
}

Subnet nth_subnet(const Subnet& subnet, int length, uint64_t n) {
  Subnet copy{subnet.ip, length};
  add_at(copy.ip.bytes, copy.ip.bits() / 8, copy.ip.bits() - length, n);
  return copy;
}

uint64_t count_subnets(const Subnet& subnet, int length) {
  if (length < subnet.prefix || length > subnet.ip.bits()) return 0;
  const int free = length - subnet.prefix;
  return free >= 20 ? kMany : uint64_t{1} << free;
}

uint64_t host_capacity(const Subnet& subnet) {
  const uint64_t all = count_subnets(subnet, subnet.ip.bits());
  if (subnet.ip.v6) return all - 1;  // address 0 is the routers' anycast
  return all <= 2 ? 0 : all - 2;
}

Expected<std::vector<int>> parse_ports(const std::string& text) {
  std::set<int> ports;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const auto first = parse_port(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_port(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return fail(ErrorCode::kConfig, "'" + part + "' is no port and no range of ports",
                  "write them as 29500,29600-29603");
    }
    for (int port = *first; port <= *last; ++port) ports.insert(port);
  }
  if (ports.empty()) return fail(ErrorCode::kConfig, "no ports given");
  return std::vector<int>(ports.begin(), ports.end());
}

std::string port_words(const std::vector<int>& ports, const char* comma, const char* dash) {
  std::string out;
  for (const auto& [first, last] : runs_of(ports)) {
    if (!out.empty()) out += comma;
    out += std::to_string(first);
    if (last > first) out += dash + std::to_string(last);
  }
  return out;
}

}  // namespace plumbline
