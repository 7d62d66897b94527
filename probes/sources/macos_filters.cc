#include <algorithm>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/macos_pf_rule.h"
#include "probes/sources/parsers.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostRules = 20'000, kDeepest = 32, kLongestText = 400;
using Words = std::vector<std::string_view>;

// What an anchor demands of all rules in it.
struct Anchor {
  std::string name, direction;
  std::vector<FilterMatch> matches;
};

class RulesetReader {
 public:
  explicit RulesetReader(HostEvidence& host) : host_(host) {}

  Status add(std::string_view line) {
    const Words words = words_of(line);
    if (words.empty()) return {};
    if (words[0] == "}") {
      if (too_deep_ > 0) {
        --too_deep_;
      } else if (!anchors_.empty()) {
        anchors_.pop_back();
      }
    } else if (words[0] == "block" || words[0] == "pass") {
      return add_rule(words);
    } else if (words[0] == "anchor") {
      open(words);
    } else if (words.back() == "{") {
      open({"anchor", "?", "{"});  // of another kind, "scrub-anchor": only to count the brackets
    }
    return {};
  }

  std::vector<PfRule> take() { return std::move(rules_); }

 private:
  static std::string text_of(const Words& words) {
    std::string out;
    for (const std::string_view word : words) {
      if (out.size() + word.size() > kLongestText) break;
      out += out.empty() ? "" : " ";
      out += word;
    }
    return out;
  }

  Status add_rule(const Words& words) {
    if (rules_.size() >= kMostRules) {
      return fail(ErrorCode::kProtocol, "pf has more rules than can be judged here");
    }
    PfRule written = read_pf_rule(words);
    written.rule.text = text_of(words);
    written.rule.handle = static_cast<int64_t>(rules_.size()) + 1;
    for (const Anchor& anchor : anchors_) {
      auto& matches = written.rule.matches;
      matches.insert(matches.end(), anchor.matches.begin(), anchor.matches.end());
      if (written.direction.empty()) written.direction = anchor.direction;
      if (!anchor.direction.empty() && anchor.direction != written.direction) return {};
    }
    if (too_deep_ > 0) written.rule.matches.push_back({"other", false, {"a deep anchor"}});
    if (!anchors_.empty()) written.rule.text += " (anchor " + anchors_.back().name + ")";
    rules_.push_back(std::move(written));
    return {};
  }

  // anchor "com.apple/*" all {
  void open(Words words) {
    const bool brace = words.back() == "{";
    if (brace) words.pop_back();
    Anchor anchor;
    size_t next = 1;
    if (words.size() > 1 && words[1].size() >= 2 && words[1].front() == '"') {
      anchor.name = words[1].substr(1, words[1].size() - 2);
      next = 2;
    }
    if (!brace) {
      const std::string note = "pf: the rules of the anchor '" + anchor.name + "' are not shown";
      add_once(host_.unreadable, note, 1000);
      return;
    }
    if (anchors_.size() >= kDeepest) {
      ++too_deep_;
      return;
    }
    const Words rest(words.begin() + static_cast<std::ptrdiff_t>(std::min(next, words.size())),
                     words.end());
    PfRule conditions = read_pf_conditions(rest);
    anchor.direction = conditions.direction;
    anchor.matches = std::move(conditions.rule.matches);
    // What a quick anchor decides is final, whatever comes behind it.
    if (conditions.quick) anchor.matches.push_back({"other", false, {"in a quick anchor"}});
    anchors_.push_back(std::move(anchor));
  }

  HostEvidence& host_;
  std::vector<Anchor> anchors_;
  std::vector<PfRule> rules_;
  size_t too_deep_ = 0;
};

// Into the chain of one direction. `with_states`: some rule of pf keeps states, so that packets of
// a known connection may never come to this one.
void place_pf(const PfRule& written, const std::string& direction, bool with_states,
              HostEvidence& host) {
  if (!written.direction.empty() && written.direction != direction) return;
  FilterRule rule = written.rule;
  rule.tool = "pf";
  rule.family = "inet";  // of both; what it says about the family is a condition
  rule.table = "rules";
  rule.chain = direction;
  rule.hook = direction == "in" ? "input" : "output";
  for (FilterMatch& match : rule.matches) {
    if (match.key == "interface") match.key = direction == "in" ? "iif" : "oif";
  }
  if (!with_states || rule.action == "accept") {
    host.filters.push_back(std::move(rule));
    return;
  }
  FilterRule later = rule;
  rule.matches.push_back({"state", false, {"new"}});
  later.matches.push_back({"state", true, {"new"}});
  later.matches.push_back({"other", false, {"no state of pf lets it pass"}});
  host.filters.push_back(std::move(rule));
  host.filters.push_back(std::move(later));
}

