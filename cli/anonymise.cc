#include "cli/anonymise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/host/ip.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr int kEthernet = 1, kAnySll = 113, kAnySll2 = 276;  // link types of pcap

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ':' || c == '-' ||
         c == '_';
}

bool is_mac(const std::string& word) {
  if (word.size() != 17) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool fits =
        i % 3 == 2 ? word[i] == ':' : std::isxdigit(static_cast<unsigned char>(word[i])) != 0;
    if (!fits) return false;
  }
  return true;
}

// RFC 4122: 8-4-4-4-12 hex digits.
bool is_uuid(const std::string& word) {
  if (word.size() != 36) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool fits =
        dash ? word[i] == '-' : std::isxdigit(static_cast<unsigned char>(word[i])) != 0;
    if (!fits) return false;
  }
  return true;
}

bool is_ipv4(const std::string& word) { return !is_v6(word) && parse_ip(word); }

// Numbers of pcap headers in the byte order of this machine.
uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void put_number(std::string& bytes, size_t at, uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
unsigned byte_at(const std::string& bytes, size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}
unsigned short_at(const std::string& bytes, size_t at) {
  return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}

}  // namespace

Anonymiser::Anonymiser(const std::vector<std::string>& names) {
  size_t number = 0;
  for (const std::string& name : names) {
    if (name.size() < 2 || name == "localhost" || names_.count(name) > 0) continue;
    names_[name] = fmt::format("host{}", ++number);
  }
  for (const std::string& name : names) {
    if (name.size() != 1 || letters_.count(name) > 0) continue;
    // Somebody may be called "host3": text() would take it for that one.
    do {
      letters_[name] = fmt::format("host{}", ++number);
    } while (names_.count(letters_[name]) > 0);
  }
}

std::string Anonymiser::host(const std::string& name) const {
  const auto letter = letters_.find(name);
  return letter == letters_.end() ? name : letter->second;
}

void Anonymiser::also(const std::string& kind, const std::vector<std::string>& names) {
  int number = 0;
  for (const std::string& name : names) {
    if (name.size() < 2 || names_.count(name) > 0 || parts_.count(name) > 0) continue;
    parts_[name] = kind + std::to_string(++number);
  }
}

std::string Anonymiser::parts(const std::string& text) const {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(".:", at), text.size());
    const std::string part = text.substr(at, end - at);
    const auto known = parts_.find(part);
    out += known == parts_.end() ? part : known->second;
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

int Anonymiser::ordinal(const std::string& parent, const std::string& key) {
  std::map<std::string, int>& known = ordinals_[parent];
  return known.emplace(key, static_cast<int>(known.size()) + 1).first->second;
}

std::string Anonymiser::ipv4(const std::string& address) {
  const Ip ip = parse_ip(address).value_or(Ip{});
  const auto& octet = ip.bytes;
  if (octet[0] == 0 || octet[0] >= 224 || ip.loopback() || ip.link_local()) return address;
  // Private networks and others keep that difference: 10.x for all of ours.
  const std::string first = std::to_string(octet[0]);
  const std::string second = first + "." + std::to_string(octet[1]);
  const std::string third = second + "." + std::to_string(octet[2]);
  const int a = 9 + ordinal("4", first);
  const int b = octet[1] == 0 ? 0 : ordinal("4" + first, second);
  const int c = octet[2] == 0 ? 0 : ordinal("4" + second, third);
  return fmt::format("{}.{}.{}.{}", std::min(a, 223), b % 256, c % 256, octet[3]);
}

std::string Anonymiser::ipv6(const std::string& address) {
  const Ip ip = parse_ip(address).value_or(Ip{});
  const auto* bytes = ip.bytes.data();
  const auto* all_zero = std::find_if(bytes, bytes + 15, [](unsigned char b) { return b != 0; });
  if (all_zero == bytes + 15 || bytes[0] == 0xff) return address;  // ::, ::1, multicast
  if (std::all_of(bytes, bytes + 10, [](unsigned char b) { return b == 0; })) {
    return "::ffff:" + ipv4(to_text(ip_of_bytes(bytes + 12, false)));  // ::ffff:a.b.c.d
  }
  const std::string network(reinterpret_cast<const char*>(bytes), 8);
  const std::string interface(reinterpret_cast<const char*>(bytes) + 8, 8);
  const int host = ordinal("6i", interface);
  const bool no_host = interface == std::string(8, '\0');
  if (ip.link_local()) return fmt::format("fe80::{:x}", host);
  const int net = ordinal("6n", network);
  return no_host ? fmt::format("fd00:0:0:{:x}::", net)
                 : fmt::format("fd00:0:0:{:x}::{:x}", net, host);
}

std::string Anonymiser::mac(const std::string& address) {
  const std::string lower = lower_case(address);
  if (lower == "00:00:00:00:00:00" || lower == "ff:ff:ff:ff:ff:ff") return lower;
  const int number = ordinal("mac", lower);
  return fmt::format("02:00:00:00:{:02x}:{:02x}", number / 256 % 256, number % 256);
}

