// The one table of transports. `auto` takes the first usable row.
#include "transport/transports.h"

#include <fmt/format.h>

#include "transport/memory/memory.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

std::string memory_unavailable(bool ranks_in_process) {
  return threads_unavailable("memory", ranks_in_process);
}

constexpr TransportRow kTable[] = {
    {"tcp", "one TCP connection per pair of ranks, IPv4 or IPv6", true, tcp_unavailable, tcp_site,
     claim_tcp},
    {"memory", "threads of one process, bytes through rings in memory; with --ranks-in-process",
     false, memory_unavailable, no_site, claim_memory},
};

}  // namespace

std::span<const TransportRow> transport_table() { return kTable; }

Expected<const TransportRow*> find_transport(std::string_view name, bool ranks_in_process) {
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
