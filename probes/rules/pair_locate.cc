#include "probes/rules/pair_locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/ranges.h"
#include "probes/evidence_query.h"

namespace plumbline {
namespace {

constexpr double kRuleAdds = 0.04, kBrokenBelow = 0.6;
constexpr double kGuess = 0.35;    // one side's silence, and its own filters are not out of it
constexpr int kUsualAttempts = 2;  // SYNs of one attempt: the first, and again after a second
constexpr int64_t kMostPackets = 1'000'000;  // that are told of one attempt

}  // namespace

PortWitness::PortWitness(const PairView& of, const PortTry& what)
    : view(of), pair(*of.pair), attempt(what), hits(rule_hits(of, what.port)) {
  block.view = &of;
  block.port = what.port;
  from_here = sent_by(attempt.here, pair.from_ip);
  from_there = sent_by(attempt.there, pair.from_ip);
  to_here = sent_by(attempt.here, pair.to_ip);
  to_there = sent_by(attempt.there, pair.to_ip);
  block.packets = from_here != nullptr
                      ? static_cast<int>(std::clamp<int64_t>(from_here->syn, 0, kMostPackets))
                      : kUsualAttempts;
}

std::optional<bool> PortWitness::seen(bool captured, const TraceDirection* direction,
                                      int64_t TraceDirection::*kind) const {
  if (!captured) return std::nullopt;
  return direction != nullptr && direction->*kind > 0;
}

Leg PortWitness::leg(bool request, bool data) const {
  const bool here = attempt.captured_here, there = attempt.captured_there;
  if (request) {
    const auto kind = data ? &TraceDirection::payload_bytes : &TraceDirection::syn;
    return {data ? "the first data" : "the SYN", seen(here, from_here, kind),
            seen(there, from_there, kind)};
  }
  const auto kind = data ? &TraceDirection::payload_bytes : &TraceDirection::syn_ack;
  return {data ? "the reply" : "the SYN-ACK", seen(there, to_there, kind),
          seen(here, to_here, kind)};
}

const HostEvidence* PortWitness::host(bool request, StopPlace place) const {
  return request == (place == StopPlace::kSender) ? view.from : view.to;
}

void PortWitness::say(const std::string& where, std::string text) {
  block.evidence.push_back({where, "", std::move(text)});
}

namespace {

class PortLocator {
 public:
  PortLocator(const PairView& view, const PortTry& attempt, const std::string& below)
      : below_(below), w_(view, attempt) {}

  std::vector<Block> locate() {
    bool found = false;
    switch (state_of(w_.attempt)) {
      case PortState::kSilent:
      case PortState::kNoReply:
        found = locate_lost(w_);
        break;
      case PortState::kRejected:
        found = locate_rejected(w_);
        break;
      case PortState::kNoListener:
        if (listener_at(w_.view.to, w_.pair.to_ip, w_.attempt.port) != Bound::kThere) return {};
        found = locate_reset(w_);
        break;
      case PortState::kRefused:
      case PortState::kReset:
        found = locate_reset(w_);
        break;
      case PortState::kUnreachable:
        found = locate_unreachable(w_);
        break;
      case PortState::kDenied:
        found = locate_denied(w_);
        break;
      case PortState::kUntried:
        break;
      default:
        return {};
    }
    std::vector<Block> out;
    if (found) {
      finish();
      out.push_back(w_.block);
    }
    add_latent(out);
    return out;
  }

 private:
  void finish() {
    if (w_.block.hit && w_.block.hit->rule != nullptr && w_.block.hit->certain) {
      w_.block.confidence = std::min(0.99, w_.block.confidence + kRuleAdds);
    }
    w_.block.by_rule_only = !below_.empty() && w_.block.hit && w_.block.hit->certain;
    if (!below_.empty() && !w_.block.by_rule_only) {
      // What is wrong further down most likely explains it.
      w_.block.confidence *= kBrokenBelow;
      w_.block.proven = false;
      w_.say(w_.pair.from, below_);
    }
    if (!w_.block.known() && seen_from_one_side(w_.view)) admit_one_side();
  }

