#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/awaited.h"
#include "core/host/host.h"
#include "core/number.h"
#include "probes/sources/own_process.h"
#include "probes/sources/parsers.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

// They all start at once: on a busy or emulated host of two cores each takes seconds, and without
// the rules of its filters the remedy for a blocked port could only be a guess.
constexpr int64_t kOneCommand = 4 * kSecond;
constexpr int64_t kOneSlowCommand = 8 * kSecond;
// Kept back from the deadline for parsing.
constexpr int64_t kReserve = 50 * kMillisecond;

std::vector<const SourceRow*> rows_of(const std::string& system, bool deep) {
  std::vector<const SourceRow*> out;
  for (const SourceRow& row : source_table()) {
    const std::string where = row.system;
    if ((where == system || where == "any") && (deep || !row.slow)) out.push_back(&row);
  }
  return out;
}

// A file that blocks in the kernel (a network card's driver that does not answer) cannot be
// interrupted.
Awaited<SourceOutput> start(const std::vector<const SourceRow*>& rows, Deadline deadline) {
  return {rows.size(), [rows, deadline](size_t i) {
            const int64_t longest = rows[i]->slow ? kOneSlowCommand : kOneCommand;
            const int64_t own = std::min(deadline.at_ns(), Deadline::after_ns(longest).at_ns());
            return run_source(*rows[i], Deadline::at_ns(own));
          }};
}

void collect(const std::vector<const SourceRow*>& rows,
             std::vector<std::optional<SourceOutput>> outputs, HostEvidence& host) {
  const SourceOutput late{SourceOutput::State::kFailed, {}, "not ready in time"};
  for (size_t i = 0; i < rows.size(); ++i) {
    apply_output(*rows[i], outputs[i] ? *outputs[i] : late, host);
  }
}

std::string own_hostname() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<NameEvidence> names_to_ask(const SnapshotRequest& request) {
  std::vector<NameEvidence> out;
  out.push_back({own_hostname(), "own", {}, {}, {}, {}});
  for (const std::string& name : request.names) out.push_back({name, "peer", name, {}, {}, {}});
  return out;
}

// Where there is no `ip`: what the C library tells.
void add_interfaces_without_tool(HostEvidence& host) {
  const auto nics = list_nics();
  if (!nics) return;
  for (const Nic& nic : *nics) {
    InterfaceEvidence out;
    out.name = nic.name;
    out.index = nic.index;
    out.kind = nic.kind;
    out.mac = nic.mac;
    out.mtu = nic.mtu;
    out.up = nic.up;
    if (nic.up) out.carrier = nic.carrier;
    out.state = nic.carrier ? "UP" : "DOWN";
    if (nic.speed_bps) out.speed_bps = static_cast<int64_t>(*nic.speed_bps);
    out.master = nic.master;
    for (const NicAddress& address : nic.addresses) {
      AddressEvidence entry;
      entry.ip = address.ip;
      entry.prefix = address.prefix;
      entry.scope = address.loopback ? "host" : (address.link_local ? "link" : "global");
      out.addresses.push_back(std::move(entry));
    }
    host.interfaces.push_back(std::move(out));
  }
}

// What every system tells about itself in the same way, for what no row told.
void add_own_facts(HostEvidence& host) {
  const HostFacts facts = read_host_facts();
  if (host.hostname.empty()) host.hostname = facts.hostname;
  if (host.os.empty()) host.os = facts.os;
  if (host.kernel.empty()) host.kernel = facts.kernel;
  if (host.boot_id.empty()) host.boot_id = facts.boot_id;
  if (!host.load1) host.load1 = facts.load1;
  host.cores_usable = facts.cores_usable;  // a container's quota counted, which no file row does
}

}  // namespace

void keep_sockets_of_interest(HostEvidence& host, const std::vector<int>& ports) {
  const auto asked = [&](int port) {
    return std::find(ports.begin(), ports.end(), port) != ports.end();
  };
  const auto boring = [&](const SocketEvidence& socket) {
    if (socket.state == "LISTEN" || socket.state == "UNCONN") return false;
    const size_t colon = socket.peer.rfind(':');
    const auto peer_port = parse_port(std::string_view(socket.peer).substr(colon + 1));
    return !asked(socket.port) && !asked(peer_port.value_or(0));
  };
  host.sockets.erase(std::remove_if(host.sockets.begin(), host.sockets.end(), boring),
                     host.sockets.end());
}

HostEvidence take_snapshot(const std::string& host_name, const SnapshotRequest& request,
                           Deadline deadline) {
  const Deadline inner = Deadline::at_ns(deadline.at_ns() - kReserve);
  const auto rows = rows_of(own_system(), request.deep);
  const Awaited<SourceOutput> outputs = start(rows, inner);

  HostEvidence host;
  host.name = host_name;
  host.source = "agent";
  host.system = own_system();
  host.uid = static_cast<int64_t>(::geteuid());
  host.privileges = own_privileges();
  host.buffers = try_buffers(request.buffer_bytes);
  const Deadline names_until =
      Deadline::at_ns(std::min(inner.at_ns(), Deadline::after_ns(kOneCommand).at_ns()));
  host.names = resolve_names(names_to_ask(request), names_until);
  collect(rows, outputs.wait(inner), host);

  finish_filters(host);
  const bool readable =
      std::any_of(host.filter_sources.begin(), host.filter_sources.end(),
                  [](const FilterSource& source) { return source.present && source.readable; }) &&
      std::none_of(host.filter_sources.begin(), host.filter_sources.end(),
                   [](const FilterSource& source) { return source.present && !source.readable; });
  if (readable) host.privileges.emplace_back("filters");
  if (host.interfaces.empty()) add_interfaces_without_tool(host);
  add_own_facts(host);
  keep_sockets_of_interest(host, request.ports);
  complete_sockets(host);
  try_verbs_library(host);
  return host;
}

}  // namespace plumbline
