// IP addresses and subnets as values: read once, strictly, compared and cut as numbers from then
// on. Below them the same questions about addresses in text, as host files and evidence hold them.
// Pure functions, thread-safe.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// Ordered by family, IPv4 first, and then by number.
struct Ip {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first four, the others are 0

  size_t size() const { return v6 ? 16 : 4; }  // bytes
  int bits() const { return v6 ? 128 : 32; }
  bool loopback() const;    // 127.0.0.0/8, ::1
  bool link_local() const;  // 169.254.0.0/16, fe80::/10
  // Of its inner 0, clang-tidy 14 thinks it a pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  std::strong_ordering operator<=>(const Ip&) const = default;
};

// Of the 4 or 16 bytes that stand there, in network order.
Ip ip_of_bytes(const void* bytes, bool v6);
// "10.10.0.7", "fd00::7" and nothing around it.
std::optional<Ip> parse_ip(std::string_view text);
// The same, with a zone that is left out: "fe80::1%eth0".
std::optional<Ip> parse_zoned_ip(std::string_view text);
std::string to_text(const Ip& ip);
// How many bits at the start are equal; -1 for different families.
int common_bits(const Ip& a, const Ip& b);

// An address and the length of its network's prefix, in bits.
struct Subnet {
  Ip ip;
  int prefix = 0;
  // Of its inner 0, clang-tidy 14 thinks it a pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  std::strong_ordering operator<=>(const Subnet&) const = default;
};

// "10.10.0.7/24": the prefix has to be there, and be one of the family.
std::optional<Subnet> parse_ip_subnet(std::string_view text);
// "10.10.0.0/24".
std::string to_text(const Subnet& subnet);
// With zeros behind the prefix.
Subnet network_of(Subnet subnet);
// The ones of a netmask: 255.255.255.0 of 24.
Ip netmask(int prefix, bool v6);
bool contains(const Subnet& subnet, const Ip& ip);
// Have both networks an address in common?
bool overlap(const Subnet& a, const Subnet& b);

// ---- addresses in text; a zone behind them does not count ----

// As a host file has it: "10.10.0.7/24" in two parts; without a slash, or with nonsense behind it,
// the prefix is 0 (unknown).
struct Cidr {
  std::string ip;
  int prefix = 0;
};
Cidr parse_cidr(const std::string& text);

// Do both addresses lie in one subnet of this prefix length? False for different families, for
// text that is no address, and for a prefix that the family does not have.
bool same_subnet(const std::string& a, const std::string& b, int prefix);

bool is_v6(std::string_view ip);             // by its colons; false for nonsense
int address_bits(std::string_view ip);       // 32 or 128, by the same
int customary_prefix(std::string_view ip);   // 24 or 64
bool is_loopback_ip(const std::string& ip);  // false for nonsense, as the next
bool is_link_local_ip(const std::string& ip);

// "10.10.0.0/24" of 10.10.0.7 and 24; empty for nonsense.
std::string network_of(const std::string& ip, int prefix);
// Does the destination of a route ("default", "10.10.0.0/24", "10.10.0.7") cover this address? The
// length of its prefix if so, -1 if not. "default" covers both families.
int covers(const std::string& destination, const std::string& ip);
// Is it the first or (IPv4) the last address of its network, which no host can have? Never in
// networks of one or two addresses, nor for IPv6.
bool is_edge_of_network(const std::string& ip, int prefix);
bool overlap(const Cidr& a, const Cidr& b);

}  // namespace plumbline
