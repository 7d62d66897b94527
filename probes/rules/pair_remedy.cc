#include "probes/rules/pair_remedy.h"

#include <fmt/format.h>

#include "core/diagnosis/remedy.h"
#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/filters/evaluate.h"
#include "probes/ports.h"

namespace plumbline {
namespace {

// firewalld says "running", ufw "active", the application firewall "enabled", perhaps with more
// behind it: "enabled, stealth".
bool says_on(const FilterSource& source) {
  const std::string word = source.state.substr(0, source.state.find(','));
  return word == "active" || word == "enabled" || word == "running";
}
bool runs(const HostEvidence* host, const std::string& tool) {
  if (host == nullptr) return false;
  return any_of(host->filter_sources,
                [&](const FilterSource& s) { return s.tool == tool && s.present && says_on(s); });
}
bool present(const HostEvidence* host, const std::string& tool) {
  return host != nullptr && any_of(host->filter_sources, [&](const FilterSource& s) {
           return s.tool == tool && s.present;
         });
}

Word address(const std::string& ip) { return slot(Slot::kAddress, ip); }
Word ports_of(const Passage& passage) {
  return ports_word(port_ranges(passage.ports), ":", ",");  // "29500,29600:29603"
}

Remedy for_firewalld(const Passage& passage) {
  Remedy remedy;
  for (const auto& range : port_ranges(passage.ports)) {
    remedy.run({"firewall-cmd", "--add-rich-rule=rule family=\"" +
                                    (is_v6(passage.peer_ip) ? Word("ipv6") : Word("ipv4")) +
                                    "\" source address=\"" + address(passage.peer_ip) +
                                    "\" port port=\"" + ports_word({range}, "-", ",") +
                                    "\" protocol=\"tcp\" accept"});
  }
  return remedy;
}

Command for_ufw(const Passage& passage) {
  std::vector<Word> words = {"ufw", "insert", "1", "allow"};
  if (!passage.own_ports) words.emplace_back("out");
  const Word own = address(passage.own_ip), peer = address(passage.peer_ip);
  words.insert(words.end(), {"proto", "tcp", "from", passage.own_ports ? peer : own, "to",
                             passage.own_ports ? own : peer, "port", ports_of(passage)});
  return words;
}

// pfctl reads its rules from its input.
Command for_pf(const Passage& passage) {
  const Word own = address(passage.own_ip), peer = address(passage.peer_ip);
  const Word rule = "pass " + (passage.own_ports ? Word("in") : Word("out")) +
                    " quick proto tcp from " + (passage.own_ports ? peer : own) + " to " +
                    (passage.own_ports ? own : peer) + " port { " + ports_of(passage) + " }";
  return {"sh", "-c", "echo \"$1\" | pfctl -a com.apple/plumbline -f -", "sh", rule};
}

Remedy for_macos(const HostEvidence* host, const Passage& passage) {
  if (!passage.incoming || !passage.own_ports || !runs(host, "alf")) return for_pf(passage);
  Remedy remedy;
  for (const Word& verb : {Word("--add"), Word("--unblockapp")}) {
    remedy.run({"sh", "-c",
                "/usr/libexec/ApplicationFirewall/socketfilterfw \"$1\" \"$(command -v python3)\"",
                "sh", verb});
  }
  return remedy.say("# the same for every program of the job that listens");
}

Command for_iptables(const Passage& passage) {
  // The ports are the destination on the way to their owner, the source on the way back.
  const bool to_owner = passage.incoming == passage.own_ports;
  const Word own = address(passage.own_ip), peer = address(passage.peer_ip);
  return {is_v6(passage.peer_ip) ? Word("ip6tables") : Word("iptables"),
          "-I",
          passage.incoming ? Word("INPUT") : Word("OUTPUT"),
          "-s",
          passage.incoming ? peer : own,
          "-d",
          passage.incoming ? own : peer,
          "-p",
          "tcp",
          "-m",
          "multiport",
          to_owner ? Word("--dports") : Word("--sports"),
          ports_of(passage),
          "-j",
          "ACCEPT"};
}

}  // namespace

Passage passage_at(const PairEvidence& pair, bool at_listener) {
  Passage passage;
  passage.own_ip = at_listener ? pair.to_ip : pair.from_ip;
  passage.peer_ip = at_listener ? pair.from_ip : pair.to_ip;
  passage.own_ports = passage.incoming = at_listener;
  return passage;
}

Remedy remedy_open(const HostEvidence* host, const FilterRule* rule, const Passage& passage) {
  if (rule == nullptr) return remedy_open(host, passage);
  RemedyFor what;
  what.incoming = passage.own_ports;
  what.own_ip = passage.own_ip;
  what.peer_ip = passage.peer_ip;
  what.ports = passage.ports;
  for (const char* tool : {"ufw", "firewalld"}) {
    if (runs(host, tool)) what.front_ends.emplace_back(tool);
  }
  const Remedy remedy = remedy_for_rule(*rule, what);
  return remedy.empty() ? "# take away or narrow: " + describe(*rule) : remedy;
}

Remedy remedy_open(const HostEvidence* host, const Passage& passage) {
  if (host != nullptr && host->system == "macos") return for_macos(host, passage);
  if (runs(host, "ufw")) return for_ufw(passage);
  if (runs(host, "firewalld") && passage.own_ports) return for_firewalld(passage);
  Remedy look =
      fmt::format("# find the rule that stops TCP {} {} on {} {} and let it pass there:",
                  passage.incoming ? "from" : "to", passage.peer_ip,
                  passage.ports.size() == 1 ? "port" : "ports", format_port_list(passage.ports));
  look.say("nft -a list ruleset; iptables-save; tc filter show");
  if (present(host, "iptables") || host == nullptr) {
    look.say("# for iptables:").run(for_iptables(passage));
  }
  return look;
}

Command remedy_route_mtu(const HostEvidence* host, const std::string& peer_ip,
                         const std::string& own_ip, const std::string& via, const std::string& dev,
                         int mtu) {
  const Word size = number(mtu, 68, 1 << 20);
  if (host != nullptr && host->system == "macos") {
    if (dev.empty()) return {"route", "change", "-host", address(peer_ip), "-mtu", size};
    return {"ifconfig", slot(Slot::kInterface, dev), "mtu", size};
  }
  std::vector<Word> words = {"ip"};
  if (is_v6(peer_ip)) words.emplace_back("-6");
  words.insert(words.end(), {"route", "replace",
                             address(peer_ip) + (is_v6(peer_ip) ? Word("/128") : Word("/32"))});
  if (!via.empty()) words.insert(words.end(), {"via", address(via)});
  if (!dev.empty()) words.insert(words.end(), {"dev", slot(Slot::kInterface, dev)});
  words.insert(words.end(), {"src", address(own_ip), "mtu", size});
  return words;
}

}  // namespace plumbline
