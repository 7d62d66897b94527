#include "cli/hide_job.h"

#include <functional>

#include "core/host/ip.h"
#include "core/text.h"
#include "probes/job/job_variables.h"

namespace plumbline {
namespace {

void each_process(EvidenceSet& evidence, const std::function<void(JobProcess&)>& act) {
  if (!evidence.job_seen) return;
  for (JobHostEvidence& host : evidence.job_seen->hosts) {
    for (JobProcess& process : host.first.processes) act(process);
    if (!host.second) continue;
    for (JobProcess& process : host.second->processes) act(process);
  }
}

// A PID or a port; anything else is a name or the id of a run.
bool is_plain(const std::string& asked) {
  return asked.find_first_not_of(":0123456789") == std::string::npos;
}

}  // namespace

void hide_job(EvidenceSet& evidence) {
  each_process(evidence, [](JobProcess& process) {
    process.uid = -1;
    process.environment = public_variables(process.environment);
  });
  if (!evidence.job_seen) return;
  JobEvidence& job = *evidence.job_seen;
  const size_t at = job.asked.rfind('@');
  job.asked.resize(std::min(at, job.asked.size()));
  if (!is_plain(job.asked)) job.asked = "a job";
  for (JobHostEvidence& host : job.hosts) {
    host.there.clear();
    for (JobSocket& socket : host.first.sockets) socket.uid = -1;
    if (!host.second) continue;
    for (JobSocket& socket : host.second->sockets) socket.uid = -1;
  }
}

std::vector<std::string> host_names_in_job(const EvidenceSet& evidence) {
  std::vector<std::string> names;
  EvidenceSet copy;
  copy.job_seen = evidence.job_seen;
  each_process(copy, [&](JobProcess& process) {
    for (const auto& [name, value] : process.environment) {
      const JobVariableRow* row = find_job_variable(name);
      if (row == nullptr || std::string_view(row->value) != "address") continue;
      // "mini1:29500", "10.0.0.1:29500"
      const size_t colon = value.rfind(':');
      const std::string host = is_v6(value) ? value : value.substr(0, colon);
      if (host.empty() || parse_zoned_ip(host)) continue;
      names.push_back(host);
      names.push_back(host.substr(0, host.find('.')));
    }
  });
  return names;
}

std::vector<std::string> interfaces_in_job(const EvidenceSet& evidence) {
  std::vector<std::string> names;
  if (!evidence.job_seen) return names;
  for (const JobHostEvidence& host : evidence.job_seen->hosts) {
    for (const JobAddress& address : host.addresses) names.push_back(address.interface);
  }
  return names;
}

}  // namespace plumbline
