#include "probes/sources/holder_role.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/host/process_facts.h"
#include "core/number.h"

namespace plumbline {
namespace {

// Whoever keeps a rank or an agent: a coordinator, the sshd that stands for one, a launcher. How
// their names begin; the system cuts them to 15 characters.
constexpr std::string_view kKeepers[] = {"plumbline", "sshd",  "mpirun",  "mpiexec",
                                         "orterun",   "orted", "prte",    "hydra_",
                                         "srun",      "slurm", "torchrun"};
constexpr int kMostAncestors = 32;

bool is_plumbline(const ProcessFacts& facts) { return facts.name.rfind("plumbline", 0) == 0; }

// The first process of the system adopts orphans: an sshd there stands for nobody.
bool has_keeper(const ProcessFacts& facts) {
  // Torchrun is often started as a module of python.
  const bool by_torchrun = !process_variable(facts.pid, "TORCHELASTIC_RUN_ID").empty();
  int64_t above = facts.parent;
  for (int i = 0; i < kMostAncestors && above > 1; ++i) {
    const std::optional<ProcessFacts> ancestor = read_process(above);
    if (!ancestor) return false;
    const bool keeps =
        std::any_of(std::begin(kKeepers), std::end(kKeepers), [&](std::string_view begin) {
          return ancestor->name.compare(0, begin.size(), begin) == 0;
        });
    if (keeps || (by_torchrun && ancestor->name.rfind("python", 0) == 0)) return true;
    above = ancestor->parent;
  }
  return false;
}

// An agent with --listen ends when it has served, or when nobody came in time, so that one which
// runs still waits or serves; one without ends with the diagnosis or run that started it.
std::string agent_role(const ProcessFacts& facts) {
  if (facts.user != static_cast<int64_t>(getuid())) return "";
  const auto& words = facts.arguments;
  if (std::find(words.begin(), words.end(), "--listen") != words.end()) return "waiting agent";
  return has_keeper(facts) ? "busy agent" : "";
}

}  // namespace

HolderRole role_of_process(int64_t pid) {
  const std::optional<ProcessFacts> facts = read_process(pid);
  if (!facts) return {};
  HolderRole out;
  if (const std::string run = process_variable(pid, kRunIdVariable); is_run_id(run)) out.run = run;
  const std::string command = facts->arguments.size() > 1 ? facts->arguments[1] : std::string();
  if (is_plumbline(*facts) && command == "agent") {
    out.role = agent_role(*facts);
    return out;
  }
  // A rank of ours, one of a launcher's (which is the command itself), or what `launch` started.
  const bool rank =
      is_plumbline(*facts) && (command == "rank" || command == "run" || command == "coll");
  if ((rank || !out.run.empty()) && has_keeper(*facts)) out.role = "busy rank";
  return out;
}

HolderRole role_of_holder(const std::string& holder) {
  const size_t at = holder.find("PID ");
  if (at == std::string::npos) return {};
  return role_of_process(leading_whole(std::string_view(holder).substr(at + 4)).value_or(0));
}

}  // namespace plumbline