  // Silence at one end and nothing known of the other: what could be it is said, and which of it is
  // only guessed.
  void admit_one_side() {
    const auto& places = w_.block.places;
    const bool own = is_in(places, w_.block.request ? StopPlace::kSender : StopPlace::kReceiver);
    const bool privileged = filters_readable(w_.view.from);
    const std::string who = w_.pair.from;
    std::string text = fmt::format(
        "from one side only{}: a filter {}on the way or on {} looks the same",
        privileged ? "" : ", without root", own ? fmt::format("of {}, ", who) : "", w_.pair.to);
    const bool alive = shows_life(w_.pair);
    if (!alive) text += fmt::format(", and {} may be off", w_.pair.to);
    text += fmt::format("; {}an agent there (plumbline agent --listen) would tell",
                        own && !privileged ? "`sudo`, or " : "");
    w_.say(who, std::move(text));
    if (own || !alive) w_.block.confidence = std::min(w_.block.confidence, kGuess);
  }

  // A rule of another host, or for a packet that never came so far, would stop the connection too.
  void add_latent(std::vector<Block>& out) const {
    for (const RuleHit& hit : w_.hits) {
      if (!hit.certain || hit.rule == nullptr || leads_to_own_port(hit)) continue;
      const std::string& own = hit.host == w_.view.from ? w_.pair.from_ip : w_.pair.to_ip;
      if (!owns_address(hit.host, own)) continue;
      const bool named = any_of(out, [&](const Block& b) {
        return (b.hit && b.hit->host == hit.host) ||
               (b.known() && b.places[0] != StopPlace::kPath && host_of(b) == hit.host);
      });
      if (named) continue;
      Block block;
      block.view = &w_.view;
      block.port = w_.attempt.port;
      block.how = hit.how;
      block.request = hit.request;
      block.places = {hit.place};
      block.hit = hit;
      block.latent = block.by_rule_only = block.proven = true;
      block.confidence = kByRule;
      out.push_back(std::move(block));
    }
  }
  const HostEvidence* host_of(const Block& b) const { return w_.host(b.request, b.places[0]); }

  const std::string& below_;
  PortWitness w_;
};

}  // namespace

std::vector<Block> locate_blocks(const PairView& view) {
  const std::string below = broken_below(view);
  std::vector<Block> out;
  const auto add = [&](const PortTry& attempt) {
    std::vector<Block> found = PortLocator(view, attempt, below).locate();
    std::move(found.begin(), found.end(), std::back_inserter(out));
  };
  for (const PortTry& attempt : view.pair->ports) {
    // A holder that does not answer is the holder's matter as long as other ports work.
    const bool held = attempt.listener == "in_use" && has_open_job_port(view);
    if (!held) add(attempt);
  }
  if (!view.pair->ports.empty()) return out;
  for (const int port : ports_between(view.evidence->job, view.pair->from, view.pair->to)) {
    PortTry untried;
    untried.port = port;
    add(untried);
  }
  return out;
}

namespace {

// Tools of the system that may always use the local network.
constexpr const char* kSystemTools[] = {"ping",       "ping6",       "nc",
                                        "/sbin/ping", "/sbin/ping6", "/usr/bin/nc"};

bool is_system_tool(const std::string& command) {
  const std::string first = command.substr(0, command.find(' '));
  return any_of(kSystemTools, [&](const char* tool) { return first == tool; });
}

bool names_address(const std::string& command, const std::string& ip) {
  std::stringstream words(command);
  for (std::string word; words >> word;) {
    if (word == ip) return true;
  }
  return false;
}

}  // namespace

std::string tool_that_reached(const PairView& view) {
  if (view.from == nullptr) return {};
  for (const CommandEvidence& command : view.from->commands) {
    if (command.status != 0 || !command.error.empty()) continue;
    if (is_system_tool(command.command) && names_address(command.command, view.pair->to_ip)) {
      return command.command;
    }
  }
  return {};
}

bool refused_by_privacy(const PairView& view) {
  if (view.from == nullptr || view.from->system != "macos") return false;
  bool refused = false;
  for (const PortTry& attempt : view.pair->ports) {
    const PortState state = state_of(attempt);
    if (is_open(state)) return false;
    if (state != PortState::kUnreachable || attempt.error != "EHOSTUNREACH") continue;
    const TraceDirection* sent = sent_by(attempt.here, view.pair->from_ip);
    if (attempt.captured_here && sent != nullptr && sent->syn > 0) return false;
    refused = true;
  }
  return refused && !tool_that_reached(view).empty();
}

}  // namespace plumbline
