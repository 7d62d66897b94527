#include "probes/filters/evaluate.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "probes/filters/filter_values.h"

namespace plumbline {
namespace {

constexpr int kMostDepth = 64;       // of jumps; nf_tables itself allows 16
constexpr int kMostSteps = 500'000;  // rules looked at for one packet
constexpr size_t kMostVerdicts = 64;
constexpr int kConntrackPriority = -200;  // NF_IP_PRI_CONNTRACK
constexpr double kNothing = 1e-9;

// Where a chain is found again by a jump: tool, variant, family, table, chain, and for tc device
// and direction (its chains are numbers).
using ChainKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

ChainKey chain_key(const FilterRule& rule, const std::string& chain) {
  if (rule.tool == "tc") return {rule.tool, rule.device, rule.hook, "", chain};
  return {rule.tool, rule.variant, rule.family, rule.table, chain};
}

struct Chain {
  std::vector<const FilterRule*> rules;
  size_t listed = 0;  // place among the chains as their tools list them
};

bool same_chain(const FilterRule& a, const FilterRule& b) {
  if (a.tool == "tc")
    return b.tool == "tc" && a.device == b.device && a.chain == b.chain && a.hook == b.hook;
  return a.chain == b.chain && a.table == b.table && a.family == b.family && a.tool == b.tool &&
         a.variant == b.variant;
}

// iptables' nft variant keeps its rules in tables of nf_tables, where `nft` shows them too, with
// conditions that it cannot read. Those tables are judged by what iptables-save says.
std::set<std::pair<std::string, std::string>> tables_of_iptables(
    const std::vector<FilterRule>& rules) {
  std::set<std::pair<std::string, std::string>> tables;
  const FilterRule* last = nullptr;
  for (const FilterRule& rule : rules) {
    if (rule.variant != "nft") continue;
    if (last == nullptr || last->table != rule.table || last->family != rule.family) {
      tables.emplace(rule.family, rule.table);
    }
    last = &rule;
  }
  return tables;
}

// The hooks that a packet passes, in order (net/core/dev.c: tc comes before netfilter on the way
// in and behind it on the way out).
struct Stage {
  const char* hook;
  const char* owner;  // "tc", "device" (nft's netdev and inet ingress), "bridge", "ip"
  bool lower;         // on the interfaces below
};
constexpr Stage kIncoming[] = {
    {"ingress", "tc", true},     {"ingress", "device", true}, {"prerouting", "bridge", true},
    {"input", "bridge", true},   {"ingress", "tc", false},    {"ingress", "device", false},
    {"prerouting", "ip", false}, {"input", "ip", false},
};
constexpr Stage kOutgoing[] = {
    {"output", "ip", false},    {"postrouting", "ip", false}, {"egress", "device", false},
    {"egress", "tc", false},    {"output", "bridge", true},   {"postrouting", "bridge", true},
    {"egress", "device", true}, {"egress", "tc", true},
};

class Walk {
 public:
  Walk(const std::vector<FilterRule>& rules, const FilterPacket& packet) : packet_(packet) {
    at_.packet = &packet;
    collect(rules);
  }

  std::vector<FilterVerdict> run() {
    for (const Stage& stage : packet_.incoming ? kIncoming : kOutgoing) pass(stage);
    return std::move(verdicts_);
  }

 private:
  // What is left of the packets behind a chain: how much of them, and whether surely so (false:
  // some of them may have been accepted for good).
  struct Rest {
    double share = 0;
    bool sure = true;
  };

  void collect(const std::vector<FilterRule>& rules) {
    const auto shadowed = tables_of_iptables(rules);
    const FilterRule* last = nullptr;
    Chain* chain = nullptr;
    for (const FilterRule& rule : rules) {
      if (rule.tool == "nftables" && shadowed.count({rule.family, rule.table}) > 0) continue;
      if (last == nullptr || !same_chain(*last, rule)) {
        chain = &chains_[chain_key(rule, rule.chain)];
        if (chain->rules.empty()) chain->listed = chains_.size();
      }
      chain->rules.push_back(&rule);
      last = &rule;
    }
  }

  bool belongs(const FilterRule& rule, const Stage& stage) const {
    if (rule.hook != stage.hook) return false;
    const std::string owner = stage.owner;
    if (owner == "tc") return rule.tool == "tc" && rule.chain == "0";
    if (rule.tool == "tc") return false;
    if (rule.chain_type == "nat" && !packet_.first) return false;
    if (owner == "device") return rule.family == "netdev" || rule.family == "inet";
    if (owner == "bridge") return rule.family == "bridge";
    const std::string family = family_of(packet_);
    if (rule.family == family || rule.family == "any") return true;
    return rule.family == "inet" && family != "arp";
  }

