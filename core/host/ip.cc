#include "core/host/ip.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/number.h"

namespace plumbline {
namespace {

int family_of(const Ip& ip) { return ip.v6 ? AF_INET6 : AF_INET; }

// Digits only: "-0" would be a number, too.
std::optional<int> parse_prefix(std::string_view text, int most) {
  const auto prefix = parse_whole<unsigned>(text, 0, static_cast<unsigned>(most));
  return prefix ? std::optional<int>(static_cast<int>(*prefix)) : std::nullopt;
}

std::optional<Subnet> subnet_of(const std::string& ip, int prefix) {
  const std::optional<Ip> known = parse_zoned_ip(ip);
  if (!known || prefix < 0 || prefix > known->bits()) return std::nullopt;
  return Subnet{*known, prefix};
}

}  // namespace

bool Ip::loopback() const {
  if (!v6) return bytes[0] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return !b; });
}

bool Ip::link_local() const {
  return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

Ip ip_of_bytes(const void* bytes, bool v6) {
  Ip ip;
  ip.v6 = v6;
  std::memcpy(ip.bytes.data(), bytes, ip.size());
  return ip;
}

std::optional<Ip> parse_ip(std::string_view text) {
  char copy[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof copy || text.find('\0') != text.npos) return std::nullopt;
  text.copy(copy, text.size());
  Ip ip;
  ip.v6 = is_v6(text);
  if (inet_pton(family_of(ip), copy, ip.bytes.data()) != 1) return std::nullopt;
  return ip;
}

std::optional<Ip> parse_zoned_ip(std::string_view text) {
  return parse_ip(text.substr(0, text.find('%')));
}

std::string to_text(const Ip& ip) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family_of(ip), ip.bytes.data(), text, sizeof text);
  return text;
}

int common_bits(const Ip& a, const Ip& b) {
  if (a.v6 != b.v6) return -1;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto differing = static_cast<uint8_t>(a.bytes[i] ^ b.bytes[i]);
    if (differing != 0) return 8 * static_cast<int>(i) + std::countl_zero(differing);
  }
  return a.bits();
}

std::optional<Subnet> parse_ip_subnet(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<Ip> ip = parse_ip(text.substr(0, slash));
  if (!ip || slash == text.npos) return std::nullopt;
  const std::optional<int> prefix = parse_prefix(text.substr(slash + 1), ip->bits());
  if (!prefix) return std::nullopt;
  return Subnet{*ip, *prefix};
}

std::string to_text(const Subnet& subnet) {
  return to_text(subnet.ip) + "/" + std::to_string(subnet.prefix);
}

Ip netmask(int prefix, bool v6) {
  Ip mask;
  mask.v6 = v6;
  for (size_t i = 0; i < mask.size(); ++i) {
    const int ones = std::clamp(prefix - static_cast<int>(8 * i), 0, 8);
    mask.bytes[i] = static_cast<uint8_t>(0xff00 >> ones);
  }
  return mask;
}

Subnet network_of(Subnet subnet) {
  const Ip mask = netmask(subnet.prefix, subnet.ip.v6);
  for (size_t i = 0; i < mask.size(); ++i) subnet.ip.bytes[i] &= mask.bytes[i];
  return subnet;
}

bool contains(const Subnet& subnet, const Ip& ip) {
  return common_bits(subnet.ip, ip) >= subnet.prefix;
}

bool overlap(const Subnet& a, const Subnet& b) {
  return common_bits(a.ip, b.ip) >= std::min(a.prefix, b.prefix);
}

Cidr parse_cidr(const std::string& text) {
  const size_t slash = text.find('/');
  Cidr out = {text.substr(0, slash), 0};
  if (slash == std::string::npos) return out;
  constexpr int kLongest = 128;
  out.prefix = parse_prefix(std::string_view(text).substr(slash + 1), kLongest).value_or(0);
  return out;
}

bool same_subnet(const std::string& a, const std::string& b, int prefix) {
  const std::optional<Subnet> left = subnet_of(a, prefix);
  const std::optional<Ip> right = parse_zoned_ip(b);
  return left && right && contains(*left, *right);
}

bool is_v6(std::string_view ip) { return ip.find(':') != ip.npos; }

int address_bits(std::string_view ip) { return is_v6(ip) ? 128 : 32; }

int customary_prefix(std::string_view ip) { return is_v6(ip) ? 64 : 24; }

bool is_loopback_ip(const std::string& ip) {
  const std::optional<Ip> known = parse_zoned_ip(ip);
  return known && known->loopback();
}

bool is_link_local_ip(const std::string& ip) {
  const std::optional<Ip> known = parse_zoned_ip(ip);
  return known && known->link_local();
}

std::string network_of(const std::string& ip, int prefix) {
  const std::optional<Subnet> subnet = subnet_of(ip, prefix);
  return subnet ? to_text(network_of(*subnet)) : std::string();
}

int covers(const std::string& destination, const std::string& ip) {
  if (!parse_zoned_ip(ip)) return -1;
  if (destination == "default") return 0;
  const Cidr network = parse_cidr(destination);
  const bool whole = destination.find('/') == std::string::npos;
  const int prefix = whole ? address_bits(network.ip) : network.prefix;
  return same_subnet(network.ip, ip, prefix) ? prefix : -1;
}

bool is_edge_of_network(const std::string& ip, int prefix) {
  const std::optional<Subnet> subnet = subnet_of(ip, prefix);
  if (!subnet || subnet->ip.v6 || prefix > 30) return false;
  const Ip mask = netmask(prefix, false);
  Ip last = network_of(*subnet).ip;
  if (last == subnet->ip) return true;
  for (size_t i = 0; i < last.size(); ++i) last.bytes[i] |= static_cast<uint8_t>(~mask.bytes[i]);
  return last == subnet->ip;
}

bool overlap(const Cidr& a, const Cidr& b) {
  return same_subnet(a.ip, b.ip, std::min(a.prefix, b.prefix));
}

}  // namespace plumbline
