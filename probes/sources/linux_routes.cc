#include <fmt/format.h>

#include "core/json.h"
#include "probes/sources/json_read.h"
#include "probes/sources/linux_sources.h"

namespace plumbline {
namespace {

using nlohmann::json;

std::string gateway_of(const json& hop) {
  const std::string gateway = text_at(hop, "gateway");
  return gateway.empty() ? text_at(part_at(hop, "via"), "host") : gateway;
}

std::vector<std::string> flags_of(const json& hop) {
  std::vector<std::string> out;
  for (const json& flag : part_at(hop, "flags")) {
    if (flag.is_string()) out.push_back(flag.get<std::string>());
  }
  return out;
}

RouteEvidence route_of(const json& entry) {
  RouteEvidence out;
  out.destination = text_at(entry, "dst");
  out.type = text_at(entry, "type");
  if (out.type.empty()) out.type = "unicast";
  out.dev = text_at(entry, "dev");
  out.via = gateway_of(entry);
  out.source = text_at(entry, "prefsrc");
  out.table = text_at(entry, "table");
  if (out.table.empty()) out.table = "main";
  out.scope = text_at(entry, "scope");
  out.protocol = text_at(entry, "protocol");
  out.metric = number_at(entry, "metric").value_or(0);
  out.flags = flags_of(entry);
  return out;
}

// "10.9.0.0" and 16 -> "10.9.0.0/16"; "all" where nothing is said.
std::string prefix_of(const json& rule, const char* address, const char* length) {
  const std::string ip = text_at(rule, address);
  if (ip.empty()) return "all";
  const auto bits = number_at(rule, length);
  return bits ? fmt::format("{}/{}", ip, *bits) : ip;
}

PolicyRule rule_of(const json& entry) {
  PolicyRule out;
  out.priority = number_at(entry, "priority").value_or(0);
  out.from = prefix_of(entry, "src", "srclen");
  out.to = prefix_of(entry, "dst", "dstlen");
  out.table = text_at(entry, "table");
  out.action = text_at(entry, "action");
  if (out.action.empty()) out.action = out.table.empty() ? "nop" : "lookup";
  out.text =
      fmt::format("{}: {}from {}", out.priority, flag_at(entry, "not") ? "not " : "", out.from);
  if (out.to != "all") out.text += " to " + out.to;
  for (const char* key : {"fwmark", "iif", "oif", "tos", "ipproto", "uidrange"}) {
    const std::string value = text_at(entry, key);
    if (!value.empty()) out.text += fmt::format(" {} {}", key, value);
  }
  for (const char* key : {"sport", "dport"}) {
    const auto value = number_at(entry, key);
    if (value) out.text += fmt::format(" {} {}", key, *value);
  }
  out.text += out.action == "lookup" ? " lookup " + out.table : " " + out.action;
  return out;
}

}  // namespace

Status parse_ip_route(const std::string& text, HostEvidence& host) {
  const auto routes = parse_json_array(text, "ip route");
  if (!routes) return fail(routes.error());
  for (const json& entry : *routes) {
    RouteEvidence route = route_of(entry);
    // Every address has such routes; they say nothing about the way to a peer.
    const bool noise =
        route.type == "broadcast" || route.type == "multicast" || route.type == "anycast";
    if (route.destination.empty() || noise) continue;
    const json& hops = part_at(entry, "nexthops");
    if (!hops.is_array() || hops.empty()) {
      host.routes.push_back(std::move(route));
      continue;
    }
    for (const json& hop : hops) {  // one line for each of several ways
      RouteEvidence one = route;
      one.dev = text_at(hop, "dev");
      one.via = gateway_of(hop);
      one.flags = flags_of(hop);
      host.routes.push_back(std::move(one));
    }
  }
  return {};
}

Status parse_ip_rule(const std::string& text, HostEvidence& host) {
  const auto rules = parse_json_array(text, "ip rule");
  if (!rules) return fail(rules.error());
  for (const json& entry : *rules) {
    if (entry.is_object() && !entry.empty()) host.policy_rules.push_back(rule_of(entry));
  }
  return {};
}

Status parse_ip_neigh(const std::string& text, HostEvidence& host) {
  const auto entries = parse_json_array(text, "ip neigh");
  if (!entries) return fail(entries.error());
  for (const json& entry : *entries) {
    NeighbourEvidence out;
    out.ip = text_at(entry, "dst");
    out.dev = text_at(entry, "dev");
    out.mac = text_at(entry, "lladdr");
    const json& states = part_at(entry, "state");
    if (states.is_array() && !states.empty() && states[0].is_string()) {
      out.state = states[0].get<std::string>();
    }
    if (!out.ip.empty()) host.neighbours.push_back(std::move(out));
  }
  return {};
}

}  // namespace plumbline