  // The chains of a hook in the order in which the kernel asks them: by priority; of equal ones the
  // one that was registered last comes first.
  std::vector<const Chain*> base_chains(const Stage& stage) const {
    std::vector<const Chain*> found;
    for (const auto& [key, chain] : chains_) {
      if (belongs(*chain.rules.front(), stage)) found.push_back(&chain);
    }
    std::sort(found.begin(), found.end(), [](const Chain* a, const Chain* b) {
      const int first = a->rules.front()->priority, second = b->rules.front()->priority;
      return first != second ? first < second : a->listed > b->listed;
    });
    return found;
  }

  void pass(const Stage& stage) {
    const std::string owner = stage.owner;
    if (owner == "bridge" && !packet_.bridge) return;
    std::vector<std::string> names = {packet_.interface};
    if (stage.lower) names = packet_.lower;
    if (names.empty()) {
      if (owner != "bridge") return;
      names = {""};
    }
    at_.hook = stage.hook;
    at_.interfaces = names;
    for (const Chain* chain : base_chains(stage)) {
      const Tri here = owner == "tc" || owner == "device" ? on_device(*chain, names) : Tri::kYes;
      if (here == Tri::kNo) continue;
      pass_base(*chain, here == Tri::kYes);
    }
  }

  static Tri on_device(const Chain& chain, const std::vector<std::string>& names) {
    const std::vector<std::string> devices = split_words(chain.rules.front()->device, ' ');
    if (devices.empty()) return Tri::kMaybe;
    size_t matching = 0;
    for (const std::string& name : names) {
      if (name.empty()) return Tri::kMaybe;
      if (std::find(devices.begin(), devices.end(), name) != devices.end()) ++matching;
    }
    if (matching == 0) return Tri::kNo;
    return matching == names.size() ? Tri::kYes : Tri::kMaybe;
  }

  void pass_base(const Chain& chain, bool sure) {
    if (alive_ < kNothing) return;
    const FilterRule& first = *chain.rules.front();
    at_.tracked = tracked_at(first);
    accepted_ = 0;
    left_by_ = nullptr;
    const Rest rest = walk(chain, alive_, sure, 0);
    // What a chain accepts goes on to the next one, as does what its policy accepts. A chain that
    // is perhaps not asked at all leaves all of it.
    if (sure) alive_ = accepted_ + rest.share;
  }

  // Of the ingress hooks and of bridges, connection tracking knows nothing (it may, for bridges).
  static Tri tracked_at(const FilterRule& first) {
    if (first.family == "bridge") return Tri::kMaybe;
    if (first.hook == "ingress") return Tri::kNo;
    if (first.hook == "prerouting" && first.priority < kConntrackPriority) return Tri::kNo;
    if (first.hook == "output" && first.priority < kConntrackPriority) return Tri::kNo;
    return Tri::kYes;
  }

  void stop(const FilterRule& rule, const std::string& action, double share) {
    if (verdicts_.size() >= kMostVerdicts) return;
    for (FilterVerdict& old : verdicts_) {  // once more, by another way of jumps
      if (old.rule != &rule || old.action != action) continue;
      old.share = std::min(1.0, old.share + share);
      return;
    }
    verdicts_.push_back({action, &rule, share, at_.hook, rule.is_policy ? left_by_ : nullptr});
  }

  // State of one walk through one chain.
  struct Here {
    double share;             // still in the chain
    double returned = 0;      // left it by return or goto
    bool sure;                // they surely came here and surely were not accepted
    bool may_return = false;  // some may have left by a return
    bool may_accept = false;  // some may have been accepted
    bool certain() const { return sure && !may_return && !may_accept; }
  };

  // Packets of `share` enter the chain; returns those that come out of its end or by a return.
  Rest walk(const Chain& chain, double share, bool sure, int depth) {
    Here here{share, 0, sure};
    for (const FilterRule* rule : chain.rules) {
      if (here.share < kNothing || rule->is_policy) break;
      if (++steps_ > kMostSteps || depth > kMostDepth) {
        stop(*rule, "unknown", here.share);
        here.may_accept = true;
        break;
      }
      const Tri match = holds(*rule, at_);
      if (match == Tri::kNo) continue;
      note_effects(*rule, match == Tri::kYes && here.certain());
      apply(*rule, match == Tri::kYes, here, depth);
    }
    apply_policy(*chain.rules.back(), here, depth);
    return {here.share + here.returned, !here.may_accept};
  }

