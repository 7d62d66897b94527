#include <algorithm>

#include "core/json.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/nft.h"
#include "probes/filters/save_text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostWays = 4096;  // rules that one rule may become

void set_reject(FilterRule& rule, const Json& body) {
  rule.action = "reject";
  const std::string type = member_text(body, "type"), code = member_text(body, "expr");
  rule.reject_with = type.empty() ? "icmpx port-unreachable" : type;
  if (!code.empty()) rule.reject_with += " " + code;
}

// "10.0.0.9:7", "10.0.0.9" or "7"; what is looked up in a map is not understood.
void set_redirect(FilterRule& rule, const Json& body) {
  rule.action = "redirect";
  std::string address = member_text(body, "addr"), port = member_text(body, "port");
  if (address.find('{') != std::string::npos || port.find('{') != std::string::npos) {
    rule.matches.push_back(other_match("destination by map"));
    address.clear();
    port.clear();
  }
  if (address.find(':') != std::string::npos && !port.empty()) address = "[" + address + "]";
  rule.target = address.empty() || port.empty() ? address + port : address + ":" + port;
  // To a port of its own that is the packet's already, at an address that is this host's already.
  if (rule.target.empty() && rule.matches.empty()) rule.action = "accept";
}

void set_queue(FilterRule& rule, const Json& body) {
  const Json flags = body.is_object() ? body.value("flags", Json()) : Json();
  const bool bypass =
      flags == "bypass" ||
      (flags.is_array() && std::find(flags.begin(), flags.end(), Json("bypass")) != flags.end());
  // Without a program that listens the kernel drops, or accepts with bypass.
  rule.action = bypass ? "accept" : "drop";
  rule.target = "queue";
}

void set_extension(FilterRule& rule, const Json& body) {
  const std::string name = member_text(body, "name");
  if (member_text(body, "type") == "target") {
    apply_iptables_target(name, rule);
    if (rule.action == "jump") {  // no chain of that name can be meant here
      rule.action = "drop";
      rule.matches.push_back(other_match("target " + name));
    }
  } else if (name.empty()) {
    // Older versions do not say what it is: it may as well be what drops.
    rule.matches.push_back(other_match("xt"));
    if (rule.action == "continue") rule.action = "drop";
  } else {
    rule.matches.push_back(other_match("match " + name));
  }
}

struct StatementRow {
  const char* name;
  void (*apply)(FilterRule& rule, const Json& body);
};

void set_action(FilterRule& rule, const char* action, const Json& body) {
  rule.action = action;
  rule.target = member_text(body, "target");
}

// Statements that decide, and those that may or may not let the rule go on. What is not here
// counts, logs or changes something that no filter asks.
constexpr StatementRow kStatements[] = {
    {"accept", [](FilterRule& rule, const Json& body) { set_action(rule, "accept", body); }},
    {"drop", [](FilterRule& rule, const Json& body) { set_action(rule, "drop", body); }},
    {"return", [](FilterRule& rule, const Json& body) { set_action(rule, "return", body); }},
    {"continue", [](FilterRule& rule, const Json& body) { set_action(rule, "continue", body); }},
    {"jump", [](FilterRule& rule, const Json& body) { set_action(rule, "jump", body); }},
    {"goto", [](FilterRule& rule, const Json& body) { set_action(rule, "goto", body); }},
    {"masquerade", [](FilterRule& rule, const Json& body) { set_action(rule, "accept", body); }},
    {"snat", [](FilterRule& rule, const Json& body) { set_action(rule, "accept", body); }},
    {"reject", set_reject},
    {"dnat", set_redirect},
    {"redirect", set_redirect},
    {"queue", set_queue},
    {"xt", set_extension},
    {"tproxy",
     [](FilterRule& rule, const Json& body) {
       set_redirect(rule, body);
       rule.action = "redirect";
       rule.matches.push_back(other_match("tproxy: when its program listens"));
     }},
    {"fwd",
     [](FilterRule& rule, const Json& body) {
       rule.action = "redirect";
       rule.target = "interface " + member_text(body, "dev");
     }},
    {"synproxy",
     [](FilterRule& rule, const Json& body) {
       set_action(rule, "accept", body);
       rule.matches.push_back(other_match("synproxy"));
     }},
    {"notrack", [](FilterRule& rule, const Json&) { rule.effects.emplace_back("notrack"); }},
    {"limit",
     [](FilterRule& rule, const Json& body) {
       rule.matches.push_back(make_match("limit", {nft_statement_text(Json{{"limit", body}})}));
     }},
    {"quota", [](FilterRule& rule, const Json&) { rule.matches.push_back(other_match("quota")); }},
    {"ct count",
     [](FilterRule& rule, const Json& body) {
       rule.matches.push_back(other_match("ct count " + body.dump()));
     }},
    {"meter",
     [](FilterRule& rule, const Json&) { rule.matches.push_back(make_match("limit", {"meter"})); }},
    {"set",
     [](FilterRule& rule, const Json& body) {
       if (body.is_object() && body.contains("stmt")) {
         rule.matches.push_back(make_match("limit", {"rate of a set's element"}));
       }
     }},
};

