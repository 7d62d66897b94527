// What a launcher (mpirun, srun, torchrun) tells the processes that it starts, in environment
// variables: who I am, how many we are, and where rank 0 can be met. One table of launchers; a
// variable that is missing, nonsense, or contradicts another is an error that names it, because two
// silent worlds of one rank look like success. Pure functions of the variables, thread-safe.
//
// Sources: mpirun(1) of Open MPI, "Environment Variables"; the Hydra process manager's and PMI-1's
// variables as MPICH 4 sets them; srun(1), "OUTPUT ENVIRONMENT VARIABLES"; torchrun's
// documentation, "Environment Variables".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/options/options.h"

namespace plumbline {

using Variables = std::map<std::string, std::string>;

inline constexpr int kMostRanks = 1'000'000;  // no world has more

// This process's place in a launched world.
struct LauncherPlace {
  std::string launcher;  // "openmpi", "mpich", "slurm", "torchrun", "plumbline"
  std::string program;   // what the user typed: "mpirun (Open MPI)"
  int rank = 0, size = 1;
  int local_rank = -1, local_size = -1;  // among the ranks of this node; -1 = not told
  std::string node;                      // its name as the launcher knows it; empty = not told
  std::string job;  // tells this launch from others on the same machines; empty = nothing does
  // Where rank 0's host may be met, as the launcher's own variables tell; may be empty.
  std::vector<std::string> masters;
  std::string masters_from;  // the variable that said so
};

// The launch that this process belongs to; nothing when no launcher started it. Variables of Slurm
// in a shell of `salloc` or in a batch script, outside of any step, are no launch. `wanted`:
// "auto", a launcher's name to believe only that one, or "none".
Expected<std::optional<LauncherPlace>> find_launcher(const Variables& variables,
                                                     const std::string& wanted = "auto");
// "auto", "none" and the launchers' names.
const std::vector<std::string>& launcher_choices();

// Where the ranks meet: `flag` (--master), PLUMBLINE_MASTER_ADDR, MASTER_ADDR, 127.0.0.1 when all
// ranks are on this node, else the launcher's own word; else kUsage with what to set.
struct Master {
  std::vector<std::string> hosts;  // names or addresses, to be tried in this order
  std::string from;                // "--master", "MASTER_ADDR" ...
};
Expected<Master> choose_master(const LauncherPlace& place, const std::string& flag,
                               const Variables& variables);

// The port of the rendezvous: the option master_port where somebody set it, else MASTER_PORT, else
// the option's default. torchrun's own store may hold MASTER_PORT: then it is the port after that.
Expected<int> rendezvous_port(const OptionSet& options, const Variables& variables);

// First host of a Slurm host list: "fq1" of "fq[1-2,5]", "a-003-x" of "a-[003-010]-x,b".
std::string first_of_host_list(const std::string& list);

// All variables of this process.
Variables own_variables();

}  // namespace plumbline