  // What came to the end of the chain meets its policy; in a base chain so does what returned.
  void apply_policy(const FilterRule& rule, Here& here, int depth) {
    if (!rule.is_policy) return;
    if (depth == 0) {
      here.share += std::exchange(here.returned, 0);
      here.may_return = false;
    }
    const Tri match = here.share < kNothing ? Tri::kNo : holds(rule, at_);
    if (match != Tri::kNo) apply(rule, match == Tri::kYes, here, depth);
  }

  void note_effects(const FilterRule& rule, bool certain) {
    for (const std::string& effect : rule.effects) {
      if (effect == "mark") at_.marked = Tri::kMaybe;
      if (effect == "notrack") {
        at_.untracked = std::max(at_.untracked, certain ? Tri::kYes : Tri::kMaybe);
      }
    }
  }

  void apply(const FilterRule& rule, bool matches, Here& here, int depth) {
    const double acted = here.share * rule.share;
    const std::string& action = rule.action;
    const bool leaves = action == "return" || action == "goto";
    if (leaves && depth == 0 && left_by_ == nullptr) left_by_ = &rule;
    if (action == "drop" || action == "reject" || (action == "redirect" && !to_itself(rule))) {
      const bool certain = matches && here.certain();
      stop(rule, certain ? action : "unknown", acted);
      if (certain) here.share -= acted;
    } else if (action == "accept" || action == "redirect") {
      if (matches && here.sure && !here.may_return) {
        accepted_ += acted;
        here.share -= acted;
      } else {
        here.may_accept = true;
      }
    } else if (action == "return") {
      if (matches) {
        here.returned += acted;
        here.share -= acted;
      } else {
        here.may_return = true;
      }
    } else if (action == "jump" || action == "goto") {
      enter(rule, matches, here, depth);
    }
  }

  void enter(const FilterRule& rule, bool matches, Here& here, int depth) {
    const auto found = chains_.find(chain_key(rule, rule.target));
    const double entering = here.share * rule.share;
    Rest rest{entering, true};
    const bool certain = matches && here.certain();
    if (found != chains_.end()) rest = walk(found->second, entering, certain, depth + 1);
    if (!rest.sure) here.may_accept = true;
    if (!matches) {
      if (rule.action == "goto") here.may_return = true;
      return;  // perhaps nobody went there: all are still here
    }
    here.share -= entering;
    (rule.action == "goto" ? here.returned : here.share) += rest.share;
  }

  // A redirect to where the packet goes anyhow changes nothing.
  bool to_itself(const FilterRule& rule) const {
    const std::string& target = rule.target;
    if (target == packet_.destination_ip || target == std::to_string(packet_.destination_port)) {
      return true;
    }
    const std::string port = ":" + std::to_string(packet_.destination_port);
    return target == packet_.destination_ip + port ||
           target == "[" + packet_.destination_ip + "]" + port;
  }

  const FilterPacket& packet_;
  PacketAt at_;
  std::map<ChainKey, Chain> chains_;
  std::vector<FilterVerdict> verdicts_;
  double alive_ = 1;                     // share of the packets that has passed all chains so far
  double accepted_ = 0;                  // of them, by the base chain that is being walked
  const FilterRule* left_by_ = nullptr;  // return or goto of that chain that was taken first
  int steps_ = 0;
};

}  // namespace

std::vector<FilterVerdict> evaluate(const std::vector<FilterRule>& rules,
                                    const FilterPacket& packet) {
  return Walk(rules, packet).run();
}

std::string describe(const FilterRule& rule) {
  std::string where = rule.tool;
  if (!rule.variant.empty()) where += "-" + rule.variant;
  if (rule.tool == "tc") {
    return where + " " + rule.device + " " + rule.hook + " pref " + std::to_string(rule.handle) +
           ": " + rule.text;
  }
  if (rule.tool == "nftables") where += " " + rule.family;
  where += " " + rule.table + " " + rule.chain;
  if (rule.is_policy) return where + ": policy " + rule.action;
  where += rule.tool == "nftables" ? " handle " : " rule ";
  return where + std::to_string(rule.handle) + ": " + rule.text;
}

}  // namespace plumbline
