#include "probes/job/look.h"

#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/host/nics.h"
#include "probes/actions/ends.h"

namespace plumbline {
namespace {

std::vector<JobAddress> own_addresses() {
  std::vector<JobAddress> out;
  const auto nics = list_nics();
  if (!nics) return out;
  for (const Nic& nic : *nics) {
    for (const NicAddress& address : nic.addresses) {
      out.push_back({address.ip, nic.name, nic.kind, address.prefix});
    }
  }
  return out;
}

Expected<JobLook> look_once(const JobSelection& selection, const std::vector<JobProcess>& first,
                            const AgentCall& call, std::vector<std::string>& there) {
  const Expected<SystemLook> system = look_at_system(call);
  if (!system) return fail(system.error());
  JobLook look = choose_job(*system, selection, first);
  for (JobProcess& process : look.processes) look_closer(process);
  if (look.processes.empty()) there = possible_jobs(*system);
  return look;
}

}  // namespace

Expected<JobHostEvidence> look_at_job(const JobSelection& selection, int64_t apart_ms,
                                      const AgentCall& call) {
  JobHostEvidence out;
  out.addresses = own_addresses();
  Expected<JobLook> first = look_once(selection, {}, call, out.there);
  if (!first) return fail(first.error());
  out.first = std::move(*first);
  if (apart_ms <= 0 || out.first.processes.empty()) return out;
  const Deadline again = Deadline::after_ms(apart_ms);
  while (!again.passed()) {
    if (over(call)) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::vector<std::string> ignored;  // the job has ended
  Expected<JobLook> second = look_once(selection, out.first.processes, call, ignored);
  if (!second) return fail(second.error());
  out.second = std::move(*second);
  return out;
}

}  // namespace plumbline
