// `nft -j list ruleset`, libnftables-json(5), and the few things that its plain text adds.
#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "core/json.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/nft.h"
#include "probes/filters/parse_filters.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using TableKey = std::pair<std::string, std::string>;               // family, name
using NameKey = std::tuple<std::string, std::string, std::string>;  // family, table, name

constexpr const char* kUnclearFlags = "the table's flags cannot be read";

std::vector<std::string> strings_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> words;
  if (!found->is_array()) return words;
  for (const Json& item : *found) {
    if (item.is_string()) words.push_back(item.get<std::string>());
  }
  return words;
}

struct NftChain {
  FilterRule base;  // where its rules sit
  std::string policy;
  std::vector<FilterRule> rules;
};

class Ruleset {
 public:
  Status read(const Json& list) {
    for (const Json& item : list) {
      if (!item.is_object() || item.empty() || !item.begin().value().is_object()) continue;
      read_frame(item.begin().key(), item.begin().value());
    }
    for (const Json& item : list) {
      if (!item.is_object() || !item.contains("rule") || !item["rule"].is_object()) continue;
      if (Status status = read_rule(item["rule"]); !status) return status;
    }
    return {};
  }

  std::vector<FilterRule> take() {
    std::vector<FilterRule> all;
    for (const NameKey& key : order_) {
      NftChain& chain = chains_[key];
      if (dormant_[table_of(chain.base)] == "dormant") continue;
      std::move(chain.rules.begin(), chain.rules.end(), std::back_inserter(all));
      if (chain.base.hook.empty()) continue;
      FilterRule policy = chain.base;
      policy.is_policy = true;
      policy.action = chain.policy == "drop" ? "drop" : "accept";
      policy.text = "policy " + policy.action;
      add_doubt(policy);
      all.push_back(std::move(policy));
    }
    return all;
  }

 private:
  static TableKey table_of(const FilterRule& rule) { return {rule.family, rule.table}; }

  // Tables, chains and sets, before the rules that name them.
  void read_frame(const std::string& kind, const Json& body) {
    const std::string family = string_member(body, "family"), name = string_member(body, "name");
    if (kind == "table") {
      for (const std::string& flag : strings_of(body, "flags")) {
        if (flag == "dormant") dormant_[{family, name}] = flag;
        // nft 1.0.6 prints something else instead of the flags' names.
        if (flag != "dormant" && flag != "owner" && flag != "persist") {
          dormant_.emplace(TableKey{family, name}, kUnclearFlags);
        }
      }
    } else if (kind == "chain") {
      read_chain(family, name, body);
    } else if (kind == "set" || kind == "map") {
      const auto elements = body.find("elem");
      sets_[{family, string_member(body, "table"), name}] =
          elements == body.end() ? &no_elements_ : &*elements;
    }
  }

  void read_chain(const std::string& family, const std::string& name, const Json& body) {
    NftChain chain;
    FilterRule& base = chain.base;
    base.tool = "nftables";
    base.family = family;
    base.table = string_member(body, "table");
    base.chain = name;
    base.hook = string_member(body, "hook");
    if (string_member(body, "type") == "nat") base.chain_type = "nat";
    const auto priority = body.find("prio");
    if (priority != body.end() && priority->is_number_integer())
      base.priority = priority->get<int>();
    for (const std::string& device : strings_of(body, "dev")) {
      base.device += (base.device.empty() ? "" : " ") + device;
    }
    chain.policy = string_member(body, "policy");
    const NameKey key{family, base.table, name};
    if (chains_.emplace(key, std::move(chain)).second) order_.push_back(key);
  }

  void add_doubt(FilterRule& rule) {
    const auto flags = dormant_.find(table_of(rule));
    if (flags != dormant_.end() && flags->second == kUnclearFlags) {
      rule.matches.push_back(other_match(kUnclearFlags));
    }
  }

  Status read_rule(const Json& body) {
    const std::string family = string_member(body, "family"), table = string_member(body, "table");
    const auto chain = chains_.find({family, table, string_member(body, "chain")});
    const auto statements = body.find("expr");
    if (chain == chains_.end() || statements == body.end() || !statements->is_array()) return {};
    FilterRule rule = chain->second.base;
    const auto handle = body.find("handle");
    if (handle != body.end() && handle->is_number_integer()) rule.handle = handle->get<int64_t>();
    const NftSets sets = [&](const std::string& name) -> const Json* {
      const auto found = sets_.find({family, table, name});
      return found == sets_.end() ? nullptr : found->second;
    };
    for (FilterRule& read : rules_of(rule, *statements, sets)) {
      for (const FilterMatch& match : read.matches) values_ += match.values.size();
      if (++rules_ > kMostFilterRules || values_ > kMostFilterValues) {
        return fail(ErrorCode::kProtocol, "nft: too many rules or set elements");
      }
      add_doubt(read);
      chain->second.rules.push_back(std::move(read));
    }
    return {};
  }

