#include <algorithm>
#include <map>

#include "core/host/host_parse.h"
#include "core/json.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

using nlohmann::json;
using Words = std::vector<std::string_view>;
using Places = std::map<std::string, InterfaceEvidence*, std::less<>>;

// ---- netstat -ibdn ----

struct Column {
  const char* title;
  const char* counter;  // as on Linux
};
constexpr Column kColumns[] = {
    {"Ipkts", "rx_packets"}, {"Ierrs", "rx_errors"}, {"Ibytes", "rx_bytes"},
    {"Opkts", "tx_packets"}, {"Oerrs", "tx_errors"}, {"Obytes", "tx_bytes"},
    {"Coll", "collisions"},  {"Drop", "tx_dropped"},
};

Places by_name(HostEvidence& host) {
  Places out;
  for (InterfaceEvidence& interface : host.interfaces) out.emplace(interface.name, &interface);
  return out;
}

// en2 1500 <Link#8> 36:00:00:00:00:02 1000 0 90000 900 0 80000 0 0: an interface without hardware
// address has a word less, so that the columns are counted from the end.
void read_counters(const Words& words, const Words& titles, const Places& places) {
  constexpr std::string_view kLink = "<Link#";
  if (words.size() < 3 + titles.size() || words[2].rfind(kLink, 0) != 0) return;
  std::string_view name = words[0];
  if (name.back() == '*') name.remove_suffix(1);  // it is down
  const auto it = places.find(name);
  if (it == places.end() || !it->second->counters.empty()) return;
  std::string_view index = words[2].substr(kLink.size());
  index = index.substr(0, index.find('>'));
  const auto number = parse_whole<int>(index, 1, 1'000'000);
  if (number) it->second->index = *number;
  const size_t first = words.size() - titles.size();
  for (size_t i = 0; i < titles.size(); ++i) {
    const auto value = parse_whole(words[first + i]);
    if (!value || *value < 0) continue;
    for (const Column& column : kColumns) {
      if (titles[i] == column.title) it->second->counters[column.counter] = *value;
    }
  }
}

// ---- networksetup ----

// The names of ports are translated and can be changed; what stays are trade marks and "LAN".
std::string kind_of_port(const std::string& title) {
  const std::string name = lower_case(title);
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("wi-fi") || has("wifi") || has("wlan") || has("airport")) return "wifi";
  if (has("ethernet") || has(" lan")) return "ethernet";  // "Thunderbolt Ethernet" too
  const size_t at = name.find("thunderbolt");
  if (at == std::string::npos) return {};
  // "Thunderbolt 2", "Thunderbolt-Anschluss 2"; adapters are called by what they adapt to.
  const bool adapter = name.find("adapter", at) != std::string::npos || has("10g");
  return adapter ? "ethernet" : "thunderbolt";
}

// What stands behind the first ": ".
std::string_view value_of(std::string_view line) {
  const size_t colon = line.find(": ");
  return colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 2));
}

void read_port_block(const std::vector<std::string_view>& block, const Places& places) {
  if (block.size() < 2) return;
  const std::string kind = kind_of_port(std::string(value_of(block[0])));
  if (kind.empty()) return;
  // The line that names the device is translated as well: it is the one that names an interface.
  for (size_t i = 1; i < block.size(); ++i) {
    const auto it = places.find(value_of(block[i]));
    if (it == places.end()) continue;
    InterfaceEvidence& interface = *it->second;
    if (interface.kind == "unknown" || interface.kind == "ethernet") interface.kind = kind;
    return;
  }
}

// ---- system_profiler SPThunderboltDataType -json ----

constexpr int kDeepest = 16;       // of devices behind devices
constexpr size_t kMostPorts = 64;  // of one Mac
constexpr int kThunderbolt4 = 40;  // Gb/s; RDMA needs more

// "Up to 40 Gb/s", "80 Gb/s" -> number; 0 when there is none.
int gigabits_of(const std::string& text) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos || text.find("Gb/s") == std::string::npos) return 0;
  const auto number = leading_whole(std::string_view(text).substr(begin));
  return number && *number > 0 && *number <= 10'000 ? static_cast<int>(*number) : 0;
}

