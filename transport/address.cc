#include "transport/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "core/host/ip.h"
#include "transport/control/wire.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMostAddresses = 1024;
constexpr size_t kMostAddressText = 64;  // an address with its scope, the name of an interface
constexpr int kLongestPrefix = 128;
constexpr size_t kMostAbilities = 8, kMostDevices = 8, kMostRanks = 4096;
constexpr size_t kMostName = 64, kMostReason = 300;

// How good a pair is; smaller is better, compared from the first field on.
struct Rank {
  bool different_subnet = true;
  bool loopback_between_hosts = false;
  bool link_local = false;
  bool masks_disagree = false;  // in reach by one side's prefix only
  int minus_prefix = 0;         // longest prefix first
  size_t order = 0;             // in the host file, of both sides together
  size_t order_of_lower = 0;    // decides ties the same way from both ends
  auto key() const {
    return std::tuple(different_subnet, loopback_between_hosts, link_local, masks_disagree,
                      minus_prefix, order, order_of_lower);
  }
};

Rank rank_pair(const RankAddress& local, const Ip& a, const RankAddress& remote, const Ip& b) {
  Rank rank;
  const int common = common_bits(a, b);
  const bool same = common == a.bits();
  const bool by_local = local.prefix > 0 && common >= local.prefix;
  const bool by_remote = remote.prefix > 0 && common >= remote.prefix;
  rank.different_subnet = !same && !by_local && !by_remote;
  rank.link_local = a.link_local() || b.link_local();
  if (!rank.different_subnet) {
    rank.minus_prefix = -std::max({by_local ? local.prefix : 0, by_remote ? remote.prefix : 0,
                                   same && local.prefix <= 0 ? a.bits() : 0});
    const bool both_known = local.prefix > 0 && remote.prefix > 0;
    rank.masks_disagree = both_known && by_local != by_remote;
  }
  return rank;
}

std::string list_addresses(const TcpEndpoint& endpoint) {
  std::string text;
  for (const RankAddress& address : endpoint.addresses) {
    if (!text.empty()) text += ", ";
    text += address.ip;
    if (address.prefix >= 0) text += fmt::format("/{}", address.prefix);
  }
  return text.empty() ? "none" : text;
}

struct Candidate {
  Rank rank;
  AddressPair pair;
  bool v6 = false;
};

// All pairs of one family, unordered.
std::vector<Candidate> candidates(const TcpEndpoint& mine, const TcpEndpoint& peer) {
  std::vector<Candidate> list;
  const bool one_host = same_host(mine, peer);
  for (size_t i = 0; i < mine.addresses.size(); ++i) {
    for (size_t j = 0; j < peer.addresses.size(); ++j) {
      const auto a = parse_zoned_ip(mine.addresses[i].ip);
      const auto b = parse_zoned_ip(peer.addresses[j].ip);
      if (!a || !b || a->v6 != b->v6) continue;
      // A loopback and an ordinary address reach one another on one host only.
      if (a->loopback() != b->loopback() && !one_host) continue;
      Candidate candidate{rank_pair(mine.addresses[i], *a, peer.addresses[j], *b),
                          {mine.addresses[i], peer.addresses[j], false},
                          a->v6};
      const bool loopback = a->loopback() || b->loopback();
      candidate.rank.loopback_between_hosts = loopback && !one_host;
      candidate.rank.order = i + j;
      candidate.rank.order_of_lower = mine.rank < peer.rank ? i : j;
      candidate.pair.shared_subnet = !candidate.rank.different_subnet;
      list.push_back(std::move(candidate));
    }
  }
  return list;
}

// The same, best first.
std::vector<Candidate> sorted_candidates(const TcpEndpoint& mine, const TcpEndpoint& peer) {
  std::vector<Candidate> list = candidates(mine, peer);
  std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
    return a.rank.key() < b.rank.key();
  });
  return list;
}

