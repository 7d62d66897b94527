#include "lab/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace plumbline {
namespace {

constexpr uint64_t kMany = uint64_t{1} << 20;

int bits(const Subnet& subnet) { return subnet.v6 ? 128 : 32; }

std::string ip_text(const std::array<uint8_t, 16>& bytes, bool v6) {
  char out[INET6_ADDRSTRLEN] = {};
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), out, sizeof(out));
  return out;
}

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

Subnet network_of(Subnet subnet) {
  for (int bit = subnet.length; bit < bits(subnet); ++bit) {
    subnet.bytes[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> (bit % 8)));
  }
  return subnet;
}

bool parse_ip(const std::string& text, Subnet& out) {
  out.v6 = text.find(':') != std::string::npos;
  return inet_pton(out.v6 ? AF_INET6 : AF_INET, text.c_str(), out.bytes.data()) == 1;
}

}  // namespace

std::string ip_of(const std::string& address) { return address.substr(0, address.find('/')); }

int prefix_of(const std::string& address) {
  const size_t slash = address.find('/');
  int length = -1;
  if (slash == std::string::npos) return length;
  const char* end = address.data() + address.size();
  const auto [stop, status] = std::from_chars(address.data() + slash + 1, end, length);
  return status == std::errc() && stop == end ? length : -1;
}

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

Expected<Subnet> parse_subnet(const std::string& text) {
  Subnet subnet;
  subnet.length = prefix_of(text);
  if (!parse_ip(ip_of(text), subnet)) {
    return fail(ErrorCode::kConfig, "'" + text + "' is not a subnet",
                "write it as 10.10.0.0/24 or fd00:1::/64");
  }
  if (subnet.length < 0 || subnet.length > bits(subnet)) {
    return fail(ErrorCode::kConfig, "'" + text + "' has no prefix length",
                "write it as 10.10.0.0/24 or fd00:1::/64");
  }
  const Subnet network = network_of(subnet);
  if (network.bytes != subnet.bytes) {
    return fail(ErrorCode::kConfig, "'" + text + "' is an address, not a subnet",
                "the subnet is " + to_text(network));
  }
  return network;
}

std::string to_text(const Subnet& subnet) {
  return ip_text(subnet.bytes, subnet.v6) + "/" + std::to_string(subnet.length);
}

std::string nth_address(const Subnet& subnet, uint64_t n) {
  Subnet copy = subnet;
  add_at(copy.bytes, bits(copy) / 8, 0, n);
  return ip_text(copy.bytes, copy.v6);
}

Subnet nth_subnet(const Subnet& subnet, int length, uint64_t n) {
  Subnet copy = subnet;
  copy.length = length;
  add_at(copy.bytes, bits(copy) / 8, bits(copy) - length, n);
  return copy;
}

uint64_t count_subnets(const Subnet& subnet, int length) {
  if (length < subnet.length || length > bits(subnet)) return 0;
  const int free = length - subnet.length;
  return free >= 20 ? kMany : uint64_t{1} << free;
}

uint64_t host_capacity(const Subnet& subnet) {
  const uint64_t all = count_subnets(subnet, bits(subnet));
  if (subnet.v6) return all - 1;  // address 0 is the routers' anycast
  return all <= 2 ? 0 : all - 2;
}

bool overlap(const Subnet& a, const Subnet& b) {
  if (a.v6 != b.v6) return false;
  Subnet wide = a, narrow = b;
  if (wide.length > narrow.length) std::swap(wide, narrow);
  narrow.length = wide.length;
  return network_of(narrow).bytes == network_of(wide).bytes;
}

bool contains(const Subnet& subnet, const std::string& ip) {
  Subnet one;
  if (!parse_ip(ip, one)) return false;
  one.length = bits(one);
  return overlap(subnet, one);
}

}  // namespace plumbline
