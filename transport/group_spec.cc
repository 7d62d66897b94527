#include "transport/group_spec.h"

#include <fmt/format.h>

namespace plumbline {

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

ChannelOptions channel_options(const GroupSpec& spec) {
  ChannelOptions out;
  out.chunk_bytes = static_cast<size_t>(spec.options->integer("chunk_bytes"));
  out.crc = spec.options->flag("transport_crc");
  out.crc32c = spec.crc32c;
  out.park_bytes = static_cast<size_t>(spec.options->integer("demux_park_bytes"));
  return out;
}

WaitOptions wait_options(const GroupSpec& spec) {
  // A rank that spins on a core which another rank needs makes both slow.
  return {spec.options->integer("spin_us") * 1000, spec.ranks_on_host > spec.cores_usable, {}};
}

}  // namespace plumbline