// Of the slower end, 0 = no end tells.
uint64_t speed_of(const AddressPair& pair) {
  const uint64_t a = pair.local.speed_bps, b = pair.remote.speed_bps;
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// Two addresses of one host, the first of which is part of `pair`, in one subnet.
bool in_subnet_of(const RankAddress& address, const RankAddress& first, const AddressPair& pair) {
  const auto a = parse_zoned_ip(address.ip), b = parse_zoned_ip(first.ip);
  const int prefix = std::max(pair.local.prefix, pair.remote.prefix);
  return a && b && common_bits(*a, *b) >= (prefix > 0 ? prefix : a->bits());
}

void write_abilities(WireWriter& writer, const std::vector<PairAbility>& abilities) {
  writer.u8(static_cast<uint8_t>(abilities.size()));
  for (const PairAbility& ability : abilities) {
    writer.text(ability.transport, kMostName);
    writer.u8(ability.realm ? 1 : 0);
    if (ability.realm) writer.bytes(*ability.realm);
    writer.text(ability.why_not, kMostReason);
  }
}

bool read_abilities(WireReader& reader, std::vector<PairAbility>& abilities) {
  const size_t count = reader.u8();
  if (count > kMostAbilities) return false;
  for (size_t i = 0; i < count; ++i) {
    PairAbility ability;
    ability.transport = printable(reader.text(), kMostName);
    const uint8_t has_realm = reader.u8();
    if (has_realm > 1) return false;
    if (has_realm != 0) reader.bytes(ability.realm.emplace());
    ability.why_not = printable(reader.text(), kMostReason);
    if (!reader.ok()) return false;
    abilities.push_back(std::move(ability));
  }
  return reader.ok();
}

void write_devices(WireWriter& writer, const std::vector<std::vector<std::string>>& by_rank) {
  writer.u16(static_cast<uint16_t>(std::min(by_rank.size(), kMostRanks)));
  for (const std::vector<std::string>& devices :
       std::span(by_rank).first(std::min(by_rank.size(), kMostRanks))) {
    const size_t count = std::min(devices.size(), kMostDevices);
    writer.u8(static_cast<uint8_t>(count));
    for (const std::string& device : std::span(devices).first(count)) {
      writer.text(device, kMostName);
    }
  }
}

bool read_devices(WireReader& reader, std::vector<std::vector<std::string>>& by_rank) {
  const size_t ranks = reader.u16();
  if (ranks > kMostRanks) return false;
  for (size_t i = 0; i < ranks && reader.ok(); ++i) {
    const size_t count = reader.u8();
    if (count > kMostDevices) return false;
    std::vector<std::string>& devices = by_rank.emplace_back();
    for (size_t k = 0; k < count; ++k) devices.push_back(printable(reader.text(), kMostName));
  }
  return reader.ok();
}

}  // namespace

const PairAbility* TcpEndpoint::ability(std::string_view transport) const {
  const auto found =
      std::find_if(abilities.begin(), abilities.end(),
                   [&](const PairAbility& ability) { return ability.transport == transport; });
  return found == abilities.end() ? nullptr : &*found;
}

std::string endpoint_bytes(const TcpEndpoint& endpoint) {
  WireWriter writer;
  writer.u16(endpoint.port);
  const size_t count = std::min(endpoint.addresses.size(), kMostAddresses);
  writer.u16(static_cast<uint16_t>(count));
  for (const RankAddress& address : std::span(endpoint.addresses).first(count)) {
    writer.text(address.ip, kMostAddressText);
    writer.u16(static_cast<uint16_t>(address.prefix + 1));
    writer.text(address.interface, kMostAddressText);
    writer.u64(address.speed_bps);
  }
  write_abilities(writer, endpoint.abilities);
  write_devices(writer, endpoint.rdma_devices);
  std::string bytes;
  for (const std::byte byte : writer.view()) bytes += std::to_integer<char>(byte);
  return bytes;
}

