#include "probes/subnet.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

namespace plumbline {
namespace {

// The bytes of the address, empty when the text is none.
std::vector<unsigned char> bytes_of(const std::string& text) {
  const std::string plain = text.substr(0, text.find('%'));
  std::vector<unsigned char> bytes(4);
  if (inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(16);
  if (inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

}  // namespace

bool same_subnet(const std::string& a, const std::string& b, int prefix) {
  const auto left = bytes_of(a), right = bytes_of(b);
  if (left.empty() || left.size() != right.size()) return false;
  if (prefix < 0 || static_cast<size_t>(prefix) > 8 * left.size()) return false;
  const auto whole = static_cast<size_t>(prefix / 8);
  for (size_t i = 0; i < whole; ++i) {
    if (left[i] != right[i]) return false;
  }
  const int rest = prefix % 8;
  if (rest == 0) return true;
  return (left[whole] >> (8 - rest)) == (right[whole] >> (8 - rest));
}

bool is_v6(const std::string& ip) { return ip.find(':') != std::string::npos; }

bool is_loopback_ip(const std::string& ip) {
  return same_subnet(ip, "127.0.0.1", 8) || same_subnet(ip, "::1", 128);
}

bool is_link_local_ip(const std::string& ip) {
  return same_subnet(ip, "169.254.0.0", 16) || same_subnet(ip, "fe80::", 10);
}

std::string network_of(const std::string& ip, int prefix) {
  auto bytes = bytes_of(ip);
  if (bytes.empty() || prefix < 0 || static_cast<size_t>(prefix) > 8 * bytes.size()) return {};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(8 * i), 0, 8);
    bytes[i] = static_cast<unsigned char>(bytes[i] & (0xff00 >> kept));
  }
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return std::string(text) + "/" + std::to_string(prefix);
}

Cidr parse_cidr(const std::string& text) {
  const size_t slash = text.find('/');
  Cidr out = {text.substr(0, slash), 0};
  if (slash == std::string::npos) return out;
  int prefix = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data() + slash + 1, end, prefix);
  if (status == std::errc() && rest == end && prefix >= 0 && prefix <= 128) out.prefix = prefix;
  return out;
}

int covers(const std::string& destination, const std::string& ip) {
  if (bytes_of(ip).empty()) return -1;
  if (destination == "default") return 0;
  const Cidr network = parse_cidr(destination);
  const bool whole = destination.find('/') == std::string::npos;
  const int prefix = whole ? (is_v6(network.ip) ? 128 : 32) : network.prefix;
  return same_subnet(network.ip, ip, prefix) ? prefix : -1;
}

bool is_edge_of_network(const std::string& ip, int prefix) {
  const auto bytes = bytes_of(ip);
  if (bytes.size() != 4 || prefix < 0 || prefix > 30) return false;
  uint32_t value = 0;
  for (const unsigned char byte : bytes) value = (value << 8) | byte;
  const uint32_t mask = prefix == 0 ? ~uint32_t{0} : (uint32_t{1} << (32 - prefix)) - 1;
  return (value & mask) == 0 || (value & mask) == mask;
}

bool overlap(const Cidr& a, const Cidr& b) {
  return same_subnet(a.ip, b.ip, std::min(a.prefix, b.prefix));
}

}  // namespace plumbline
