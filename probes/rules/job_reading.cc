// A process of a job that does not read while another one has more for it: job.not_reading.
#include <fmt/format.h>

#include <set>

#include "core/ranges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// Who waits for whom, because it cannot send on.
struct Waiting {
  const JobMember* sender = nullptr;
  const JobMember* reader = nullptr;
  std::string text;
};

std::string unread_text(const JobConnection& in, int64_t more) {
  const std::string on = in.peer->host == in.owner->host ? "" : " on " + in.peer->host->host;
  return fmt::format(
      "{} has {} unread bytes from {}{}, and read none between two looks; {} more "
      "wait there; it {}",
      describe(*in.owner), unread(in), describe(*in.peer), on, more, doing_of(*in.owner));
}

// By both ends of a connection.
std::vector<Waiting> waiting_pairs(const JobFacts& facts) {
  std::vector<Waiting> out;
  for (const JobConnection& in : facts.connections) {
    if (in.peer == nullptr || in.across == nullptr || unread(in) == 0) continue;
    JobConnection back;  // the sender's end
    back.owner = in.peer;
    back.socket = in.across;
    back.before = in.across_before;
    back.across = in.socket;
    back.across_before = in.before;
    const int64_t more = waits_to_send(back);
    if (more > 0) out.push_back({in.peer, in.owner, unread_text(in, more)});
  }
  return out;
}

Remedy remedy_reading(const JobMember& reader) {
  return fmt::format(
      "see what {} does instead of receiving: py-spy dump --pid {} (Python), or "
      "gdb -p {}; all ranks must call the same operations in the same order",
      describe(reader), reader.process().pid, reader.process().pid);
}

// Connections that nobody accepts.
void propose_full(const JobFacts& facts, const Checks& checks, std::vector<Candidate>& out) {
  for (const JobMember& member : facts.members) {
    if (is_stopped(member) || is_working(member)) continue;
    for (const JobSocket* socket : member.sockets) {
      if (socket->state != "LISTEN" || !is_full(*socket)) continue;
      const bool waited_for = any_of(facts.connections, [&](const JobConnection& connection) {
        const bool half = connection.across != nullptr && connection.across->state == "SYN-RECV";
        return (never_answered(connection) || (half && loses_packets(connection))) &&
               connection.peer_host == member.host && connection.socket->peer_port == socket->port;
      });
      if (!waited_for) continue;
      out.push_back(Proposal("job.not_reading", Severity::kFail, member.host->host)
                        .ports({socket->port})
                        .see(member.host->host, "",
                             fmt::format("{} does not accept: {} connections wait on port {}, and "
                                         "no more fit; it {}",
                                         describe(member), socket->receive_queue, socket->port,
                                         doing_of(member)))
                        .remedy(remedy_reading(member))
                        .proven()
                        .take(checks));
    }
  }
}

// Of a peer that is not seen only its closed window tells.
void propose_unseen(const JobFacts& facts, const Checks& checks, std::vector<Candidate>& out) {
  for (const JobConnection& connection : facts.connections) {
    const JobSocket& socket = *connection.socket;
    if (connection.across != nullptr || socket.timer != "probe") continue;
    const int64_t more = waits_to_send(connection);
    if (more == 0) continue;
    const std::string& host =
        (connection.peer_host != nullptr ? connection.peer_host : connection.owner->host)->host;
    out.push_back(
        Proposal("job.not_reading", Severity::kFail, host)
            .confidence(0.8)
            .see(connection.owner->host->host, "",
                 fmt::format("{}:{} takes nothing from {}: its window is closed, and {} bytes wait "
                             "here; how many it has not read can only be seen there",
                             socket.peer_ip, socket.peer_port, describe(*connection.owner), more))
            .remedy(fmt::format("look at the process there: plumbline doctor --job :{} on the host "
                                "that has {}, or here with a host file (--hosts)",
                                socket.peer_port, socket.peer_ip))
            .proven()
            .take(checks));
  }
}

}  // namespace

Candidates propose_job_reading(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto facts = job_facts(evidence);
  // A rank may leave its peers' bytes alone because it waits for one that will not come.
  if (!facts || !propose_job_processes(evidence, checks).empty()) return out;
  const std::vector<Waiting> waiting = waiting_pairs(*facts);
  std::set<const JobMember*> readers, victims;
  for (const Waiting& each : waiting) readers.insert(each.reader);
  for (const JobConnection& connection : facts->connections) {
    if (loses_packets(connection) || never_answered(connection)) {
      victims.insert(connection.owner);
      victims.insert(connection.peer);
    }
  }
  // Who cannot send on himself waits for somebody else. Only in a circle nobody else is left.
  for (const Waiting& each : waiting) {
    if (readers.count(each.sender) != 0) victims.insert(each.sender);
  }
  const bool circle =
      all_of(readers, [&](const JobMember* reader) { return victims.count(reader) != 0; }) &&
      stuck_pairs(*facts).empty();
  for (const Waiting& each : waiting) {
    const JobMember& reader = *each.reader;
    if (victims.count(&reader) != 0 && !circle) continue;
    // It may be late, and read when it is through; all others wait for it until then.
    const bool works = is_working(reader);
    out.push_back(
        Proposal("job.not_reading", works ? Severity::kWarn : Severity::kFail, reader.host->host)
            .see(reader.host->host, "", each.text + (works ? ", and works on something else" : ""))
            .remedy(remedy_reading(reader))
            .proven()
            .take(checks));
  }
  propose_full(*facts, checks, out);
  propose_unseen(*facts, checks, out);
  return out;
}

}  // namespace plumbline
