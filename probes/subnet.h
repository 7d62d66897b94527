// Arithmetic on addresses in text form. Pure functions, thread-safe.
#pragma once

#include <string>

namespace plumbline {

// Do both addresses lie in one subnet of this prefix length? False for different families, for
// text that is no address, and for a prefix that the family does not have.
bool same_subnet(const std::string& a, const std::string& b, int prefix);

bool is_v6(const std::string& ip);             // by its colons; false for nonsense
bool is_loopback_ip(const std::string& ip);    // 127.0.0.0/8, ::1
bool is_link_local_ip(const std::string& ip);  // 169.254.0.0/16, fe80::/10

// "10.10.0.0/24" of 10.10.0.7 and 24; empty for nonsense.
std::string network_of(const std::string& ip, int prefix);

// "10.10.0.7/24" in two parts; without a slash, or with nonsense behind it, the prefix is 0
// (unknown). "default" is 0.0.0.0 with prefix 0 for whoever asks covers().
struct Cidr {
  std::string ip;
  int prefix = 0;
};
Cidr parse_cidr(const std::string& text);
// Does the destination of a route ("default", "10.10.0.0/24", "10.10.0.7") cover this address? The
// length of its prefix if so, -1 if not. "default" covers both families.
int covers(const std::string& destination, const std::string& ip);
// Is it the first or (IPv4) the last address of its network, which no host can have? Never in
// networks of one or two addresses, nor for IPv6.
bool is_edge_of_network(const std::string& ip, int prefix);
// Have both networks an address in common?
bool overlap(const Cidr& a, const Cidr& b);

}  // namespace plumbline
