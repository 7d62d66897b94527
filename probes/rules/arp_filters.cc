#include "probes/rules/arp_filters.h"

#include <fmt/format.h>

#include <cctype>

#include "core/shell_words.h"

namespace plumbline {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

bool stops_arp(const FilterRule& rule) {
  if (rule.action != "drop" || rule.is_policy) return false;
  const std::string text = lower(rule.text);
  const bool named = rule.family == "arp" || text.find("arp") != std::string::npos ||
                     text.find("0x0806") != std::string::npos;
  return named && (rule.family == "arp" || rule.family == "bridge" || rule.family == "netdev" ||
                   rule.tool == "ebtables" || rule.tool == "tc" || rule.tool == "arptables");
}

std::string remedy_without_arp_rule(const FilterRule& rule) {
  if (rule.tool == "nftables" && rule.handle > 0) {
    return fmt::format("nft delete rule {} {} {} handle {}", shell_word(rule.family),
                       shell_word(rule.table), shell_word(rule.chain), rule.handle);
  }
  const size_t at = rule.text.find("-A ");
  const bool plain = rule.text.find_first_of(";|&`$<>\\\n'\"") == std::string::npos;
  if ((rule.tool == "ebtables" || rule.tool == "arptables") && at == 0 && plain) {
    return fmt::format("{} -t {} -D {}", rule.tool,
                       shell_word(rule.table.empty() ? "filter" : rule.table), rule.text.substr(3));
  }
  return fmt::format("take this rule of {} out: {}", rule.tool, rule.text);
}

}  // namespace plumbline
