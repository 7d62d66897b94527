#include "probes/job_evidence.h"

#include "core/json.h"
#include "probes/job/job_variables.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(JobSelection::End, ip, peer_ip, port, peer_port)

// NOLINTBEGIN(misc-use-internal-linkage): found by their argument's namespace
PLUMBLINE_JSON_FIELDS(JobTcp, unacknowledged, not_sent, send_window, retransmits, retransmitted,
                      backoff, sent_ms, received_ms, bytes_acked, bytes_received, segment_bytes)
PLUMBLINE_JSON_FIELDS(JobSocket, ip, peer_ip, port, peer_port, state, pid, uid, receive_queue,
                      send_queue, timer, tcp)
PLUMBLINE_JSON_FIELDS(JobAddress, ip, interface, kind, prefix)
PLUMBLINE_JSON_FIELDS(JobPackets, ip, peer_ip, port, peer_port, left, came, left_wide, came_wide)

void to_json(nlohmann::json& json, const JobProcess& process) {
  json = {{"pid", process.pid},
          {"parent", process.parent},
          {"started", process.started},
          {"age_s", process.age_s},
          {"name", process.name},
          {"program", process.program},
          {"uid", process.uid},
          {"state", process.state},
          {"wait_channel", process.wait_channel},
          {"system_call", process.system_call},
          {"cpu_ns", process.cpu_ns},
          {"environment", process.environment},
          {"environment_seen", process.environment_seen},
          {"sockets_seen", process.sockets_seen},
          {"mpi", process.mpi},
          {"why", process.why}};
}
void from_json(const nlohmann::json& json, JobProcess& process) {
  const JobProcess plain;
  get_field_or(json, "pid", process.pid, plain.pid);
  get_field_or(json, "parent", process.parent, plain.parent);
  get_field_or(json, "started", process.started, plain.started);
  get_field_or(json, "age_s", process.age_s, plain.age_s);
  get_field_or(json, "name", process.name, plain.name);
  get_field_or(json, "program", process.program, plain.program);
  get_field_or(json, "uid", process.uid, plain.uid);
  get_field_or(json, "state", process.state, plain.state);
  get_field_or(json, "wait_channel", process.wait_channel, plain.wait_channel);
  get_field_or(json, "system_call", process.system_call, plain.system_call);
  get_field_or(json, "cpu_ns", process.cpu_ns, plain.cpu_ns);
  get_field_or(json, "environment", process.environment, plain.environment);
  get_field_or(json, "environment_seen", process.environment_seen, plain.environment_seen);
  get_field_or(json, "sockets_seen", process.sockets_seen, plain.sockets_seen);
  get_field_or(json, "mpi", process.mpi, plain.mpi);
  get_field_or(json, "why", process.why, plain.why);
  // Whoever sent it may know another list.
  process.environment = allowed_variables(process.environment);
}

PLUMBLINE_JSON_FIELDS(JobLook, at_ns, processes, sockets, unseen, partial)
// NOLINTEND(misc-use-internal-linkage)
PLUMBLINE_JSON_FIELDS(JobHostEvidence, host, error, there, addresses, first, second, captured)
PLUMBLINE_JSON_FIELDS(JobEvidence, asked, alone, hosts)

}  // namespace plumbline
