// The one table of transports. `auto` takes the first usable row.
#include "transport/transports.h"

#include <fmt/format.h>

#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

std::string tcp_unavailable() { return {}; }

std::string memory_unavailable() {
  return "memory joins the threads of one process and serves tests; ranks here are processes";
}

Expected<std::unique_ptr<Group>> open_memory(const GroupSpec&) {
  return fail(ErrorCode::kUnsupported, "transport memory: " + memory_unavailable(),
              "use --transport tcp");
}

Expected<std::unique_ptr<Group>> open_tcp(const GroupSpec& spec) { return open_tcp_group(spec); }

constexpr TransportRow kTable[] = {
    {"tcp", "one TCP connection per pair of ranks, IPv4 or IPv6", tcp_unavailable, open_tcp},
    {"memory", "threads of one process, bytes through rings in memory; for tests",
     memory_unavailable, open_memory},
};

}  // namespace

std::span<const TransportRow> transport_table() { return kTable; }

Expected<const TransportRow*> find_transport(std::string_view name) {
  std::vector<std::string> names;
  for (const TransportRow& row : kTable) {
    const std::string reason = row.unavailable();
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

}  // namespace plumbline
