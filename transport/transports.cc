#include "transport/transports.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "transport/memory/memory.h"
#include "transport/rdma/rdma.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

// Numbers of other processes are added up here: the sum stays at the largest rather than begin
// anew.
void add_to(uint64_t& sum, uint64_t count) {
  sum = count > std::numeric_limits<uint64_t>::max() - sum ? std::numeric_limits<uint64_t>::max()
                                                           : sum + count;
}

std::string memory_unavailable(bool ranks_in_process) {
  return threads_unavailable("memory", ranks_in_process);
}

// The one table of transports.
constexpr TransportRow kTable[] = {
    {"tcp", "one TCP connection per pair of ranks, or several (option streams), IPv4 or IPv6", true,
     true, tcp_unavailable, tcp_site, claim_tcp},
    {"shm", "shared memory between the ranks of one machine; begins with a TCP connection per pair",
     true, false, shm_unavailable, tcp_site, claim_shm, shm_upgrade},
    {"rdma",
     "queue pairs of RDMA devices (Thunderbolt, RoCE, InfiniBand); begins with a TCP connection "
     "per pair",
     true, false, rdma_unavailable, tcp_site, claim_rdma, rdma_upgrade},
    {"memory", "threads of one process, bytes through rings in memory; with --ranks-in-process",
     false, false, memory_unavailable, no_site, claim_memory},
};

Expected<std::unique_ptr<TransportClaim>> claim_auto(const ClaimSpec& spec) {
  return claim_over_tcp(spec, [&spec](const TcpEndpoint& site) {
    std::vector<TcpUpgrade> upgrades;
    for (const TransportRow& row : kTable) {
      if (row.upgrade == nullptr) continue;
      upgrades.push_back(row.upgrade(*spec.options, site));
      upgrades.back().of_every_pair = false;
    }
    return upgrades;
  });
}

constexpr TransportRow kAuto = {"auto",
                                "shared memory between the ranks of one machine, else RDMA where "
                                "both have it, else TCP",
                                true,
                                true,
                                tcp_unavailable,
                                tcp_site,
                                claim_auto};

}  // namespace

void RefusedConnections::add(const std::string& address, uint64_t count) {
  add_to(total, count);
  if (by_address.count(address) == 0 && by_address.size() >= kMostAddresses) return;
  add_to(by_address[address], count);
}

void RefusedConnections::add(const RefusedConnections& others) {
  uint64_t named = 0;
  for (const auto& [address, count] : others.by_address) {
    add(address, count);
    add_to(named, count);
  }
  if (others.total > named) add_to(total, others.total - named);
}

std::string RefusedConnections::text() const {
  std::vector<std::pair<std::string, uint64_t>> rows(by_address.begin(), by_address.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  uint64_t named = 0;
  for (const auto& [address, count] : rows) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", address, count);
    add_to(named, count);
  }
  if (total > named) list += fmt::format(", other addresses ({})", total - named);
  return fmt::format("{} connection{} that {} not of this run {} refused: {}", total,
                     total == 1 ? "" : "s", total == 1 ? "is" : "are", total == 1 ? "was" : "were",
                     list);
}

void RefusedTally::add(const std::string& address) {
  const std::lock_guard lock(mutex_);
  refused_.add(address);
}

RefusedConnections RefusedTally::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refused_, {});
}

Status check_spec(const GroupSpec& spec) {
  if (spec.size < 1 || spec.rank < 0 || spec.rank >= spec.size) {
    return fail(ErrorCode::kConfig, fmt::format("rank {} of {} ranks", spec.rank, spec.size),
                "ranks count from 0");
  }
  if (spec.endpoints.size() != static_cast<size_t>(spec.size)) {
    return fail(ErrorCode::kConfig,
                fmt::format("{} endpoints for {} ranks", spec.endpoints.size(), spec.size));
  }
  const auto in_world = [&spec](int rank) { return rank >= 0 && rank < spec.size; };
  for (const auto& [a, b] : spec.apart) {
    if (in_world(a) && in_world(b) && a != b) continue;
    return fail(ErrorCode::kConfig, fmt::format("ranks {} and {} cannot be apart", a, b));
  }
  return {};
}

