#include <algorithm>
#include <set>

#include "probes/filters/parse_filters.h"
#include "probes/sources/parsers.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// Tables that iptables-save shows, less those that it cannot express: it names these in a comment,
// "# Table `filter' is incompatible, use 'nft' tool."
std::set<std::string> tables_of(const std::string& text) {
  constexpr std::string_view kTable = "# Table `";
  std::set<std::string> out, foreign;
  for (const std::string_view line : lines_of(text)) {
    if (line.size() > 1 && line[0] == '*') out.emplace(line.substr(1));
    if (line.rfind(kTable, 0) == 0 && line.find("incompatible") != std::string_view::npos) {
      const std::string_view rest = line.substr(kTable.size());
      foreign.emplace(rest.substr(0, rest.find('\'')));
    }
  }
  for (const std::string& name : foreign) out.erase(name);
  return out;
}

// iptables-nft keeps its rules in tables of nftables, where they are seen a second time and less
// clearly, as calls of the old match modules: iptables' own reading counts.
Status parse_iptables_nft(const std::string& text, const std::string& tool,
                          const std::string& family, HostEvidence& host) {
  std::vector<FilterRule> rules;
  const auto status = parse_iptables_save(text, tool, rules);
  if (!status) return status;
  const std::set<std::string> tables = tables_of(text);
  const auto twice = [&](const FilterRule& rule) {
    return rule.tool == "nftables" && rule.family == family && tables.count(rule.table) != 0;
  };
  host.filters.erase(std::remove_if(host.filters.begin(), host.filters.end(), twice),
                     host.filters.end());
  for (FilterRule& rule : rules) {
    if (tables.count(rule.table) != 0) host.filters.push_back(std::move(rule));
  }
  return {};
}

bool any_rule(const HostEvidence& host, bool (*fits)(const FilterRule&)) {
  return std::any_of(host.filters.begin(), host.filters.end(), fits);
}

// Whether the filters in which a front end keeps its rules could all be read.
bool back_ends_readable(const HostEvidence& host) {
  return std::all_of(
      host.filter_sources.begin(), host.filter_sources.end(), [](const FilterSource& source) {
        const bool back_end =
            source.tool == "nftables" || source.tool == "iptables" || source.tool == "ip6tables";
        return !back_end || !source.present || source.readable;
      });
}

// firewalld makes the table "firewalld" in nftables, or chains such as "IN_public" in iptables.
bool made_by_firewalld(const FilterRule& rule) {
  return (rule.tool == "nftables" && rule.table == "firewalld") ||
         (rule.tool != "nftables" && (rule.chain == "INPUT_ZONES" || rule.chain == "IN_public" ||
                                      rule.chain == "FWDI_public" || rule.target == "INPUT_ZONES"));
}

bool made_by_ufw(const FilterRule& rule) {
  return rule.chain.rfind("ufw-", 0) == 0 || rule.chain.rfind("ufw6-", 0) == 0 ||
         rule.target.rfind("ufw-", 0) == 0 || rule.target.rfind("ufw6-", 0) == 0;
}

// A front end works in this namespace when its rules are here. Its daemon or its file on disk may
// be those of another namespace of this machine.
void judge_front_end(HostEvidence& host, const std::string& tool, bool here) {
  FilterSource* known = find_filter(host, tool);
  if (here) {
    note_filter(host, {tool, true, true, {}, "active"});
  } else if (known == nullptr || !known->present) {
    return;
  } else if (back_ends_readable(host)) {
    known->state = "inactive";
    known->readable = true;
    known->why.clear();
  } else if (known->state != "inactive") {
    known->readable = false;
    known->why = "its rules lie in a filter that cannot be read";
  }
}

}  // namespace

FilterSource* find_filter(HostEvidence& host, const std::string& tool) {
  for (FilterSource& source : host.filter_sources) {
    if (source.tool == tool) return &source;
  }
  return nullptr;
}

void note_filter(HostEvidence& host, const FilterSource& source) {
  FilterSource* it = find_filter(host, source.tool);
  if (it == nullptr) {
    host.filter_sources.push_back(source);
    return;
  }
  if (!source.state.empty()) it->state = source.state;
  if (!source.present) return;  // one kind of it is missing, another one is there
  if (!it->present) {
    const std::string state = it->state;
    *it = source;
    it->state = state;
    return;
  }
  it->readable = it->readable && source.readable;
  if (source.why.empty() || it->why == source.why) return;
  it->why += (it->why.empty() ? "" : "; ") + source.why;
}

Status parse_nft_source(const std::string& text, HostEvidence& host) {
  return parse_nft_json(text, host.filters);
}

Status parse_nft_text_source(const std::string& text, HostEvidence& host) {
  return parse_nft_text(text, host.filters);
}

Status parse_iptables_nft_source(const std::string& text, HostEvidence& host) {
  return parse_iptables_nft(text, "iptables", "ip", host);
}

Status parse_ip6tables_nft_source(const std::string& text, HostEvidence& host) {
  return parse_iptables_nft(text, "ip6tables", "ip6", host);
}

Status parse_iptables_source(const std::string& text, HostEvidence& host) {
  return parse_iptables_save(text, "iptables", host.filters);
}

Status parse_ip6tables_source(const std::string& text, HostEvidence& host) {
  return parse_iptables_save(text, "ip6tables", host.filters);
}

Status parse_ebtables_source(const std::string& text, HostEvidence& host) {
  return parse_ebtables_save(text, host.filters);
}

// "qdiscs", the queues; then "dev eth0 ingress" and the filters there, again and again. Filters
// are JSON of one line, in which no line can begin with a bare word.
Status parse_tc_source(const std::string& text, HostEvidence& host) {
  std::string device, direction, body;
  std::vector<FilterRule> rules;
  Status status;
  const auto finish = [&] {
    if (!device.empty() && status) status = parse_tc_filters(body, device, direction, rules);
    body.clear();
  };
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() == 3 && words[0] == "dev" && (words[2] == "ingress" || words[2] == "egress")) {
      finish();
      device = words[1];
      direction = words[2];
    } else if (!device.empty()) {
      body.append(line).append("\n");
    }
  }
  finish();
  if (status) host.filters.insert(host.filters.end(), rules.begin(), rules.end());
  return status;
}

Status parse_ufw_conf(const std::string& text, HostEvidence& host) {
  for (const std::string_view line : lines_of(text)) {
    if (line.rfind("ENABLED=", 0) != 0) continue;
    std::string value(line.substr(8));
    value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
    note_filter(host, {"ufw", true, true, {}, value == "yes" ? "enabled" : "inactive"});
    return {};
  }
  return fail(ErrorCode::kProtocol, "no line ENABLED= in ufw.conf");
}

Status parse_firewall_cmd(const std::string& text, HostEvidence& host) {
  note_filter(host, {"firewalld", true, true, {}, first_line(text)});
  return {};
}

void finish_filters(HostEvidence& host) {
  judge_front_end(host, "firewalld", any_rule(host, made_by_firewalld));
  judge_front_end(host, "ufw", any_rule(host, made_by_ufw));
}

}  // namespace plumbline
