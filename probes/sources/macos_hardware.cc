#include <algorithm>
#include <map>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

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

// The number in the title of a Thunderbolt port, which no language changes; empty where there is
// not exactly one.
std::string socket_of_title(std::string_view title) {
  std::string found;
  for (const std::string_view word : words_of(title)) {
    const auto number = parse_whole<int>(word, 1, 64);
    if (!number) continue;
    if (!found.empty()) return {};
    found = std::to_string(*number);
  }
  return found;
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
    if (kind == "thunderbolt") interface.receptacle = socket_of_title(value_of(block[0]));
    return;
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

}  // namespace plumbline
