#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "core/host/host_parse.h"
#include "core/host/ip.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostInterfaces = 2048, kMostAddresses = 256, kMostMembers = 256;
using Words = std::vector<std::string_view>;

// What the letters of an interface's name tell. "en" is any card: Wi-Fi, Thunderbolt or Ethernet,
// which networksetup knows.
struct NameKind {
  const char* letters;
  const char* kind;
};
constexpr NameKind kNameKinds[] = {
    {"lo", "loopback"},   {"bridge", "bridge"},  {"bond", "bond"},     {"vlan", "vlan"},
    {"feth", "veth"},     {"utun", "tunnel"},    {"ipsec", "tunnel"},  {"ppp", "tunnel"},
    {"gif", "tunnel"},    {"stf", "tunnel"},     {"tun", "tunnel"},    {"wg", "tunnel"},
    {"awdl", "virtual"},  {"llw", "virtual"},    {"ap", "virtual"},    {"anpi", "virtual"},
    {"tap", "virtual"},   {"vmenet", "virtual"}, {"vmnet", "virtual"}, {"pktap", "virtual"},
    {"iptap", "virtual"}, {"XHC", "virtual"},
};

std::string kind_of_name(std::string_view name) {
  const size_t end = std::min(name.find_last_not_of("0123456789") + 1, name.size());
  for (const NameKind& row : kNameKinds) {
    if (name.substr(0, end) == row.letters) return row.kind;
  }
  return "unknown";
}

// What stands between '<' and '>': "UP,BROADCAST" -> {"UP", "BROADCAST"}.
Words words_of_flags(std::string_view text) {
  Words out;
  const size_t open = text.find('<');
  if (open == std::string_view::npos) return out;
  text.remove_prefix(open + 1);
  for (const std::string_view word : parts_of(text.substr(0, text.find('>')), ',')) {
    if (!word.empty()) out.push_back(word);
  }
  return out;
}

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "0xffffff00" or "255.255.255.0" -> 24; nothing for a mask with holes.
std::optional<int> prefix_of_mask(std::string_view text) {
  uint32_t mask = 0;
  if (text.rfind("0x", 0) == 0) {
    const auto hex = parse_hex(text.substr(2));
    if (!hex) return std::nullopt;
    mask = *hex;
  } else {
    const Words parts = parts_of(text, '.');
    if (parts.size() != 4) return std::nullopt;
    for (const std::string_view part : parts) {
      const auto byte = parse_whole<int>(part, 0, 255);
      if (!byte) return std::nullopt;
      mask = mask << 8U | static_cast<uint32_t>(*byte);
    }
  }
  const int ones = std::countl_one(mask);
  if (ones != std::popcount(mask)) return std::nullopt;
  return ones;
}

std::string scope_of(const std::string& ip) {
  if (is_loopback_ip(ip)) return "host";
  return is_link_local_ip(ip) ? "link" : "global";
}

// inet 10.10.0.1 netmask 0xffffff00 broadcast 10.10.0.255
// inet6 fe80::1%lo0 prefixlen 64 scopeid 0x1
// inet 10.8.0.2 --> 10.8.0.1 netmask 0xffffffff
std::optional<AddressEvidence> address_of(const Words& words) {
  if (words.size() < 2) return std::nullopt;
  AddressEvidence out;
  const bool v6 = words[0] == "inet6";
  const std::string_view text = words[1];
  const size_t slash = text.find('/');
  out.ip = std::string(text.substr(0, std::min(text.find('%'), slash)));
  std::optional<int> prefix;
  if (slash != std::string_view::npos) {
    prefix = parse_whole<int>(text.substr(slash + 1), 0, 128);
  } else if (v6) {
    prefix = parse_whole<int>(word_after(words, "prefixlen"), 0, 128);
  } else {
    prefix = prefix_of_mask(word_after(words, "netmask"));
  }
  const std::optional<Ip> ip = parse_ip(out.ip);
  if (!ip || ip->v6 != v6 || !prefix || *prefix > ip->bits()) return std::nullopt;
  out.prefix = *prefix;
  out.scope = scope_of(out.ip);
  constexpr std::pair<const char*, const char*> kFlags[] = {
      {"tentative", "tentative"}, {"duplicated", "dadfailed"}, {"deprecated", "deprecated"},
      {"detached", "detached"},   {"temporary", "temporary"},  {"autoconf", "dynamic"},
      {"dynamic", "dynamic"},     {"optimistic", "optimistic"}};
  for (const auto& [word, flag] : kFlags) {
    if (v6 && has(words, word)) add_once(out.flags, flag);
  }
  return out;
}

