// A small model of what stops packets between hosts, for tests of the firewall rules: every stop
// sits at one place (a host's way in or out, or between two hosts), and the model works out what
// each pair then sees: results of connections, half-open sockets, both captures, the filters' rules
// and counters, or less of these where privileges are lacking.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "../evidence_builder.h"

namespace plumbline::test {

// What the agents may do on the hosts.
enum class Sight { kAll, kCaptures, kCounters, kWord };

struct PacketStop {
  enum Where { kIn, kOut, kBetween } where = kIn;
  std::string host = {};                // whose filter; for kBetween: the sender
  std::vector<std::string> peers = {};  // empty = all
  std::vector<int> ports = {};          // destination ports; empty = every packet, answers too
  std::string how = "drop";             // "drop" | "icmp" | "rst"
  bool ruled = true;                    // a rule shows it (else XDP, a driver, a device)
};

inline constexpr auto kIn = PacketStop::kIn;
inline constexpr auto kOut = PacketStop::kOut;
inline constexpr auto kBetween = PacketStop::kBetween;

class StopModel {
 public:
  StopModel(EvidenceSet& set, std::vector<PacketStop> stops, Sight sight)
      : set_(set), stops_(std::move(stops)), sight_(sight) {}

  void apply() {
    for (HostEvidence& owner : set_.hosts) {
      if (sight_ == Sight::kAll) continue;
      owner.uid = 1000;
      owner.privileges.clear();
      for (FilterSource& source : owner.filter_sources) {
        source.readable = false;
        source.why = "Operation not permitted";
      }
    }
    for (const PacketStop& stop : stops_) {
      if (sight_ == Sight::kAll && stop.where != PacketStop::kBetween && stop.ruled) {
        add_rule(stop);
      }
    }
    for (PairEvidence& link : set_.pairs) {
      for (PortTry& attempt : link.ports) try_port(link, attempt);
    }
  }