bool sets_mark(const Json& body) {
  const Json& key = body.at("key");
  return key.is_object() && key.contains("meta") && member_text(key["meta"], "key") == "mark";
}

// A rule that is being read: the ways in which what was read so far can hold.
class Reader {
 public:
  Reader(const FilterRule& rule, const NftSets& sets) : sets_(sets), ways_{rule} {
    ways_[0].action = "continue";
  }

  void read(const Json& statement) {
    if (!statement.is_object() || statement.empty()) return add_other("unreadable statement");
    const std::string& kind = statement.begin().key();
    const Json& body = statement.begin().value();
    if (kind == "match") return restrict(nft_match(body, sets_));
    if (kind == "vmap") return verdicts(body);
    if (kind == "mangle" && sets_mark(body)) return add_effect("mark");
    const StatementRow* row = find_row(kStatements, kind);
    if (row == nullptr) return;
    for (FilterRule& way : ways_) row->apply(way, body);
  }

  std::vector<FilterRule> take() {
    std::move(ways_.begin(), ways_.end(), std::back_inserter(done_));
    return std::move(done_);
  }

 private:
  void add_other(const std::string& text) {
    for (FilterRule& way : ways_) way.matches.push_back(other_match(text));
  }

  void may_drop(const std::string& text) {
    add_other(text);
    for (FilterRule& way : ways_) way.action = "drop";
  }

  // What the statements so far did is done, whatever the conditions behind them say.
  void add_effect(const char* effect) {
    for (FilterRule way : ways_) {
      way.effects.emplace_back(effect);
      done_.push_back(std::move(way));
    }
  }

  static FilterRule under(const FilterRule& way, const NftCondition& condition) {
    FilterRule rule = way;
    rule.share *= condition.share;
    for (const FilterMatch& match : condition.matches) {
      if (std::count(rule.matches.begin(), rule.matches.end(), match) == 0) {
        rule.matches.push_back(match);
      }
    }
    return rule;
  }

  void restrict(const std::vector<NftCondition>& conditions) {
    if (ways_.size() * conditions.size() > kMostWays) return add_other("a set of many tuples");
    std::vector<FilterRule> ways;
    for (const FilterRule& way : ways_) {
      for (const NftCondition& condition : conditions) ways.push_back(under(way, condition));
    }
    ways_ = std::move(ways);
  }

  // key vmap { value : verdict, ... }: each element is a rule of its own; the one for all other
  // values comes last.
  void verdicts(const Json& body) {
    const Json& key = body.at("key");
    std::vector<Json> elements = nft_elements(body.at("data"), sets_);
    const auto is_rest = [](const Json& element) {
      return element.is_array() && !element.empty() && element[0] == "*";
    };
    std::stable_partition(elements.begin(), elements.end(),
                          [&](const Json& element) { return !is_rest(element); });
    if (ways_.size() * elements.size() > kMostWays) return may_drop("a map of many verdicts");
    double left = 1;  // of a random number: what earlier elements have not taken
    for (const Json& element : elements) {
      if (!element.is_array() || element.size() != 2) return may_drop("an unreadable verdict map");
      for (NftCondition& condition : nft_key_is(key, element[0], sets_)) {
        const double share = condition.share;
        if (share < 1) condition.share = left > share ? share / left : 1;
        for (const FilterRule& way : ways_) add_verdict(under(way, condition), element[1]);
        if (share < 1) left -= share;
      }
    }
  }

  void add_verdict(FilterRule rule, const Json& verdict) {
    Reader inner(rule, sets_);
    if (verdict.is_string()) {
      inner.read(Json{{verdict.get<std::string>(), nullptr}});
    } else {
      inner.read(verdict);
    }
    for (FilterRule& one : inner.take()) done_.push_back(std::move(one));
  }

  const NftSets& sets_;
  std::vector<FilterRule> ways_;
  std::vector<FilterRule> done_;
};

}  // namespace

std::vector<FilterRule> nft_rules_of(const FilterRule& rule, const Json& statements,
                                     const NftSets& sets) {
  Reader reader(rule, sets);
  if (!statements.is_array()) return {};
  for (const Json& statement : statements) reader.read(statement);
  return reader.take();
}

}  // namespace plumbline
