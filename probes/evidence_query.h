// Questions that judges and rules ask the evidence again and again: which interface carries an
// address, by which route a packet leaves, did anything ever come back on a pair. Pointers point
// into the evidence that was handed in. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host/ip.h"
#include "probes/evidence.h"

namespace plumbline {

const JobHost* find_job_host(const EvidenceSet& evidence, const std::string& name);
const InterfaceEvidence* find_interface(const HostEvidence& host, const std::string& name);
const AddressEvidence* find_address(const InterfaceEvidence& interface, const std::string& ip);
// The interface that has this address. 127.0.0.2 belongs to a loopback interface that is up,
// without being listed.
const InterfaceEvidence* interface_of(const HostEvidence& host, const std::string& ip);
// The interface that the host file names for this address, or the one that has it.
const InterfaceEvidence* data_interface(const JobHost& job, const HostEvidence& host,
                                        const std::string& ip);
// Data addresses of a host that is neither loopback nor without evidence: what can be compared
// between machines.
std::vector<Cidr> data_of(const JobHost& job);
bool only_loopback(const JobHost& job);
// Ports of the job on which this host waits.
const std::vector<int>& ports_of(const Job& job, const std::string& host);
// Those of them that this peer calls.
std::vector<int> ports_between(const Job& job, const std::string& from, const std::string& to);
// A stack whose plan has no connection from this pair's first host to the other.
bool calls_nobody(const EvidenceSet& evidence, const PairEvidence& pair);
// The range that a port stands for where it was tried in place of others; {port, port} elsewhere.
std::pair<int, int> range_of(const Job& job, const std::string& host, int port);
// The host has said something about itself.
bool has_facts(const HostEvidence& host);
// Why it has not.
std::string lack_of_facts(const HostEvidence& host);
// An earlier host of the file that is this very machine with the same data addresses (`{"local":
// 2}`), so that judging it again would say the same; empty when there is none.
std::string same_as_earlier(const EvidenceSet& evidence, const JobHost& job);

// The socket beside Ethernet of a Mac Studio, which does no RDMA: after exo's warning. Models with
// Thunderbolt 5 only, older ones cannot anyway.
bool is_socket_beside_ethernet(const HostEvidence& host, const std::string& rdma_device);

// Administratively up and not known to be without signal.
bool is_usable(const InterfaceEvidence& interface);
// A card or something that stands for one (a bond, a VLAN on it): not loopback, tunnel, dummy.
bool is_wired(const InterfaceEvidence& interface);
// "eth1: ethernet, up, 10 Gbit/s, MTU 1500, 10.10.0.1/24".
std::string describe_interface(const InterfaceEvidence& interface);
// "10 Gbit/s".
std::string describe_bit_rate(int64_t bits_per_second);

// Did any packet of the peer come back? True: a connection, a refusal by the peer itself, an echo.
// False: all that was tried stayed without an answer. Absent: nothing was tried.
std::optional<bool> reaches(const PairEvidence& pair);
// The same by either direction; a round trip one way shows both.
std::optional<bool> reaches(const EvidenceSet& evidence, const std::string& a,
                            const std::string& b);
// The kernel's answer for packets that carry the data address as source, else without.
const RouteLookup* route_lookup(const PairEvidence& pair);
// The route of the main table that covers this address with the longest prefix and then the
// smallest metric; nullptr when none does. Routes of `type` local and broadcast do not count.
const RouteEvidence* matching_route(const HostEvidence& host, const std::string& ip);
// The value of a sysctl as a number.
std::optional<int64_t> sysctl_number(const HostEvidence& host, const std::string& key);
std::string join_words(const std::vector<std::string>& words, const char* between = ", ");

// Do these two hosts share one machine's cores? Namespaces of this machine do, and whatever has the
// same boot id (containers, namespaces behind sshd of their own).
bool share_machine(const EvidenceSet& evidence, const std::string& a, const std::string& b);

}  // namespace plumbline