  // A rule that is not built as expected may do anything.
  static std::vector<FilterRule> rules_of(FilterRule rule, const Json& statements,
                                          const NftSets& sets) {
    try {
      for (const Json& statement : statements) {
        if (rule.text.size() > 2 * kMostRuleText) break;
        rule.text += (rule.text.empty() ? "" : " ") + nft_statement_text(statement);
      }
      rule.text = rule_text(rule.text);
      return nft_rules_of(rule, statements, sets);
    } catch (const Json::exception&) {
      rule.text = rule_text(rule.text);
      rule.matches.push_back(other_match("unreadable rule"));
      rule.action = "drop";
      return {rule};
    }
  }

  const Json no_elements_ = Json::array();
  std::map<TableKey, std::string> dormant_;
  std::map<NameKey, const Json*> sets_;
  std::map<NameKey, NftChain> chains_;
  std::vector<NameKey> order_;
  size_t rules_ = 0, values_ = 0;
};

}  // namespace

Status parse_nft_json(const std::string& text, std::vector<FilterRule>& rules) {
  if (Status status = check_filter_text(text, "nft", true); !status) return status;
  try {
    // Some versions print a warning line before the JSON.
    const size_t begin = text.find('{');
    if (begin == std::string::npos) return fail(ErrorCode::kProtocol, "nft: this is no JSON");
    const Json json = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end());
    const auto list = json.find("nftables");
    if (list == json.end() || !list->is_array()) {
      return fail(ErrorCode::kProtocol, "nft: there is no list \"nftables\"");
    }
    Ruleset ruleset;
    if (Status status = ruleset.read(*list); !status) return status;
    add_new_tables(ruleset.take(), rules);
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kProtocol, std::string("nft: ") + json_trouble(error));
  }
  return {};
}

Status parse_nft_text(const std::string& text, std::vector<FilterRule>& rules) {
  if (Status status = check_filter_text(text, "nft", false); !status) return status;
  std::map<TableKey, bool> dormant;        // every table of the text
  std::map<NameKey, std::string> devices;  // of its chains
  TableKey table;
  std::string chain, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    std::replace(line.begin(), line.end(), '\t', ' ');
    const std::vector<std::string> words = split_words(line, ' ');
    if (words.size() >= 4 && words[0] == "table" && words[3] == "{") {
      table = {words[1], words[2]};
      dormant.emplace(table, false);
    } else if (words.size() >= 3 && words[0] == "chain" && words[2] == "{") {
      chain = words[1];
    } else if (words.size() >= 2 && words[0] == "flags" && line.find("dormant") != line.npos) {
      if (line.compare(0, 2, "  ") != 0) dormant[table] = true;  // not a flag of a set
    } else if (words.size() >= 5 && words[0] == "type" && words[2] == "hook") {
      std::string& names = devices[{table.first, table.second, chain}];
      for (size_t i = 4; i < words.size() && words[i] != "priority"; ++i) {
        std::string word = words[i];
        std::erase_if(word, [](char c) { return c == '"' || c == ',' || c == ';'; });
        const bool syntax = word.empty() || word == "device" || word == "devices" || word == "=" ||
                            word == "{" || word == "}";
        if (!syntax) names += (names.empty() ? "" : " ") + word;
      }
    }
  }
  const auto asleep = [&](const FilterRule& rule) {
    const auto found = dormant.find({rule.family, rule.table});
    return rule.tool == "nftables" && found != dormant.end() && found->second;
  };
  std::erase_if(rules, asleep);
  for (FilterRule& rule : rules) {
    if (rule.tool != "nftables" || dormant.count({rule.family, rule.table}) == 0) continue;
    std::erase(rule.matches, other_match(kUnclearFlags));
    const auto names = devices.find({rule.family, rule.table, rule.chain});
    if (rule.device.empty() && names != devices.end()) rule.device = names->second;
  }
  return {};
}

}  // namespace plumbline
