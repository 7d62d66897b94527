#include "probes/evidence.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "probes/foreign_numbers.h"
#include "probes/sources/collected.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(JobHost, name, data, interface, speed, reached_by, ssh, where, apart, ports,
                      samples, uncalled, rdma_devices, rdma_towards)
PLUMBLINE_JSON_FIELDS(Job, file, hosts, ranks, coordinator, port_base, master_port, ports,
                      extra_ports, rdma, rdma_or_tcp, deep, idle_s, config, problems, names,
                      packages)
PLUMBLINE_JSON_FIELDS(AddressEvidence, ip, prefix, scope, flags)
PLUMBLINE_JSON_FIELDS(InterfaceEvidence, name, index, kind, mac, mtu, up, carrier, state, speed_bps,
                      speed_max_bps, duplex, master, master_kind, port_state, isolated, parent,
                      receptacle, arp, promiscuous, xdp, carrier_changes, carrier_changes_later,
                      counters, counters_later, addresses)
PLUMBLINE_JSON_FIELDS(RouteEvidence, destination, type, dev, via, source, table, scope, protocol,
                      metric, flags)
PLUMBLINE_JSON_FIELDS(PolicyRule, priority, from, to, action, table, text)
PLUMBLINE_JSON_FIELDS(NeighbourEvidence, ip, dev, mac, state)
PLUMBLINE_JSON_FIELDS(SocketEvidence, protocol, ip, port, state, peer, pid, process, age_s, role,
                      run)
PLUMBLINE_JSON_FIELDS(NameEvidence, name, role, of, v4, v6, error, took_ns)
PLUMBLINE_JSON_FIELDS(FilterSource, tool, present, readable, why, state)
PLUMBLINE_JSON_FIELDS(BufferEvidence, asked, send, receive, error)
PLUMBLINE_JSON_FIELDS(RdmaDevice, name, netdev, link_layer, transport, port, state, active_mtu,
                      gids)
PLUMBLINE_JSON_FIELDS(RdmaRung, name, error, text)
PLUMBLINE_JSON_FIELDS(RdmaClimb, device, profile, port, peer, error, rungs)
PLUMBLINE_JSON_FIELDS(RdmaEvidence, library, library_error, hardware, devices, climbs, meetings)
PLUMBLINE_JSON_FIELDS(CommandEvidence, label, command, status, out, error)
PLUMBLINE_JSON_FIELDS(EndpointTry, what, end, status, error, text, model, cut_short, took_ns,
                      tokens, first_token_ns)
PLUMBLINE_JSON_FIELDS(EndpointEvidence, url, model, error, models, tries)
PLUMBLINE_JSON_FIELDS(SoftwareEvidence, error, python, python_error, versions, variables, untold)
PLUMBLINE_JSON_FIELDS(ArtifactFile, name, bytes, digest, sampled, problem)
PLUMBLINE_JSON_FIELDS(ArtifactEvidence, path, folder, found, error, listed, files, missing)
PLUMBLINE_JSON_FIELDS(ThunderboltPeer, domain, hubs)
PLUMBLINE_JSON_FIELDS(ThunderboltPort, receptacle, interface, domain, peers, speed_bps)
PLUMBLINE_JSON_FIELDS(HostEvidence, name, source, agent_cause, agent_error, version, build,
                      agent_pid, started_by, config, system, os, kernel, hostname, boot_id, model,
                      uid, privileges, unreadable, interfaces, routes, policy_rules, neighbours,
                      sockets, names, filter_sources, filters, forwarding_loops, sysctls,
                      conntrack_count, conntrack_max, descriptors, locked_memory, load1,
                      cores_usable, buffers, clock_offset_ns, clock_uncertainty_ns, rdma,
                      thunderbolt, commands, endpoints, software, artifacts)
PLUMBLINE_JSON_FIELDS(RouteLookup, with_source, error, type, dev, via, source, table)
PLUMBLINE_JSON_FIELDS(NeighbourProbe, dev, method, on_link, macs, kernel_state, kernel_mac, asker,
                      asked, error)
PLUMBLINE_JSON_FIELDS(PingEvidence, sent, received, duplicates, rtt_ns, errors, unavailable)
PLUMBLINE_JSON_FIELDS(PortTry, port, result, error, took_ns, icmp, answer, stranger_bytes, listener,
                      listener_error, holder, role, run, accepted, half_open, captured_here,
                      captured_there, here, there)
PLUMBLINE_JSON_FIELDS(BurstEvidence, port, attempts, sender, receiver)
PLUMBLINE_JSON_FIELDS(MtuEvidence, interface_mtu, largest_delivered, smallest_lost, told,
                      lost_tries, small_sent, small_lost, method, transfer_bytes, transferred,
                      stalled_ns, error)
