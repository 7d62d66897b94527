// Ranks that are a world of their own each, and agree with nobody: stack.one_rank.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/ranges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

constexpr int64_t kOneStartSeconds = 60;  // between the first and the last process of one start

// Who starts a library's ranks: what its launcher calls their numbers, and its command.
struct MpiLauncher {
  const char *mpi, *rank_name, *command;
};
constexpr MpiLauncher kMpiLaunchers[] = {
    {"openmpi", "OMPI_COMM_WORLD_RANK", "mpirun.openmpi"},
    {"mpich", "PMI_RANK", "mpiexec.hydra"},
};

const MpiLauncher* launcher_of(const std::string& mpi) {
  return find_where(kMpiLaunchers,
                    [&](const MpiLauncher& launcher) { return mpi == launcher.mpi; });
}
const MpiLauncher* launcher_by_rank(const std::string& rank_name) {
  return find_where(kMpiLaunchers,
                    [&](const MpiLauncher& launcher) { return rank_name == launcher.rank_name; });
}

bool is_connected(const JobFacts& facts, const JobMember& member) {
  return any_of(facts.connections, [&](const JobConnection& connection) {
    const JobMember* peer = connection.peer;
    return connection.owner == &member && peer != nullptr && peer != &member && peer->place;
  });
}

// Launchers that speak to both.
constexpr const char* kNeutralLaunchers[] = {"SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID"};

// An MPI that another one's launcher started does not understand it, and starts alone.
void propose_other_launcher(const JobFacts& facts, const Checks& checks,
                            std::vector<Candidate>& out) {
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside || member.place->size.value_or(1) < 2) continue;
    const JobProcess& process = member.process();
    const MpiLauncher* own = launcher_of(process.mpi);
    const MpiLauncher* started_by = launcher_by_rank(member.place->rank_name);
    const bool neutral = any_of(
        kNeutralLaunchers, [&](const char* name) { return process.environment.count(name) != 0; });
    if (own == nullptr || started_by == nullptr || own == started_by || neutral) continue;
    if (is_connected(facts, member)) continue;
    out.push_back(
        Proposal("stack.one_rank", Severity::kFail, member.host->host)
            .see(
                member.host->host, "",
                fmt::format("{} has loaded {} and was started by the launcher of {}, which it does "
                            "not understand: it is a world of one rank",
                            describe(member), own->mpi, started_by->mpi))
            .remedy(fmt::format("start it with {}, or build it with the MPI of {}", own->command,
                                started_by->command))
            .proven()
            .take(checks));
  }
}

// Processes of one program that started together, and were all told to be the only rank. They may
// be meant so.
void propose_alone(const JobFacts& facts, const Checks& checks, std::vector<Candidate>& out) {
  std::vector<const JobMember*> alone;
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside || is_connected(facts, member)) continue;
    if (member.place->size != 1) return;
    alone.push_back(&member);
  }
  if (alone.size() < 2) return;
  const JobProcess& first = alone.front()->process();
  std::string others;
  for (const JobMember* member : alone) {
    const JobProcess& process = member->process();
    const int64_t apart = std::abs(process.age_s.value_or(0) - first.age_s.value_or(0));
    if (process.program != first.program || apart > kOneStartSeconds) return;
    if (member != alone.front()) {
      others += fmt::format("{}PID {} on {}", others.empty() ? "" : ", ", process.pid,
                            member->host->host);
    }
  }
  const JobMember& member = *alone.front();
  const std::string name = member.place->size_name;
  out.push_back(
      Proposal("stack.one_rank", Severity::kWarn, member.host->host)
          .confidence(0.7)
          .see(member.host->host, "",
               fmt::format("{} has {}=1, and so have {} others of this program that started with "
                           "it: {}",
                           describe(member), name, alone.size() - 1, others))
          .remedy(fmt::format("if they are meant to be one job, give each of them {}={} and a rank "
                              "of its own: their launcher may not forward variables",
                              name, alone.size()))
          .take(checks));
}

}  // namespace

Candidates propose_job_worlds(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto facts = job_facts(evidence);
  if (!facts) return out;
  propose_other_launcher(*facts, checks, out);
  propose_alone(*facts, checks, out);
  return out;
}

}  // namespace plumbline
