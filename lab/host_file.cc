#include "lab/host_file.h"

#include <unistd.h>

#include <array>

#include "core/json.h"
#include "lab/address.h"

namespace plumbline {

std::string host_file_text(const Lab& lab, const std::vector<HostFilePatch>& patches) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const LabHost& host : lab.hosts) {
    nlohmann::ordered_json entry = {{"name", host.name}, {"netns", host.netns}};
    entry["data"] = nlohmann::ordered_json::array();
    for (const LabLink& link : host.links) entry["data"].push_back(link.data);
    if (host.names_interface) entry["interface"] = host.links.front().interface;
    if (!lab.topology.rate.empty()) entry["speed"] = lab.topology.rate;
    if (lab.topology.unprivileged) entry["user"] = "nobody";
    for (const HostFilePatch& patch : patches) {
      if (patch.host != host.name) continue;
      if (patch.value.empty()) {
        entry.erase(patch.key);
      } else {
        entry[patch.key] = nlohmann::ordered_json::parse(patch.value, nullptr, false);
      }
    }
    entries.push_back(std::move(entry));
  }
  // One host a line, so that findings can name the line.
  std::string out = "{\"hosts\": [\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    out += "  " + entries[i].dump() + (i + 1 < entries.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string names_folder(const LabHost& host) { return "/etc/netns/" + host.netns; }

std::string names_text(const Lab& lab, const LabHost& host,
                       const std::map<std::string, std::string>& addresses) {
  std::string out = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const LabHost& other : lab.hosts) {
    const auto changed = addresses.find(other.name);
    const std::string ip =
        changed != addresses.end() ? changed->second : ip_of(other.links.front().data);
    if (ip.empty()) continue;
    out += ip + " " + other.name;
    if (other.name == host.name && machine_name() != other.name) out += " " + machine_name();
    out += "\n";
  }
  return out;
}

}  // namespace plumbline
