#include "probes/traces/capture_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace plumbline {
namespace {

constexpr size_t kMostNamed = 20;  // addresses in a message

bool was_seen(const FlowState& flow) {  // rather than only quoted by an ICMP error
  return flow.side[0].counts.packets + flow.side[1].counts.packets > 0 && !(flow.a.ip == flow.b.ip);
}

bool is_group(const IpAddress& ip) {
  const bool v4 = ip.high == 0 && ip.low >> 32 == 0xffff;
  if (!v4) return ip.high >> 56 == 0xff;
  return (ip.low & 0xffffffff) >> 28 >= 0xe;  // 224.0.0.0/4 and the broadcast address
}

// Files that tell directions: what a host sends goes out, what is for it comes in. Packets that it
// only forwards, or sees in passing, count for nobody.
CapturePlace by_directions(const Analysis& trace) {
  std::map<IpAddress, std::pair<int64_t, int64_t>> votes;  // for, against
  for (const FlowState& flow : trace.flows()) {
    if (flow.a.ip == flow.b.ip) continue;
    for (size_t side = 0; side < 2; ++side) {
      const TraceDirection& sent = flow.side[side].counts;
      auto& sender = votes[side == 0 ? flow.a.ip : flow.b.ip];
      auto& receiver = votes[side == 0 ? flow.b.ip : flow.a.ip];
      sender.first += sent.outgoing;
      sender.second += sent.incoming;
      receiver.first += sent.incoming;
      receiver.second += sent.outgoing;
    }
  }
  CapturePlace place;
  for (const auto& [ip, count] : votes) {
    if (!is_group(ip) && count.first > 2 * count.second) place.addresses.insert(ip);
  }
  place.decided = !place.addresses.empty();
  place.told_by = "direction";
  return place;
}

// The addresses that occur in most of the flows; several when they occur equally often.
std::set<IpAddress> commonest(const std::vector<const FlowState*>& flows, size_t at_least) {
  std::map<IpAddress, size_t> count;
  for (const FlowState* flow : flows) {
    if (!is_group(flow->a.ip)) ++count[flow->a.ip];
    if (!is_group(flow->b.ip)) ++count[flow->b.ip];
  }
  size_t most = std::max<size_t>(at_least, 1);
  for (const auto& [ip, n] : count) most = std::max(most, n);
  std::set<IpAddress> result;
  for (const auto& [ip, n] : count) {
    if (n == most) result.insert(ip);
  }
  return result;
}

// The address that occurs in all flows, or in most; then, for a host with several networks, the one
// that occurs in most of the flows that are left.
CapturePlace by_flows(const Analysis& trace) {
  std::vector<const FlowState*> left;
  for (const FlowState& flow : trace.flows()) {
    if (was_seen(flow)) left.push_back(&flow);
  }
  const size_t enough = left.size() / 5;  // flows of others that are seen in passing are few
  CapturePlace place{{}, !left.empty(), "flows"};
  while (!left.empty()) {
    const std::set<IpAddress> found = commonest(left, enough);
    const bool either = std::any_of(left.begin(), left.end(), [&](const FlowState* flow) {
      return found.count(flow->a.ip) > 0 && found.count(flow->b.ip) > 0;
    });
    // Both ends of a flow alike: of a host that is known in part, nothing more can be told.
    if (found.empty() || (either && place.decided && !place.addresses.empty())) break;
    if (either) place.decided = false;
    place.addresses.insert(found.begin(), found.end());
    std::erase_if(left, [&](const FlowState* flow) {
      return found.count(flow->a.ip) + found.count(flow->b.ip) > 0;
    });
  }
  return place;
}

CapturePlace place_of(const Analysis& trace) {
  CapturePlace place = by_directions(trace);
  return place.decided ? place : by_flows(trace);
}

void take_away(CapturePlace& place, const CapturePlace& other) {
  for (const IpAddress& ip : other.addresses) place.addresses.erase(ip);
}

std::string addresses_of(const Analysis& first, const Analysis& second) {
  std::set<IpAddress> all = first.addresses();
  all.insert(second.addresses().begin(), second.addresses().end());
  std::string text;
  size_t named = 0;
  for (const IpAddress& ip : all) {
    if (named++ == kMostNamed) return text + fmt::format(" and {} more", all.size() - kMostNamed);
    text += (text.empty() ? "" : ", ") + ip_text(ip);
  }
  return text.empty() ? "they hold no address" : text;
}

Expected<CapturePlace> given_place(const Analysis& first, const Analysis& second,
                                   const std::vector<std::string>& ips) {
  CapturePlace place{{}, true, "addresses"};
  for (const std::string& text : ips) {
    bool seen = false;
    for (const Analysis* trace : {&first, &second}) {
      for (const IpAddress& ip : trace->addresses()) {
        if (ip_text(ip) != text) continue;
        place.addresses.insert(ip);
        seen = true;
      }
    }
    if (!seen) {
      return fail(ErrorCode::kUsage, "--first-at " + text + ": in neither trace",
                  "addresses of the traces: " + addresses_of(first, second));
    }
  }
  return place;
}

}  // namespace

bool CapturePlaces::between(const FlowState& flow) const {
  const auto at = [](const CapturePlace& place, const Endpoint& end) {
    return place.addresses.count(end.ip) > 0;
  };
  if (flow.a.ip == flow.b.ip) return false;
  return (at(first, flow.a) && at(second, flow.b)) || (at(first, flow.b) && at(second, flow.a));
}

int CapturePlaces::side_of_first(const FlowState& flow) const {
  if (!between(flow)) return 0;
  if (first.decided) return first.addresses.count(flow.a.ip) > 0 ? 1 : -1;
  if (second.decided) return second.addresses.count(flow.b.ip) > 0 ? 1 : -1;
  return 0;
}

Expected<CapturePlaces> find_places(const Analysis& first, const Analysis& second,
                                    const std::vector<std::string>& first_ips) {
  CapturePlaces places{place_of(first), place_of(second)};
  if (!first_ips.empty()) {
    Expected<CapturePlace> given = given_place(first, second, first_ips);
    if (!given) return fail(given.error());
    CapturePlace told = std::exchange(places.first, std::move(*given));
    take_away(places.second, places.first);
    // The files are named the other way round than they seem to be.
    if (places.second.addresses.empty()) {
      places.second = std::move(told);
      take_away(places.second, places.first);
    }
    return places;
  }
  // A trace without any packet tells no place, but may be of the other host of the first one's.
  if (places.second.addresses.empty() && !places.first.decided) places.second = places.first;
  if (places.first.addresses.empty() && !places.second.decided) places.first = places.second;
  if (places.first.decided && !places.second.decided) take_away(places.second, places.first);
  if (places.second.decided && !places.first.decided) take_away(places.first, places.second);
  return places;
}

}  // namespace plumbline