// "1000baseT", "2500Base-T", "10Gbase-T" -> bits per second.
std::optional<int64_t> speed_of_medium(std::string_view word) {
  const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const auto number = parse_whole<int64_t>(word.substr(0, digits), 1, 1'000'000);
  if (!number) return std::nullopt;
  const std::string rest = lower_case(word.substr(digits));
  const bool giga = rest.rfind("gbase", 0) == 0;
  if (!giga && rest.rfind("base", 0) != 0) return std::nullopt;
  return *number * (giga ? 1'000'000'000 : 1'000'000);
}

// media: autoselect (1000baseT <full-duplex,flow-control>). What is negotiated stands in brackets;
// without any it is what was set by hand.
void read_media(std::string_view line, InterfaceEvidence& out) {
  const size_t open = line.find('(');
  if (open != std::string_view::npos) line = line.substr(open + 1, line.find(')') - open - 1);
  const Words words = words_of(line);
  for (const std::string_view word : words) {
    if (const auto speed = speed_of_medium(word)) out.speed_bps = speed;
  }
  const Words options = words_of_flags(line);
  if (has(options, "full-duplex")) out.duplex = "full";
  if (has(options, "half-duplex")) out.duplex = "half";
  if (out.speed_bps && out.kind == "unknown") out.kind = "ethernet";
}

// Which interface belongs to which bridge or bond.
struct Member {
  std::string master, port_state;
  bool bond = false, isolated = false;
};
using Members = std::map<std::string, Member, std::less<>>;

class IfconfigReader {
 public:
  void add(std::string_view line) {
    if (line.empty()) return;
    if (line.front() != '\t' && line.front() != ' ') {
      begin(line);
    } else if (open_) {
      read(line);
    }
  }

  std::vector<InterfaceEvidence> finish() {
    for (InterfaceEvidence& interface : interfaces_) {
      const auto it = members_.find(interface.name);
      if (it != members_.end()) {
        interface.master = it->second.master;
        interface.master_kind = it->second.bond ? "bond" : "bridge";
        interface.port_state = it->second.port_state;
        interface.isolated = it->second.isolated;
      }
      // A speed that is set but without signal is nobody's speed.
      if (interface.carrier == false) interface.speed_bps.reset();
    }
    return std::move(interfaces_);
  }

 private:
  // bridge0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500
  void begin(std::string_view line) {
    member_ = nullptr;
    open_ = false;
    const size_t colon = line.find(": flags=");
    if (colon == std::string_view::npos || colon == 0 || colon > 64) return;
    InterfaceEvidence out;
    out.name = line.substr(0, colon);
    if (out.name.find_first_of(" \t") != std::string::npos) return;
    if (interfaces_.size() >= kMostInterfaces || !seen_.emplace(out.name, true).second) return;
    open_ = true;
    out.kind = kind_of_name(out.name);
    const Words flags = words_of_flags(line);
    const auto mtu = parse_whole<int>(word_after(words_of(line), "mtu"), 1, 1'000'000);
    out.mtu = mtu.value_or(out.mtu);
    out.up = has(flags, "UP");
    out.arp = !has(flags, "NOARP");
    out.promiscuous = has(flags, "PROMISC");
    const bool running = has(flags, "RUNNING");
    const bool always = has(flags, "LOOPBACK") || has(flags, "POINTOPOINT");
    if (out.up && always) out.carrier = running;
    if (out.kind == "unknown" && has(flags, "POINTOPOINT")) out.kind = "tunnel";
    if (out.kind == "unknown" && has(flags, "LOOPBACK")) out.kind = "loopback";
    out.state = out.up && running ? "UP" : "DOWN";
    interfaces_.push_back(std::move(out));
  }

  void read(std::string_view line) {
    InterfaceEvidence& out = interfaces_.back();
    const Words words = words_of(line);
    if (words.empty()) return;
    const std::string_view key = words[0];
    if (key == "inet" || key == "inet6") {
      if (out.addresses.size() >= kMostAddresses) return;
      if (auto address = address_of(words)) out.addresses.push_back(std::move(*address));
    } else if (key == "ether" && words.size() >= 2 && out.mac.empty()) {
      out.mac = words[1];
    } else if (key == "status:" && words.size() >= 2) {
      read_status(words, out);
    } else if (key == "media:") {
      read_media(line, out);
    } else if (key == "vlan:") {
      const std::string_view parent = word_after(words, "interface:");
      if (parent != "<none>") out.parent = parent;
    } else if (key == "member:" && words.size() >= 2) {
      add_member(words[1], false, has(words_of_flags(line), "PRIVATE"));
    } else if (key == "bond" && words.size() >= 3 && words[1] == "interfaces:") {
      for (size_t i = 2; i < words.size(); ++i) add_member(words[i], true, false);
      member_ = nullptr;
    } else if (member_ != nullptr && key == "role") {
      member_->port_state = word_after(words, "state");  // of a spanning tree
    }
  }

  // "status: active", "status: inactive", "status: no network" (Wi-Fi). Without being up an
  // interface does not say whether there is a signal.
  static void read_status(const Words& words, InterfaceEvidence& out) {
    const bool active = words[1] == "active";
    if (out.up) out.carrier = active;
    out.state = active && out.up ? "UP" : "DOWN";
  }

  void add_member(std::string_view name, bool bond, bool isolated) {
    member_ = nullptr;
    if (name == "<none>" || members_.size() >= kMostInterfaces * kMostMembers) return;
    const auto [it, added] = members_.try_emplace(std::string(name));
    if (!added) return;
    it->second = {interfaces_.back().name, {}, bond, isolated};
    member_ = &it->second;
  }

  std::vector<InterfaceEvidence> interfaces_;
  std::map<std::string, bool, std::less<>> seen_;
  Members members_;
  Member* member_ = nullptr;  // the last "member:" line of this interface
  bool open_ = false;
};

}  // namespace

Status parse_ifconfig(const std::string& text, HostEvidence& host) {
  IfconfigReader reader;
  for (const std::string_view line : lines_of(text)) reader.add(line);
  std::vector<InterfaceEvidence> found = reader.finish();
  if (found.empty()) return fail(ErrorCode::kProtocol, "no interface in what ifconfig printed");
  for (InterfaceEvidence& interface : found) {
    const bool known = std::any_of(host.interfaces.begin(), host.interfaces.end(),
                                   [&](const auto& other) { return other.name == interface.name; });
    if (!known) host.interfaces.push_back(std::move(interface));
  }
  return {};
}

}  // namespace plumbline
