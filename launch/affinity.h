// Which cores ranks run on. A rank that is bound to a core of its own neither migrates (which
// reorders its packets) nor shares a core with the rank that it waits for, while another one is
// idle. Linux only; elsewhere nothing can be bound. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

// CPUs that this process may use, one of every physical core first, their hyper-threads after them.
// Empty where the system does not let processes choose.
std::vector<int> cpus_by_preference();
// The CPUs on which the calling thread may really run, by whomever it was bound: "3", "0-7,16-23";
// empty where the system does not tell. And the NUMA node that all of them belong to, -1 where
// there are several, or none.
struct Affinity {
  std::string cpus;
  int numa_node = -1;
};
Affinity own_affinity();
// {0, 1, 2, 5} as "0-2,5": the system's own way to write such lists. Ascending.
std::string cpu_ranges(const std::vector<int>& cpus);

// Binds the calling thread, and those that it starts later, to one CPU, or to any of several.
Status bind_to_cpu(int cpu);
Status bind_to_cpus(const std::vector<int>& cpus);

// The CPU of each of `ranks` ranks, -1 = not bound. `mode` is the option bind_to: "core" binds
// whenever there are CPUs, sharing them when there are more ranks; "auto" only when every rank gets
// a CPU of its own; "none" never. `offset` shifts the choice, so that two runs at once rarely take
// the same ones; where there are just as many CPUs as ranks, it does nothing.
std::vector<int> choose_cpus(const std::string& mode, const std::vector<int>& cpus, int ranks,
                             int offset);

// Has each of so many ranks a core for a second thread, with one left for the system and for
// whoever else runs there? Where every core is taken, one that is wanted elsewhere for a moment
// stops all.
bool cores_for_second_threads(int cores, int ranks);

// The CPU of a second thread of each rank, beside those of choose_cpus(): the ones that come next,
// so that these too are cores of their own while there are any; -1 where not everybody gets one.
std::vector<int> choose_spare_cpus(const std::string& mode, const std::vector<int>& cpus, int ranks,
                                   int offset);

}  // namespace plumbline