Expected<TcpEndpoint> read_endpoint(std::string_view bytes, const std::string& whose) {
  WireReader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
  TcpEndpoint endpoint;
  endpoint.port = reader.u16();
  const size_t count = reader.u16();
  bool sound = count <= kMostAddresses;
  for (size_t i = 0; i < count && sound; ++i) {
    RankAddress address;
    address.ip = printable(reader.text(), kMostAddressText);
    address.prefix = reader.u16() - 1;
    address.interface = printable(reader.text(), kMostAddressText);
    address.speed_bps = reader.u64();
    sound = reader.ok() && address.prefix <= kLongestPrefix;
    endpoint.addresses.push_back(std::move(address));
  }
  sound = sound && read_abilities(reader, endpoint.abilities) &&
          read_devices(reader, endpoint.rdma_devices);
  if (sound && reader.complete()) return endpoint;
  return fail(ErrorCode::kProtocol, whose + " says where it listens in bytes that are not TCP's",
              "all ranks must be the same build and use the same transport");
}

RankAddress rank_address(const std::string& text, const std::string& interface) {
  const Cidr cidr = parse_cidr(text);
  return {cidr.ip, cidr.ip.size() == text.size() ? -1 : cidr.prefix, interface};
}

bool same_host(const TcpEndpoint& a, const TcpEndpoint& b) {
  return !a.host.empty() && a.host == b.host;
}

Expected<std::vector<AddressPair>> address_pairs(const TcpEndpoint& mine, const TcpEndpoint& peer) {
  for (const TcpEndpoint* endpoint : {&mine, &peer}) {
    for (const RankAddress& address : endpoint->addresses) {
      if (parse_zoned_ip(address.ip)) continue;
      return fail_about(
          {endpoint->rank}, ErrorCode::kConfig,
          fmt::format("data address \"{}\" of rank {} ({}) is not an IPv4 or IPv6 address",
                      address.ip, endpoint->rank, endpoint->host),
          "write numeric addresses into the host file, such as 10.10.0.1/24");
    }
  }
  std::vector<Candidate> list = sorted_candidates(mine, peer);
  if (list.empty()) {
    return fail_about({peer.rank, mine.rank}, ErrorCode::kConfig,
                      fmt::format("rank {} ({}) and rank {} ({}) have no addresses of one family",
                                  mine.rank, list_addresses(mine), peer.rank, list_addresses(peer)),
                      "give both hosts a data address of the same network");
  }
  // Loopback between hosts is the last resort ({"local": N} knows nothing else).
  const auto ordinary = [](const Candidate& c) { return !c.rank.loopback_between_hosts; };
  if (std::any_of(list.begin(), list.end(), ordinary)) std::erase_if(list, std::not_fn(ordinary));
  if (list.front().pair.shared_subnet) list.resize(1);
  std::vector<AddressPair> pairs;
  pairs.reserve(list.size());
  for (Candidate& candidate : list) pairs.push_back(std::move(candidate.pair));
  return pairs;
}

std::vector<AddressPair> cable_pairs(const TcpEndpoint& mine, const TcpEndpoint& peer) {
  std::vector<AddressPair> cables;
  const std::vector<Candidate> list = sorted_candidates(mine, peer);
  if (list.empty() || !list.front().pair.shared_subnet) return cables;
  const Candidate& best = list.front();
  cables.push_back(best.pair);
  const bool alone = same_host(mine, peer) || best.rank.loopback_between_hosts;
  for (size_t i = 1; !alone && i < list.size(); ++i) {
    const AddressPair& pair = list[i].pair;
    const Rank& rank = list[i].rank;
    const bool fits = pair.shared_subnet && !rank.loopback_between_hosts && !rank.link_local &&
                      !rank.masks_disagree && list[i].v6 == best.v6 &&
                      speed_of(pair) == speed_of(best.pair);
    const bool known = std::any_of(cables.begin(), cables.end(), [&pair](const AddressPair& cable) {
      return in_subnet_of(pair.local, cable.local, cable) ||
             in_subnet_of(pair.remote, cable.remote, cable);
    });
    if (fits && !known) cables.push_back(pair);
  }
  return cables;
}

}  // namespace plumbline
