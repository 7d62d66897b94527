#include "lab/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>

#include "core/command.h"
#include "core/error.h"
#include "core/json.h"
#include "lab/create.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kWithinMs = 15'000;

// All tools in one go: starting processes is what costs here.
constexpr const char* kScript =
    "echo == links; ip -d -j address show\n"
    "echo; echo == routes; ip -4 -j route show table all\n"
    "echo; echo == routes; ip -6 -j route show table all\n"
    "echo; echo == rules; ip -4 -j rule; echo; echo == rules; ip -6 -j rule\n"
    "echo; echo == neighbours; ip neighbour show nud permanent\n"
    "echo == nft; nft -s list ruleset 2>/dev/null\n"
    "echo == legacy; iptables-legacy-save 2>/dev/null; ip6tables-legacy-save 2>/dev/null\n"
    "echo == qdiscs; tc qdisc show\n"
    "for d in $(ls /sys/class/net); do for s in ingress egress; do\n"
    "  echo == filters of $d $s; tc filter show dev $d $s 2>/dev/null\n"
    "done; done\n"
    "echo == sysctls; sysctl -a -r '^net\\.(ipv4\\.(conf|icmp_echo|ip_forward)|ipv6\\.(conf|icmp)|"
    "bridge)' 2>/dev/null\n"
    "echo == names; cat /etc/hosts\n";

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

void read_links(const Json& links, Snapshot& out) {
  for (const Json& link : links) {
    const std::string name = text_of(link, "ifname");
    std::string flags;
    for (const Json& flag : link.value("flags", Json::array())) {
      // Not LOWER_UP: the carrier is the other end's doing.
      if (flag == "UP" || flag == "NOARP") flags += " " + flag.get<std::string>();
    }
    const Json info = link.value("linkinfo", Json::object());
    const Json port = info.value("info_slave_data", Json::object());
    out.push_back(fmt::format("link {}:{} mtu {} master {} kind {} isolated {}", name, flags,
                              text_of(link, "mtu"), text_of(link, "master"),
                              text_of(info, "info_kind"), text_of(port, "isolated")));
    for (const Json& address : link.value("addr_info", Json::array())) {
      // What the kernel makes from the MAC comes and goes with duplicate address detection.
      const std::string ip = text_of(address, "local");
      if (ip.rfind("fe80", 0) == 0 && ip.find("ff:fe") != std::string::npos) continue;
      out.push_back(fmt::format("address {}/{} on {} {}", ip, text_of(address, "prefixlen"), name,
                                text_of(address, "scope")));
    }
  }
}

void read_routes(Json routes, Snapshot& out) {
  for (Json& route : routes) {
    const std::string to = text_of(route, "dst");
    const bool own = to.rfind("fe80", 0) == 0 || to.rfind("ff00", 0) == 0;
    if (own || text_of(route, "table") == "local") continue;
    for (const char* key : {"flags", "pref", "expires", "cache"}) route.erase(key);
    out.push_back("route " + route.dump());
  }
}

// A table of iptables-legacy that was once used stays, empty and accepting.
bool is_default(const std::string& line) {
  return line.empty() || line[0] == '#' || line[0] == '*' || line == "COMMIT" ||
         (line[0] == ':' && line.find(" ACCEPT ") != std::string::npos);
}

std::string read_line(const std::string& section, std::string line) {
  static const std::regex kHandles("(qdisc [a-z_]+) [0-9a-f]+: |refcnt [0-9]+ ?|dev lo .*");
  static const std::regex kCounters("\\[[0-9]+:[0-9]+\\]");
  static const std::regex kNoise("stable_secret|temp_|mc_forwarding|\\.addr_gen_mode");
  if (section == "legacy") {
    if (is_default(line)) return {};
    line = std::regex_replace(line, kCounters, "");
  }
  if (section == "qdiscs") {
    if (line.find(" dev lo ") != std::string::npos || line.find("noqueue") != std::string::npos) {
      return {};
    }
    line = std::regex_replace(line, kHandles, "$1 ");
  }
  if (section == "sysctls" && std::regex_search(line, kNoise)) return {};
  return line.empty() ? line : section + ": " + line;
}

void read_section(const std::string& section, const std::string& body, Snapshot& out) {
  if (section == "links" || section == "routes" || section == "rules") {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_array()) return;
    try {
      if (section == "links") read_links(json, out);
      if (section == "routes") read_routes(json, out);
      if (section == "rules") {
        for (const Json& rule : json) out.push_back("rule " + rule.dump());
      }
    } catch (const Json::exception& error) {
      out.push_back(section + " not understood: " + json_trouble(error));
    }
    return;
  }
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) {
    std::string clean = read_line(section, line);
    if (!clean.empty()) out.push_back(std::move(clean));
  }
}

bool is_of_interface(const std::string& line) {
  static const std::regex kOfOne(
      "^(link|address|filters of|qdiscs:|sysctls: net.ipv[46].conf)|\"dev\":");
  return std::regex_search(line, kOfOne);
}

}  // namespace

Snapshot normalised(const std::string& text) {
  Snapshot out;
  std::string section, body;
  std::istringstream in(text);
  const auto flush = [&] {
    if (!section.empty()) read_section(section, body, out);
    body.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("== ", 0) == 0) {
      flush();
      section = line.substr(3);
    } else {
      body += line + "\n";
    }
  }
  flush();
  std::sort(out.begin(), out.end());
  return out;
}

Expected<Snapshot> take_snapshot(const std::string& netns) {
  std::vector<std::string> argv = {"sh", "-c", kScript};
  if (!netns.empty()) argv.insert(argv.begin(), {"ip", "netns", "exec", netns});
  const auto done = run_command(argv, Deadline::after_ms(kWithinMs));
  if (!done) return fail(done.error());
  if (done->status != 0) {
    return fail(ErrorCode::kSystem, "snapshot of " + netns + ": " + done->err);
  }
  return normalised(done->out);
}

Expected<std::map<std::string, Snapshot>> take_snapshots(const Lab& lab) {
  std::map<std::string, Snapshot> out;
  std::vector<std::string> all = lab_namespaces(lab);
  all.emplace_back();
  for (const std::string& netns : all) {
    Expected<Snapshot> one = take_snapshot(netns);
    if (!one) return fail(one.error());
    // Other people's interfaces come and go on this machine.
    if (netns.empty())
      one->erase(std::remove_if(one->begin(), one->end(), is_of_interface), one->end());
    out[netns] = std::move(*one);
  }
  return out;
}

std::vector<std::string> difference(const Snapshot& before, const Snapshot& after) {
  std::vector<std::string> gone, fresh, out;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(fresh));
  for (const std::string& line : gone) out.push_back("- " + line);
  for (const std::string& line : fresh) out.push_back("+ " + line);
  return out;
}

}  // namespace plumbline
