#include <algorithm>

#include "core/host/host_parse.h"
#include "core/lower_case.h"
#include "core/number.h"
#include "probes/sources/filter_sources.h"
#include "probes/sources/macos_sources.h"
#include "probes/sources/text_lines.h"

namespace plumbline {
namespace {

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

std::string alf_state(const HostEvidence& host) {
  const auto it = std::find_if(host.filter_sources.begin(), host.filter_sources.end(),
                               [](const FilterSource& source) { return source.tool == "alf"; });
  return it == host.filter_sources.end() ? std::string() : it->state;
}

// Adds to "enabled" what else is switched on; a firewall that is off does nothing of it.
void add_to_state(const char* what, HostEvidence& host) {
  const std::string state = alf_state(host);
  if (state == "disabled" || state.find(what) != std::string::npos) return;
  note_filter(host, {"alf", true, true, {}, state.empty() ? what : state + ", " + what});
}

}  // namespace

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
  const auto on = on_or_off(text);
  if (!on) return not_understood(text);
  if (*on) add_to_state("blocks all", host);
  return {};
}

Status parse_alf_stealth(const std::string& text, HostEvidence& host) {
  const auto on = on_or_off(text);
  if (!on) return not_understood(text);
  if (*on) add_to_state("stealth", host);
  return {};
}

}  // namespace plumbline
