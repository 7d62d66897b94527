// `system_profiler SPThunderboltDataType -json`: a list of buses, each with its sockets
// ("receptacle_1_tag") and a tree of what is plugged in. A computer in that tree has a UUID of its
// own ("domain_uuid_key"); hubs, docks and screens have none. Any key may be missing. Which
// interface a socket belongs to is told by `networksetup`, through the socket's number.
#include <algorithm>

#include "core/json.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kDeepest = 16;                                  // of devices behind devices
constexpr size_t kMostPorts = 64;                             // of one Mac
constexpr size_t kMostPeers = 16;                             // behind one socket
constexpr int64_t kThunderbolt4 = 40, kGiga = 1'000'000'000;  // 40 Gb/s; RDMA needs more

// "Up to 40 Gb/s", "80 Gb/s" -> number; 0 when there is none.
int64_t gigabits_of(const std::string& text) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos || text.find("Gb/s") == std::string::npos) return 0;
  const auto number = leading_whole(std::string_view(text).substr(begin));
  return number && *number > 0 && *number <= 10'000 ? *number : 0;
}

// Of a computer; empty for docks, screens and what is no identifier.
std::string domain_of(const json& node) {
  const std::string domain = text_at(node, "domain_uuid_key");
  const bool plain =
      std::all_of(domain.begin(), domain.end(), [](char c) { return is_alnum(c) || c == '-'; });
  // Linux writes small letters.
  return plain && domain != "0" && domain.size() <= 64 ? lower_case(domain) : std::string();
}

void find_peers(const json& node, int hubs, std::vector<ThunderboltPeer>& out) {
  const json& items = part_at(node, "_items");
  if (!items.is_array() || hubs >= kDeepest) return;
  for (const json& item : items) {
    const std::string domain = domain_of(item);
    const bool known = std::any_of(
        out.begin(), out.end(), [&](const ThunderboltPeer& peer) { return peer.domain == domain; });
    if (!domain.empty() && !known && out.size() < kMostPeers) out.push_back({domain, hubs});
    find_peers(item, hubs + 1, out);
  }
}

struct Socket {
  std::string number;
  int64_t gigabits = 0;
  bool empty = false;     // nothing is plugged in
  bool could_be = false;  // it tells what it could do at most
};

std::vector<Socket> sockets_of(const json& bus) {
  std::vector<Socket> out;
  for (const auto& [key, socket] : bus.items()) {
    if (key.rfind("receptacle_", 0) != 0 || !socket.is_object()) continue;
    const std::string speed = text_at(socket, "current_speed_key");
    const auto number = parse_whole<int>(text_at(socket, "receptacle_id_key"), 1, 64);
    Socket one;
    one.number = number ? std::to_string(*number) : std::string();
    one.gigabits = gigabits_of(speed);
    one.empty = text_at(socket, "receptacle_status_key").find("no_devices") != std::string::npos;
    one.could_be = one.empty || speed.find("Up to") != std::string::npos;
    out.push_back(one);
  }
  return out;
}

struct Profile {
  std::vector<ThunderboltPort> ports;
  std::vector<int64_t> all;        // Gb/s of each socket, as far as told
  std::vector<int64_t> computers;  // of those behind which another computer is
  bool idle = false;               // some tell what they could, not what was negotiated
};

void read_bus(const json& bus, Profile& out) {
  if (!bus.is_object()) return;
  std::vector<ThunderboltPeer> peers;
  find_peers(bus, 0, peers);
  const std::vector<Socket> sockets = sockets_of(bus);
  const auto taken =
      std::count_if(sockets.begin(), sockets.end(), [](const Socket& one) { return !one.empty; });
  for (const Socket& socket : sockets) {
    if (out.ports.size() >= kMostPorts) return;
    ThunderboltPort port;
    port.domain = domain_of(bus);
    if (socket.gigabits > 0) port.speed_bps = socket.gigabits * kGiga;
    port.receptacle = socket.number;
    // Of two sockets of one bus nobody tells which one leads there.
    if (!socket.empty && taken == 1) port.peers = peers;
    out.ports.push_back(std::move(port));
    if (socket.gigabits == 0) continue;
    out.all.push_back(socket.gigabits);
    if (socket.could_be) out.idle = true;
    if (!peers.empty() && !socket.empty) out.computers.push_back(socket.gigabits);
  }
  if (!peers.empty() && taken != 1 && out.ports.size() < kMostPorts) {
    ThunderboltPort one_of_them;
    one_of_them.domain = domain_of(bus);
    one_of_them.peers = peers;
    out.ports.push_back(std::move(one_of_them));
  }
}

// Each port's interface, by the number of the socket; where two claim a number, none.
void join_interfaces(std::vector<ThunderboltPort>& ports, HostEvidence& host) {
  for (ThunderboltPort& port : ports) {
    InterfaceEvidence* found = nullptr;
    const auto same = [&](const auto& other) { return other.receptacle == port.receptacle; };
    const bool once = std::count_if(ports.begin(), ports.end(), same) == 1 &&
                      std::count_if(host.interfaces.begin(), host.interfaces.end(), same) == 1;
    if (port.receptacle.empty() || !once) continue;
    for (InterfaceEvidence& interface : host.interfaces) {
      if (same(interface)) found = &interface;
    }
    port.interface = found->name;
    if (!port.peers.empty()) found->speed_bps = port.speed_bps;
  }
}

// Where no port has an interface: only where all answers are the same one is known.
void set_speeds(const Profile& profile, HostEvidence& host) {
  const std::vector<int64_t>& links = profile.computers;
  const bool joined =
      std::any_of(profile.ports.begin(), profile.ports.end(),
                  [](const ThunderboltPort& port) { return !port.interface.empty(); });
  std::vector<InterfaceEvidence*> carriers;
  for (InterfaceEvidence& interface : host.interfaces) {
    if (interface.kind == "thunderbolt" && interface.carrier == true)
      carriers.push_back(&interface);
  }
  if (joined || links.empty() || carriers.size() > links.size()) return;
  const bool same =
      std::all_of(links.begin(), links.end(), [&](int64_t g) { return g == links[0]; });
  if (!same) return;
  for (InterfaceEvidence* interface : carriers) interface->speed_bps = links[0] * kGiga;
}

void judge_hardware(const Profile& profile, HostEvidence& host) {
  const auto best = std::max_element(profile.all.begin(), profile.all.end());
  if (best == profile.all.end() || *best > kThunderbolt4) return;
  if (!host.rdma) host.rdma.emplace();
  host.rdma->hardware =
      profile.idle ? "the Thunderbolt ports of this Mac do " + std::to_string(*best) +
                         " Gb/s at most; RDMA needs Thunderbolt 5"
                   : "no Thunderbolt link of this Mac runs faster than " + std::to_string(*best) +
                         " Gb/s; RDMA needs Thunderbolt 5 in both Macs and in the cable";
}

}  // namespace

Status parse_thunderbolt_profile(const std::string& text, HostEvidence& host) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) {
    return fail(ErrorCode::kProtocol, "what system_profiler printed is not the JSON that is known");
  }
  Profile profile;
  const json& buses = part_at(all, "SPThunderboltDataType");
  if (buses.is_array()) {
    for (const json& bus : buses) read_bus(bus, profile);
  }
  join_interfaces(profile.ports, host);
  set_speeds(profile, host);
  judge_hardware(profile, host);
  host.thunderbolt = std::move(profile.ports);
  return {};
}

}  // namespace plumbline
