#include "probes/rules/neighbour_links.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "core/text.h"

namespace plumbline {

std::vector<Link> links_of(const EvidenceSet& evidence, const std::vector<DataAddress>& all) {
  std::vector<Link> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!between_machines(pair) || !pair.skipped.empty()) continue;
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (from == nullptr || to == nullptr) continue;
    if (!is_usable(*from->interface) || !is_usable(*to->interface)) continue;
    if (!same_subnet(from->ip, to->ip, from->prefix)) continue;
    if (pair.neighbour && !pair.neighbour->on_link) continue;
    const RouteLookup* lookup = route_lookup(pair);
    if (lookup != nullptr && (!lookup->error.empty() || !lookup->via.empty())) continue;
    // Sent elsewhere, the request meets nobody: that is a matter of routes.
    if (lookup != nullptr && !lookup->dev.empty() && lookup->dev != from->interface->name) continue;
    out.push_back({&pair, from, to});
  }
  return out;
}

std::string neighbour_key(const std::string& from, const std::string& to) {
  return key_of({"neighbour", from, to});
}

bool is_unresolved(const Link& link) {
  const PairEvidence& pair = *link.pair;
  if (reaches(pair).value_or(false)) return false;
  if (pair.neighbour && pair.neighbour->error.empty()) {
    const NeighbourProbe& probe = *pair.neighbour;
    const bool kernel_knows = !probe.kernel_mac.empty() && probe.kernel_state != "FAILED";
    if (!probe.macs.empty()) return false;
    return probe.method == "arp" || !kernel_knows;
  }
  for (const NeighbourEvidence& entry : link.from->at.host->neighbours) {
    if (entry.ip == pair.to_ip) return entry.state == "FAILED" || entry.state == "INCOMPLETE";
  }
  return false;
}

namespace {

// What a rule of ebtables or arptables may consist of besides values; -j drops, or there would be
// nothing to take out. Options that do something else than match are none of these.
const std::vector<Word>& rule_options() {
  static const std::vector<Word> kOptions = {"!",
                                             "-p",
                                             "-i",
                                             "-o",
                                             "-s",
                                             "-d",
                                             "-j",
                                             "--proto",
                                             "--protocol",
                                             "--in-interface",
                                             "--out-interface",
                                             "--logical-in",
                                             "--logical-out",
                                             "--source",
                                             "--destination",
                                             "--src",
                                             "--dst",
                                             "--jump",
                                             "--arp-op",
                                             "--arp-opcode",
                                             "--arp-htype",
                                             "--arp-ptype",
                                             "--arp-ip-src",
                                             "--arp-ip-dst",
                                             "--arp-mac-src",
                                             "--arp-mac-dst",
                                             "--opcode",
                                             "--h-type",
                                             "--h-length",
                                             "--proto-type",
                                             "--source-ip",
                                             "--destination-ip",
                                             "--source-mac",
                                             "--destination-mac",
                                             "--src-ip",
                                             "--dst-ip",
                                             "--src-mac",
                                             "--dst-mac"};
  return kOptions;
}

// The rule's own text, "-A FORWARD -p ARP -j DROP", with -D in the place of -A.
std::optional<Command> delete_command(const FilterRule& rule) {
  std::istringstream text(rule.text);
  std::string word;
  if (!(text >> word) || word != "-A" || !(text >> word)) return std::nullopt;
  std::vector<Word> words = {one_of(rule.tool, {"ebtables", "arptables"}), "-t",
                             slot(Slot::kFilterName, rule.table.empty() ? "filter" : rule.table),
                             "-D", slot(Slot::kFilterName, word)};
  while (text >> word) {
    const bool option = word[0] == '-' || word == "!";
    words.push_back(option ? one_of(word, rule_options()) : slot(Slot::kMatchValue, word));
  }
  Command command = words;
  if (!command.problem().empty()) return std::nullopt;
  return command;
}

}  // namespace

bool stops_arp(const FilterRule& rule) {
  if (rule.action != "drop" || rule.is_policy) return false;
  const std::string text = lower_case(rule.text);
  const bool named = rule.family == "arp" || text.find("arp") != std::string::npos ||
                     text.find("0x0806") != std::string::npos;
  return named && (rule.family == "arp" || rule.family == "bridge" || rule.family == "netdev" ||
                   rule.tool == "ebtables" || rule.tool == "tc" || rule.tool == "arptables");
}

Remedy remedy_without_arp_rule(const FilterRule& rule) {
  if (rule.tool == "nftables" && rule.handle > 0) {
    const Command command = {"nft",
                             "delete",
                             "rule",
                             one_of(rule.family, {"ip", "ip6", "inet", "bridge", "netdev", "arp"}),
                             slot(Slot::kNftName, rule.table),
                             slot(Slot::kNftName, rule.chain),
                             "handle",
                             number(rule.handle)};
    if (command.problem().empty()) return command;
  }
  if (rule.tool == "ebtables" || rule.tool == "arptables") {
    const std::optional<Command> command = delete_command(rule);
    if (command) return *command;
  }
  return fmt::format("take this rule of {} out: {}", rule.tool, rule.text);
}

}  // namespace plumbline
