#include "probes/filters/iptables_targets.h"

#include <algorithm>

#include "probes/filters/parse_limits.h"

namespace plumbline {
namespace {

struct TargetRow {
  const char* name;
  const char* action;
  const char* effect;  // or nullptr
  bool sure;           // false: depends on what cannot be seen
};

constexpr TargetRow kTargets[] = {
    {"ACCEPT", "accept", nullptr, true},
    {"DROP", "drop", nullptr, true},
    {"REJECT", "reject", nullptr, true},
    {"RETURN", "return", nullptr, true},
    {"CONTINUE", "continue", nullptr, true},
    {"QUEUE", "drop", nullptr, true},  // by the kernel, unless a program listens
    {"NFQUEUE", "drop", nullptr, true},
    {"TARPIT", "drop", nullptr, true},
    {"STEAL", "drop", nullptr, true},
    {"DNAT", "redirect", nullptr, true},
    {"REDIRECT", "redirect", nullptr, true},
    {"NETMAP", "redirect", nullptr, false},
    {"TPROXY", "redirect", nullptr, false},
    {"SNAT", "accept", nullptr, true},
    {"MASQUERADE", "accept", nullptr, true},
    {"SYNPROXY", "accept", nullptr, false},
    {"MARK", "continue", "mark", true},
    {"CONNMARK", "continue", "mark", true},
    {"mark", "continue", "mark", true},
    {"NOTRACK", "continue", "notrack", true},
    {"AUDIT", "continue", nullptr, true},
    {"CHECKSUM", "continue", nullptr, true},
    {"CLASSIFY", "continue", nullptr, true},
    {"CONNSECMARK", "continue", nullptr, true},
    {"CT", "continue", nullptr, true},
    {"DSCP", "continue", nullptr, true},
    {"ECN", "continue", nullptr, true},
    {"HL", "continue", nullptr, true},
    {"HMARK", "continue", "mark", true},
    {"IDLETIMER", "continue", nullptr, true},
    {"LED", "continue", nullptr, true},
    {"LOG", "continue", nullptr, true},
    {"NFLOG", "continue", nullptr, true},
    {"RATEEST", "continue", nullptr, true},
    {"SECMARK", "continue", nullptr, true},
    {"SET", "continue", nullptr, true},
    {"TCPMSS", "continue", nullptr, true},
    {"TCPOPTSTRIP", "continue", nullptr, true},
    {"TEE", "continue", nullptr, true},
    {"TOS", "continue", nullptr, true},
    {"TRACE", "continue", nullptr, true},
    {"TTL", "continue", nullptr, true},
    {"ULOG", "continue", nullptr, true},
    {"log", "continue", nullptr, true},
};

}  // namespace

void apply_iptables_target(const std::string& name, FilterRule& rule) {
  const auto row = std::find_if(std::begin(kTargets), std::end(kTargets),
                                [&](const TargetRow& target) { return name == target.name; });
  if (row == std::end(kTargets)) {
    rule.action = "jump";
    rule.target = name;
    return;
  }
  rule.action = row->action;
  if (row->effect != nullptr) rule.effects.emplace_back(row->effect);
  if (!row->sure) rule.matches.push_back(other_match("target " + name));
  if (name == "REJECT") rule.reject_with = "icmp port-unreachable";
  if (name == "QUEUE" || name == "NFQUEUE") rule.target = "queue";
}

}  // namespace plumbline