// ---- pf and the application firewall, on or off ----

// "Firewall is enabled. (State = 1)": the number is the same in all languages.
std::optional<int64_t> state_number(const std::string& text) {
  constexpr std::string_view kState = "(State = ";
  const size_t begin = text.find(kState);
  if (begin == std::string::npos) return std::nullopt;
  const size_t from = begin + kState.size();
  const size_t end = text.find(')', from);
  if (end == std::string::npos) return std::nullopt;
  return parse_whole(std::string_view(text).substr(from, end - from));
}

// By the last word of the sentence: "Firewall stealth mode is on", "... block all state set to
// disabled.". Sentences of managed Macs have such words in their middle.
std::optional<bool> on_or_off(const std::string& text) {
  const std::string line = lower_case(first_line(text));
  const size_t end = line.find_last_of("abcdefghijklmnopqrstuvwxyz");
  if (end == std::string::npos) return std::nullopt;
  // npos + 1 is the begin of the line.
  const size_t begin = line.find_last_not_of("abcdefghijklmnopqrstuvwxyz", end) + 1;
  const std::string word = line.substr(begin, end - begin + 1);
  if (word == "disabled" || word == "off") return false;
  if (word == "enabled" || word == "on") return true;
  return std::nullopt;
}

Status not_understood(const std::string& text) {
  return fail(ErrorCode::kProtocol, "socketfilterfw said neither on nor off: " + first_line(text));
}

// Adds to "enabled" what else is switched on; a firewall that is off does nothing of it.
Status add_if_on(const std::string& text, const char* what, HostEvidence& host) {
  const auto on = on_or_off(text);
  if (!on) return not_understood(text);
  const FilterSource* alf = find_filter(host, "alf");
  const std::string state = alf == nullptr ? std::string() : alf->state;
  if (!*on || state == "disabled" || state.find(what) != std::string::npos) return {};
  note_filter(host, {"alf", true, true, {}, state.empty() ? what : state + ", " + what});
  return {};
}

}  // namespace

Status parse_pf_rules(const std::string& text, HostEvidence& host) {
  const FilterSource* pf = find_filter(host, "pf");
  if (pf != nullptr && pf->state == "disabled")
    return {};  // rules are loaded, but nobody asks them
  RulesetReader reader(host);
  for (const std::string_view line : lines_of(text)) {
    const Status status = reader.add(line);
    if (!status) return status;
  }
  const std::vector<PfRule> rules = reader.take();
  const bool with_states = std::any_of(rules.begin(), rules.end(), [](const PfRule& one) {
    return one.rule.action == "accept" && one.state;
  });
  for (const std::string direction : {"in", "out"}) {
    for (const PfRule& rule : rules) {
      if (rule.quick) place_pf(rule, direction, with_states, host);
    }
    for (auto it = rules.rbegin(); it != rules.rend(); ++it) {
      if (!it->quick) place_pf(*it, direction, with_states, host);
    }
  }
  return {};
}

// "Status: Enabled for 0 days 02:10:09  Debug: Urgent"
Status parse_pf_info(const std::string& text, HostEvidence& host) {
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < 2 || words[0] != "Status:") continue;
    if (words[1] != "Enabled" && words[1] != "Disabled") break;
    note_filter(host, {"pf", true, true, {}, words[1] == "Enabled" ? "enabled" : "disabled"});
    return {};
  }
  return fail(ErrorCode::kProtocol, "pfctl did not say whether pf is on: " + first_line(text));
}

Status parse_alf_state(const std::string& text, HostEvidence& host) {
  std::optional<int64_t> state = state_number(text);
  if (!state) {
    const auto on = on_or_off(text);
    if (on) state = *on ? 1 : 0;
  }
  if (!state || *state < 0 || *state > 2) return not_understood(text);
  const char* words = *state == 0 ? "disabled" : *state == 1 ? "enabled" : "enabled, blocks all";
  note_filter(host, {"alf", true, true, {}, words});
  return {};
}

Status parse_alf_block_all(const std::string& text, HostEvidence& host) {
  return add_if_on(text, "blocks all", host);
}

Status parse_alf_stealth(const std::string& text, HostEvidence& host) {
  return add_if_on(text, "stealth", host);
}

}  // namespace plumbline