std::string Anonymiser::word(const std::string& original) {
  if (is_mac(original)) return mac(original);
  if (is_uuid(original)) {
    return fmt::format("00000000-0000-0000-0000-{:012}", ordinal("uuid", lower_case(original)));
  }
  if (is_ipv4(original)) return ipv4(original);
  if (parse_ip(original)) return ipv6(original);
  const auto name = names_.find(original);
  if (name != names_.end()) return name->second;
  // "10.1.2.3:29600", "name:", "name.": the part before the last colon or dot.
  const size_t cut = original.find_last_of(":.");
  if (cut != std::string::npos && cut > 0) {
    const std::string head = original.substr(0, cut);
    const std::string tail = original.substr(cut);
    if (names_.count(head) > 0 || is_ipv4(head) || is_mac(head) ||
        (tail == ":" && parse_ip(head))) {
      return word(head) + tail;
    }
    // "name.local", "name.example.org"
    const size_t dot = original.find('.');
    const auto short_name = names_.find(original.substr(0, dot));
    if (short_name != names_.end()) return short_name->second + original.substr(dot);
  }
  return parts(original);
}

std::string Anonymiser::text(const std::string& original) {
  std::string out;
  size_t at = 0;
  while (at < original.size()) {
    if (!in_word(original[at])) {
      out += original[at++];
      continue;
    }
    size_t end = at;
    while (end < original.size() && in_word(original[end])) ++end;
    const std::string word_here = original.substr(at, end - at);
    const bool user =
        out.size() >= 6 && (out.compare(out.size() - 6, 6, "/home/") == 0 ||
                            (out.size() >= 7 && out.compare(out.size() - 7, 7, "/Users/") == 0));
    out += user ? fmt::format("user{}", ordinal("user", word_here)) : word(word_here);
    at = end;
  }
  return out;
}

void Anonymiser::trace_packet(std::string& packet, int link_type) {
  size_t network = 14;
  unsigned type = short_at(packet, 12);
  if (link_type == kEthernet) {
    for (size_t at = 0; at < std::min<size_t>(12, packet.size()); ++at) packet[at] = 0;
  } else {
    const bool second = link_type == kAnySll2;
    network = second ? 20 : 16;
    type = short_at(packet, second ? 0 : 14);
    const size_t address = second ? 12 : 6;
    for (size_t at = address; at < std::min(address + 8, packet.size()); ++at) packet[at] = 0;
  }
  const auto replace = [&](size_t at, bool v6) {
    if (at + (v6 ? 16 : 4) > packet.size()) return;
    const std::string text = to_text(ip_of_bytes(packet.data() + at, v6));
    const Ip fresh = parse_ip(v6 ? ipv6(text) : ipv4(text)).value_or(Ip{});
    std::memcpy(packet.data() + at, fresh.bytes.data(), v6 ? 16 : 4);
  };
  size_t keep = network;
  if (type == 0x0800) {
    const size_t header = (byte_at(packet, network) & 15) * 4;
    replace(network + 12, false);
    replace(network + 16, false);
    const unsigned protocol = byte_at(packet, network + 9);
    const size_t transport = network + header;
    keep = transport + (protocol == 6 ? (byte_at(packet, transport + 12) >> 4) * 4 : 8);
    if (protocol == 1 && byte_at(packet, transport) == 3) {  // quotes the packet it is about
      replace(transport + 8 + 12, false);
      replace(transport + 8 + 16, false);
      keep = transport + 8 + 28;
    }
  } else if (type == 0x86dd) {
    replace(network + 8, true);
    replace(network + 24, true);
    const unsigned protocol = byte_at(packet, network + 6);
    const size_t transport = network + 40;
    keep = transport + (protocol == 6 ? (byte_at(packet, transport + 12) >> 4) * 4 : 8);
  } else if (type == 0x0806) {
    for (const size_t at : {network + 8, network + 18}) {
      for (size_t i = at; i < std::min(at + 6, packet.size()); ++i) packet[i] = 0;
    }
    replace(network + 14, false);
    replace(network + 24, false);
    keep = network + 28;
  }
  packet.resize(std::min(packet.size(), keep));
}

std::string Anonymiser::trace(const std::string& pcap) {
  constexpr size_t kFileHeader = 24, kPacketHeader = 16;
  if (pcap.size() < kFileHeader) return {};
  const uint32_t magic = number_at(pcap, 0);
  if (magic != 0xa1b23c4d && magic != 0xa1b2c3d4) return {};
  const int link_type = static_cast<int>(number_at(pcap, 20));
  if (link_type != kEthernet && link_type != kAnySll && link_type != kAnySll2) return {};
  std::string out = pcap.substr(0, kFileHeader);
  size_t at = kFileHeader;
  while (at + kPacketHeader <= pcap.size()) {
    const uint32_t captured = number_at(pcap, at + 8);
    if (captured > pcap.size() - at - kPacketHeader) break;
    std::string header = pcap.substr(at, kPacketHeader);
    std::string packet = pcap.substr(at + kPacketHeader, captured);
    trace_packet(packet, link_type);
    put_number(header, 8, static_cast<uint32_t>(packet.size()));
    out += header + packet;
    at += kPacketHeader + captured;
  }
  return out;
}

}  // namespace plumbline