PLUMBLINE_JSON_FIELDS(StreamEvidence, kind, alone, bytes, duration_ns, segments_out, retransmitted,
                      duplicate_reports, segments_in, rtt_ns, rtt_min_ns, receive_window,
                      send_buffer, limited_by_receiver, limited_by_buffer, cpu_sender, cpu_receiver,
                      error)
PLUMBLINE_JSON_FIELDS(DatagramEvidence, alone, sent, received, duplicates, refused, overflow,
                      rate_per_s, duration_ns, error)
PLUMBLINE_JSON_FIELDS(QualityEvidence, streams, datagrams, round_trips_ns, busy_round_trips_ns,
                      error)
PLUMBLINE_JSON_FIELDS(PairEvidence, from, to, from_ip, to_ip, same_machine, skipped, routes,
                      neighbour, ping, ports, burst, mtu, quality, idle, idle_s)
PLUMBLINE_JSON_FIELDS(EvidenceSet, schema, suite_version, time, job, hosts, pairs, stack, job_seen)

const HostEvidence* find_host(const EvidenceSet& evidence, const std::string& name) {
  for (const HostEvidence& host : evidence.hosts) {
    if (host.name == name) return &host;
  }
  return nullptr;
}

const PairEvidence* find_pair(const EvidenceSet& evidence, const std::string& from,
                              const std::string& to) {
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from == from && pair.to == to) return &pair;
  }
  return nullptr;
}

std::string evidence_text(const EvidenceSet& evidence) {
  // Bytes from the network may be no UTF-8; they are replaced, never thrown about.
  return printable_json(json_text(nlohmann::json(evidence)));
}

Expected<EvidenceSet> parse_evidence(const std::string& text) {
  if (text.size() > kMostEvidenceBytes) {
    return fail(ErrorCode::kConfig,
                fmt::format("the evidence is larger than {} MiB", kMostEvidenceBytes >> 20));
  }
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.is_object() || !json.contains("schema") || !json.contains("hosts")) {
      return fail(ErrorCode::kConfig, "no evidence: it has no schema, or no hosts",
                  "give a file of plumbline doctor --save, or files of collect.sh");
    }
    check_numbers(json);
    EvidenceSet evidence = json.get<EvidenceSet>();
    if (evidence.schema != 1) {
      return fail(ErrorCode::kConfig,
                  fmt::format("the evidence has schema {}, this program reads 1", evidence.schema),
                  "use the plumbline version that wrote it");
    }
    if (evidence.hosts.empty()) {
      return fail(ErrorCode::kConfig, "the evidence holds no host", "there is nothing to judge");
    }
    std::set<std::string> names;
    for (const HostEvidence& host : evidence.hosts) {
      constexpr size_t kLongestName = 253;
      const std::string name = escaped(host.name);  // as it is shown from here on
      if (name.size() > kLongestName || !names.insert(name).second) {
        return fail(ErrorCode::kConfig,
                    fmt::format("'{}' is no name for a host of the evidence: too long, or another "
                                "one has it too",
                                escaped_short(name)),
                    "each host has a name of its own, and what is to be done stands under it");
      }
    }
    return evidence;
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::kConfig, "no evidence: " + json_trouble(problem));
  }
}

namespace {

// Output of programs, which has lines and columns; kernel values, which have columns.
constexpr std::array<std::string_view, 5> kWithLines = {"out", "error", "agent_error", "why",
                                                        "sysctls"};

std::string_view kept_in(std::string_view key, std::string_view above) {
  for (const std::string_view known : kWithLines) {
    if (key == known || above == known) return "\n\t";
  }
  return "";
}

// True when something was replaced.
bool show_strings(nlohmann::json& json, std::string_view key, std::string_view above) {
  bool changed = false;
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    std::string out = escaped(text, kept_in(key, above));
    changed = out != text;
    if (changed) text = std::move(out);
  } else if (json.is_array()) {
    for (nlohmann::json& each : json) changed = show_strings(each, key, above) || changed;
  } else if (json.is_object()) {
    nlohmann::json again = nlohmann::json::object();
    for (auto& [name, value] : json.items()) {
      changed = show_strings(value, name, key) || changed;
      std::string spelt = escaped(name);
      changed = changed || spelt != name;
      again[spelt] = std::move(value);
    }
    json = std::move(again);
  }
  return changed;
}

}  // namespace

EvidenceSet shown_evidence(EvidenceSet evidence) {
  nlohmann::json json = evidence;
  return show_strings(json, "", "") ? json.get<EvidenceSet>() : evidence;
}

}  // namespace plumbline
