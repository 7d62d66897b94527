// What works, but badly: loss, rate, and large packets that vanish.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/create.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_rate(const Lab& lab) {
  return lab.topology.rate.empty() ? "needs a topology with a rate" : "";
}

// Loss in one direction, somewhere on the way: where it leaves, where it comes in, or between.
// Whether the rule stands on `host` itself.
bool lose(FaultMaker& maker, bool from_host, int percent) {
  PacketMatch match;
  match.tcp_only = false;
  match.percent = percent;
  match.from = from_host ? maker.ip() : maker.peer_ip();
  match.to = from_host ? maker.peer_ip() : maker.ip();
  const LabHost& sender = from_host ? maker.host : maker.peer;
  const LabHost& receiver = from_host ? maker.peer : maker.host;
  const LabLink& out = from_host ? maker.link : maker.back;
  const LabLink& in = from_host ? maker.back : maker.link;
  const size_t places = maker.lab.switch_netns.empty() ? 2 : 3;
  const size_t place = maker.draw.below(places);
  if (place == 2) {
    add_filter(maker, Spot::kPath, match);
  } else if (place == 1) {
    add_filter_at(maker, receiver.netns, in, Spot::kInput, match);
  } else {
    add_filter_at(maker, sender.netns, out, Spot::kOutput, match);
  }
  maker.how("{} % lost from {} to {}", percent, sender.name, receiver.name);
  return place < 2 && (place == 0) == from_host;
}

void loss_one_way(FaultMaker& maker) {
  maker.plan.injected.remedy_is_local = lose(maker, true, maker.draw.between(3, 15));
  maker.expect({"loss.one_way"}, maker.peer.name).warn();
}

void loss_random(FaultMaker& maker) {
  const int percent = maker.draw.between(3, 15);
  const bool there = lose(maker, true, percent), back = lose(maker, false, percent);
  maker.plan.injected.remedy_is_local = there && back;
  maker.expect({"loss.random"}, maker.peer.name).or_peer().any_peer().warn();
}

void loss_heavy(FaultMaker& maker) {
  maker.plan.injected.remedy_is_local = lose(maker, true, maker.draw.between(30, 45));
  maker.expect({"loss.one_way"}, maker.peer.name);
}

// A share of the rate that the link is said to have.
std::string lower_rate(FaultMaker& maker) {
  const double share = maker.draw.between(8, 40) / 100.0;
  return fmt::format("{}Kbit", static_cast<long>(rate_bps(maker.lab.topology.rate) * share / 1000));
}

void shape(FaultMaker& maker, const std::string& netns, const std::string& interface,
           const std::string& rate) {
  maker.step(shape_command(netns, interface, rate),
             shape_command(netns, interface, maker.lab.topology.rate));
}

void rate_low(FaultMaker& maker) {
  const std::string rate = lower_rate(maker);
  shape(maker, maker.host.netns, maker.link.nic, rate);
  if (maker.mesh()) {
    shape(maker, maker.peer.netns, maker.back.nic, rate);
    maker.plan.injected.other_hosts = {maker.peer.name};
  } else {
    shape(maker, maker.lab.switch_netns, maker.link.port, rate);
  }
  maker.how("cable of {} carries {} of {}", maker.host.name, rate, maker.lab.topology.rate);
  maker.expect_host_cause({"rate.below_link"}).warn().remedy_elsewhere();
}

void rate_asymmetric(FaultMaker& maker) {
  const std::string rate = lower_rate(maker);
  shape(maker, maker.host.netns, maker.link.nic, rate);
  maker.how("{} sends at {} of {}", maker.host.name, rate, maker.lab.topology.rate);
  maker.expect_host_cause({"rate.asymmetric"}).warn().remedy_elsewhere();
}

void mtu_blackhole(FaultMaker& maker) {
  PacketMatch match;
  match.tcp_only = false;
  match.from = maker.ip();
  match.to = maker.peer_ip();
  match.longer_than = maker.lab.topology.mtu - maker.draw.between(20, 200);
  add_filter(maker, Spot::kPath, match);
  maker.how("packets of more than {} bytes from {} to {} vanish", match.longer_than,
            maker.host.name, maker.peer.name);
  maker.expect({"mtu.blackhole"}, maker.peer.name).remedy_elsewhere();
}

}  // namespace

std::vector<FaultRow> quality_faults() {
  return {
      {"loss_one_way", "3 to 15 % of the packets from host to peer are lost", anywhere,
       loss_one_way},
      {"loss_random", "3 to 15 % are lost in both directions", anywhere, loss_random},
      {"loss_heavy", "30 to 45 % of the packets from host to peer are lost", anywhere, loss_heavy},
      {"rate_low", "the host's cable carries far less than its link speed", needs_rate, rate_low},
      {"rate_asymmetric", "the host sends far slower than it receives", needs_rate,
       rate_asymmetric},
      {"mtu_blackhole", "large packets from host to peer vanish on the way", needs_switch,
       mtu_blackhole},
  };
}

}  // namespace plumbline
