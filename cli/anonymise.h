// Takes names and addresses out of texts and traces that are sent to others: host names, IPv4, IPv6
// and MAC addresses, UUIDs and user names become ordinals (host1, 10.1.1.3, 02:00:00:00:00:05), the
// same thing the same ordinal everywhere, never a hash. The structure that a diagnosis needs stays:
// two IPv4 addresses that share their first one, two or three octets still do, the last octet is
// kept (so that a /30 stays one), IPv6 addresses keep their shared /64, and loopback, link-local,
// multicast and unspecified addresses keep their kind. Not thread-safe: it learns while it works.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plumbline {

class Anonymiser {
 public:
  // `names` become host1 ...; empty ones are left alone, and in texts one-letter ones, which are
  // words as well: those are replaced by host() alone.
  explicit Anonymiser(const std::vector<std::string>& names);
  // A field that holds a host's name and nothing else. What comes out of a one-letter name goes
  // through text() unchanged; longer names come out as they are, for text().
  std::string host(const std::string& name) const;
  // Further names become `kind`1 ..., also as a part between dots and colons
  // ("if.NAME.rx_packets").
  void also(const std::string& kind, const std::vector<std::string>& names);
  std::string text(const std::string& original);
  // A pcap file of Ethernet or Linux "any" packets: its addresses replaced, everything behind the
  // transport header cut off. Empty when it is no such file.
  std::string trace(const std::string& pcap);

 private:
  std::string ipv4(const std::string& address);
  std::string ipv6(const std::string& address);
  std::string mac(const std::string& address);
  std::string word(const std::string& text);
  // The ordinal of `key` among the children of `parent`, from 1.
  int ordinal(const std::string& parent, const std::string& key);
  void trace_packet(std::string& packet, int link_type);

  std::string parts(const std::string& text) const;

  std::map<std::string, std::string> names_, letters_;
  std::map<std::string, std::string> parts_;  // of also()
  std::map<std::string, std::map<std::string, int>> ordinals_;
};

}  // namespace plumbline