// Is there another computer among what is plugged in? Docks and screens have no domain.
bool leads_to_computer(const json& node, int depth) {
  const json& items = part_at(node, "_items");
  if (!items.is_array() || depth >= kDeepest) return false;
  return std::any_of(items.begin(), items.end(), [&](const json& item) {
    const std::string domain = text_at(item, "domain_uuid_key");
    return (!domain.empty() && domain != "0") || leads_to_computer(item, depth + 1);
  });
}

struct ThunderboltPorts {
  std::vector<int> all;        // Gb/s of each socket, as far as told
  std::vector<int> computers;  // of those behind which another computer is
  bool idle = false;           // some tell what they could ("Up to"), not what was negotiated
};

void read_bus(const json& bus, ThunderboltPorts& out) {
  if (!bus.is_object()) return;
  const bool computer = leads_to_computer(bus, 0);
  for (const auto& [key, socket] : bus.items()) {
    if (key.rfind("receptacle_", 0) != 0 || out.all.size() >= kMostPorts) continue;
    const std::string speed = text_at(socket, "current_speed_key");
    const int gigabits = gigabits_of(speed);
    if (gigabits == 0) continue;
    out.all.push_back(gigabits);
    const bool empty =
        text_at(socket, "receptacle_status_key").find("no_devices") != std::string::npos;
    if (empty || speed.find("Up to") != std::string::npos) out.idle = true;
    if (computer && !empty) out.computers.push_back(gigabits);
  }
}

// Which socket is which interface nobody tells: only where all answers are the same one is known.
void set_speeds(const std::vector<int>& links, HostEvidence& host) {
  std::vector<InterfaceEvidence*> carriers;
  for (InterfaceEvidence& interface : host.interfaces) {
    if (interface.kind == "thunderbolt" && interface.carrier == true)
      carriers.push_back(&interface);
  }
  if (links.empty() || carriers.size() > links.size()) return;
  const bool same = std::all_of(links.begin(), links.end(), [&](int g) { return g == links[0]; });
  if (!same) return;
  for (InterfaceEvidence* interface : carriers) {
    interface->speed_bps = int64_t{links[0]} * 1'000'000'000;
  }
}

}  // namespace

Status parse_netstat_interfaces(const std::string& text, HostEvidence& host) {
  const Places places = by_name(host);
  std::optional<Words> titles;
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    const auto address = std::find(words.begin(), words.end(), "Address");
    if (!titles && !words.empty() && words[0] == "Name" && address != words.end()) {
      titles = Words(address + 1, words.end());
    } else if (titles) {
      read_counters(words, *titles, places);
    }
  }
  if (!titles) return fail(ErrorCode::kProtocol, "no table of interfaces in what netstat printed");
  return {};
}

Status parse_hardware_ports(const std::string& text, HostEvidence& host) {
  const Places places = by_name(host);
  std::vector<std::string_view> block;
  for (const std::string_view line : lines_of(text)) {
    if (!trimmed(line).empty()) {
      if (block.size() < 16) block.push_back(line);
      continue;
    }
    read_port_block(block, places);
    block.clear();
  }
  read_port_block(block, places);
  return {};
}

Status parse_thunderbolt_profile(const std::string& text, HostEvidence& host) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) {
    return fail(ErrorCode::kProtocol, "what system_profiler printed is not the JSON that is known");
  }
  ThunderboltPorts ports;
  const json& buses = part_at(all, "SPThunderboltDataType");
  if (buses.is_array()) {
    for (const json& bus : buses) read_bus(bus, ports);
  }
  set_speeds(ports.computers, host);
  const auto best = std::max_element(ports.all.begin(), ports.all.end());
  if (best == ports.all.end() || *best > kThunderbolt4) return {};
  if (!host.rdma) host.rdma.emplace();
  host.rdma->hardware =
      ports.idle ? "the Thunderbolt ports of this Mac do " + std::to_string(*best) +
                       " Gb/s at most; RDMA needs Thunderbolt 5"
                 : "no Thunderbolt link of this Mac runs faster than " + std::to_string(*best) +
                       " Gb/s; RDMA needs Thunderbolt 5 in both Macs and in the cable";
  return {};
}

}  // namespace plumbline