std::vector<bool> apart_from(const GroupSpec& spec) {
  if (spec.apart.empty()) return {};
  std::vector<bool> apart(static_cast<size_t>(spec.size), false);
  for (const auto& [a, b] : spec.apart) {
    if (a == spec.rank) apart[static_cast<size_t>(b)] = true;
    if (b == spec.rank) apart[static_cast<size_t>(a)] = true;
  }
  return apart;
}

bool is_apart(const std::vector<bool>& apart, int peer) {
  return !apart.empty() && apart[static_cast<size_t>(peer)];
}

std::string agreed_text(const GroupSpec& spec) {
  return spec.options->config_text() + spec.agreement;
}

// Two ranks forward nothing to a third, and over loopback their operations are up to 1.2 times as
// fast with messages in one piece (docs/performance.md). Who asks for small frames gets them.
constexpr size_t kWholeBytesOfTwo = 1 << 20, kLeastChunkOfWhole = 256 << 10;

ChannelOptions channel_options(const GroupSpec& spec) {
  ChannelOptions out;
  out.chunk_bytes = static_cast<size_t>(spec.options->integer("chunk_bytes"));
  out.crc = spec.options->flag("transport_crc");
  // A checksum is over a whole frame before any of it leaves; larger ones were not measured so.
  const bool whole = spec.size == 2 && !out.crc && out.chunk_bytes >= kLeastChunkOfWhole;
  if (whole) out.whole_bytes = kWholeBytesOfTwo;
  out.crc32c = spec.crc32c;
  // A fault on purpose is about what goes through a stream: then everything does, at both ends.
  if (spec.options->text("fault").empty()) out.direct_bytes = direct_bytes(*spec.options);
  out.park_bytes = static_cast<size_t>(spec.options->integer("demux_park_bytes"));
  return out;
}

size_t direct_bytes(const OptionSet& options) {
  const int64_t bytes = options.integer("direct_bytes");
  return bytes == 0 ? ChannelOptions::kNothingDirect : static_cast<size_t>(bytes);
}

WaitOptions wait_options(const GroupSpec& spec) {
  WaitOptions wait;
  const std::string& how = spec.options->text("wait");
  wait.spin_ns = how == "spin"    ? WaitOptions::kForever
                 : how == "block" ? 0
                                  : spec.options->integer("spin_us") * 1000;
  // A rank that spins on a core which another rank needs makes both slow.
  wait.yield = spec.ranks_on_host > spec.cores_usable;
  return wait;
}

std::span<const TransportRow> transport_table() { return kTable; }

Expected<const TransportRow*> find_transport(std::string_view name, bool ranks_in_process) {
  if (name == kAuto.name && !ranks_in_process) return &kAuto;
  return find_transport(kTable, name, ranks_in_process);
}

Expected<const TransportRow*> find_transport(std::span<const TransportRow> table,
                                             std::string_view name, bool ranks_in_process) {
  std::vector<std::string> names;
  for (const TransportRow& row : table) {
    const std::string reason = row.unavailable(ranks_in_process);
    if (name == "auto" ? reason.empty() : name == row.name) {
      if (reason.empty()) return &row;
      return fail(ErrorCode::kUnsupported, fmt::format("transport {}: {}", name, reason),
                  "use --transport auto");
    }
    names.emplace_back(row.name);
  }
  const std::string near = nearest_name(name, names);
  return fail(ErrorCode::kUsage, fmt::format("there is no transport \"{}\"", name),
              near.empty() ? fmt::format("transports: auto, {}", fmt::join(names, ", "))
                           : fmt::format("did you mean \"{}\"?", near));
}

OptionChoices transport_choices() {
  std::vector<std::string> names = {"auto"};
  for (const TransportRow& row : kTable) names.emplace_back(row.name);
  return {{"transport", std::move(names)}};
}

}  // namespace plumbline
