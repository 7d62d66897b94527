// Arithmetic on IP subnets, IPv4 and IPv6, for handing out addresses. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/error.h"

namespace plumbline {

struct Subnet {
  std::array<uint8_t, 16> bytes{};  // network byte order; IPv4 uses the first four
  bool v6 = false;
  int length = 0;  // of the prefix, bits
};

// "10.10.0.0/24"; bits behind the prefix are an Error that names the subnet that was meant.
Expected<Subnet> parse_subnet(const std::string& text);
std::string to_text(const Subnet& subnet);
// Address number n of the subnet ("10.10.0.0/24", 5 -> "10.10.0.5"), without prefix length.
std::string nth_address(const Subnet& subnet, uint64_t n);
// Subnet number n of that prefix length inside the subnet.
Subnet nth_subnet(const Subnet& subnet, int length, uint64_t n);
// How many subnets of that length fit, at most 2^20.
uint64_t count_subnets(const Subnet& subnet, int length);
// Addresses for hosts (without network and broadcast in IPv4), at most 2^20.
uint64_t host_capacity(const Subnet& subnet);
bool overlap(const Subnet& a, const Subnet& b);
bool contains(const Subnet& subnet, const std::string& ip);
// "10.10.0.5" of "10.10.0.5/24", and 24.
std::string ip_of(const std::string& address);
int prefix_of(const std::string& address);
bool is_ipv6(const std::string& address);

}  // namespace plumbline