 private:
  bool hits(const PacketStop& stop, PacketStop::Where where, const std::string& host,
            const std::string& peer, int port, bool request) const {
    if (stop.where != where || stop.host != host) return false;
    const auto has = [](const auto& list, const auto& value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    if (!stop.peers.empty() && !has(stop.peers, peer)) return false;
    return stop.ports.empty() || (request && has(stop.ports, port));
  }
  const PacketStop* at(PacketStop::Where where, const std::string& host, const std::string& peer,
                       int port, bool request) const {
    for (const PacketStop& stop : stops_) {
      if (hits(stop, where, host, peer, port, request)) return &stop;
    }
    return nullptr;
  }

  void try_port(PairEvidence& link, PortTry& attempt) {
    const std::string &a = link.from, &b = link.to;
    const int port = attempt.port;
    const auto* out = at(PacketStop::kOut, a, b, port, true);
    const auto* way = out != nullptr ? nullptr : at(PacketStop::kBetween, a, b, port, true);
    const bool arrived = out == nullptr && way == nullptr;
    const auto* in = arrived ? at(PacketStop::kIn, b, a, port, true) : nullptr;
    const bool reached = arrived && in == nullptr;
    const auto* answer_out = reached ? at(PacketStop::kOut, b, a, port, false) : nullptr;
    const bool answered = reached && answer_out == nullptr;
    const auto* answer_way = answered ? at(PacketStop::kBetween, b, a, port, false) : nullptr;
    const bool came = answered && answer_way == nullptr;
    const auto* answer_in = came ? at(PacketStop::kIn, a, b, port, false) : nullptr;
    const bool works = came && answer_in == nullptr;
    const bool captured = sight_ == Sight::kAll || sight_ == Sight::kCaptures;
    attempt.captured_here = attempt.captured_there = captured;
    const int64_t syns = works ? 1 : 2;
    attempt.half_open = reached && !works;
    if (!works) fail(link, attempt, out, way, in);
    if (captured) {
      attempt.here = flow(link, port, out == nullptr ? syns : 0, came ? syns : 0, works);
      attempt.there = flow(link, port, arrived ? syns : 0, answered ? syns : 0, works);
      // A device that resets answers for the listener, on the wire of the connecting end only.
      if (out == nullptr && attempt.result == "refused" && !attempt.icmp) attempt.here->b.rst = 1;
      if (in != nullptr && in->how == "rst") attempt.there->b.rst = 1;
      if (out != nullptr) attempt.here.reset();
      if (!arrived) attempt.there.reset();
    }
    if (sight_ == Sight::kCounters && attempt.result == "timeout" && !link.burst) {
      count(link, port, out == nullptr, arrived, reached, answered, came);
    }
  }

  void fail(PairEvidence& link, PortTry& attempt, const PacketStop* out, const PacketStop* way,
            const PacketStop* in) {
    const int port = attempt.port;
    const bool half = attempt.half_open, captured = attempt.captured_here;
    attempt = PortTry{};
    attempt.port = port;
    attempt.listener = "up";
    attempt.half_open = half;
    attempt.captured_here = attempt.captured_there = captured;
    attempt.result = "timeout";
    attempt.error = "ETIMEDOUT";
    attempt.took_ns = 1500 * kMilli;
    link.mtu.reset();
    link.quality.reset();
    const PacketStop* stop = out != nullptr ? out : way != nullptr ? way : in;
    if (stop == nullptr || stop->how == "drop") return;
    attempt.took_ns = kMilli;
    attempt.result = "refused";
    attempt.error = "ECONNREFUSED";
    if (stop->how == "rst") return;
    attempt.result = "unreachable";
    attempt.error = "EHOSTUNREACH";
    TraceIcmp icmp;
    icmp.from = out != nullptr ? link.from_ip : way != nullptr ? "10.99.0.254" : link.to_ip;
    icmp.type = 3;
    icmp.code = 13;
    icmp.text = "administratively prohibited";
    attempt.icmp = icmp;
  }

  static TraceFlow flow(const PairEvidence& link, int port, int64_t syns, int64_t answers,
                        bool works) {
    TraceFlow out;
    out.a_ip = link.from_ip;
    out.b_ip = link.to_ip;
    out.a_port = 41000;
    out.b_port = port;
    out.a.syn = syns;
    out.b.syn_ack = answers;
    out.handshake = works ? "complete" : "no_answer";
    if (works) out.a.payload_bytes = out.b.payload_bytes = 40;
    return out;
  }

  static void count(PairEvidence& link, int port, bool left, bool arrived, bool reached,
                    bool answered, bool came) {
    BurstEvidence burst;
    burst.port = port;
    burst.attempts = 40;
    burst.sender = {{"tcp.out_segments", 80},
                    {"if.eth1.tx_packets", left ? 80 : 3},
                    {"if.eth1.rx_packets", came ? 80 : 4}};
    burst.receiver = {{"if.eth1.rx_packets", arrived ? 80 : 4},
                      {"ip.in_receives", arrived ? 80 : 4},
                      {"tcp.in_segments", reached ? 80 : 2},
                      {"if.eth1.tx_packets", answered ? 80 : 5}};
    link.burst = burst;
  }

  void add_rule(const PacketStop& stop) {
    HostEvidence& owner = host(set_, stop.host);
    const bool in = stop.where == PacketStop::kIn;
    FilterRule rule;
    rule.tool = "nftables";
    rule.family = "inet";
    rule.table = "filter";
    rule.chain = rule.hook = in ? "input" : "output";
    rule.chain_type = "filter";
    rule.handle = static_cast<int64_t>(owner.filters.size()) + 5;
    rule.action = stop.how == "drop" ? "drop" : "reject";
    if (stop.how == "icmp") rule.reject_with = "icmpx admin-prohibited";
    if (stop.how == "rst") rule.reject_with = "tcp reset";
    FilterMatch ports{"dport", false, {}};
    for (const int port : stop.ports) ports.values.push_back(std::to_string(port));
    FilterMatch peers{in ? "saddr" : "daddr", false, {}};
    for (const PairEvidence& link : set_.pairs) {
      const bool named =
          std::find(stop.peers.begin(), stop.peers.end(), link.to) != stop.peers.end();
      if (link.from == stop.host && named) peers.values.push_back(link.to_ip);
    }
    rule.matches.push_back({"protocol", false, {"tcp"}});
    if (!ports.values.empty()) rule.matches.push_back(ports);
    if (!peers.values.empty()) rule.matches.push_back(peers);
    rule.text = "the rule of the test";
    owner.filters.push_back(rule);
  }

  EvidenceSet& set_;
  std::vector<PacketStop> stops_;
  Sight sight_;
};

}  // namespace plumbline::test
