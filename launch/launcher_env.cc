#include "launch/launcher_env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/number.h"
#include "launch/agent_lines.h"

extern char** environ;

namespace plumbline {
namespace {

// One launcher: the variables it sets. `sign` lists variables of which one proves that this
// launcher itself set rank and size; a row without any is believed always. Names are separated by
// spaces.
struct LauncherRow {
  const char *name, *program;
  const char *rank, *size, *local_rank, *local_size, *node;
  const char* job;
  const char* sign;
};

// In the order in which they are believed, the innermost first: mpirun and torchrun are often
// started inside of a Slurm step, whose variables their ranks inherit.
constexpr LauncherRow kTable[] = {
    {"plumbline", "plumbline launch", "PLUMBLINE_RANK", "PLUMBLINE_WORLD_SIZE",
     "PLUMBLINE_LOCAL_RANK", "PLUMBLINE_LOCAL_WORLD_SIZE", "", "PLUMBLINE_RUN_ID", ""},
    {"openmpi", "mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_HOSTNAME",
     "OMPI_MCA_ess_base_jobid PMIX_NAMESPACE", ""},
    {"mpich", "mpirun (MPICH)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "",
     "PMI_JOBID", "MPI_LOCALNRANKS HYDI_CONTROL_FD"},
    {"torchrun", "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "",
     "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RUN_ID"},
    {"slurm", "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "",
     "SLURMD_NODENAME", "SLURM_JOB_ID SLURM_STEP_ID", "SLURM_STEP_ID"},
};

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

bool is_set(const Variables& variables, const std::string& name) {
  return !value_of(variables, name).empty();
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// What a message may show of a variable: it may hold anything.
std::string shown(const Variables& variables, const std::string& name) {
  return name + "=" + excerpt(value_of(variables, name).substr(0, 40));
}

Error usage(std::string what, std::string hint) {
  return Error{ErrorCode::kUsage, std::move(what), 0, std::move(hint), ""};
}

constexpr const char* kHowToIgnore =
    "unset what does not belong to this launch, or say which launcher is meant with --launcher "
    "NAME (none = run alone)";

// A step that srun made, and not the shell of salloc or a batch script, whose pseudo-steps have
// numbers from 0xfffffff0 on.
bool inside_slurm_step(const Variables& variables) {
  constexpr int64_t kFirstPseudoStep = 0xfffffff0;
  const auto step = parse_whole(value_of(variables, "SLURM_STEP_ID"));
  return step && *step >= 0 && *step < kFirstPseudoStep;
}

// Did this launcher leave its mark at all?
bool present(const LauncherRow& row, const Variables& variables) {
  const std::string name = row.name;
  const bool rank = is_set(variables, row.rank), size = is_set(variables, row.size);
  if (name == "slurm") return inside_slurm_step(variables) && (rank || size);
  // RANK and WORLD_SIZE are common words: one of them alone means something only beside the others.
  if (name == "torchrun" && rank != size) return is_set(variables, "MASTER_ADDR");
  return rank || size;
}

bool signed_by(const LauncherRow& row, const Variables& variables) {
  const std::vector<std::string> signs = words(row.sign);
  return signs.empty() || std::any_of(signs.begin(), signs.end(), [&](const std::string& sign) {
           return is_set(variables, sign);
         });
}

Expected<int> number(const Variables& variables, const char* name, int64_t least, int64_t most) {
  const auto value = parse_whole(value_of(variables, name));
  if (value && *value >= least && *value <= most) return static_cast<int>(*value);
  return fail(usage(
      fmt::format("{} is not a whole number from {} to {}", shown(variables, name), least, most),
      kHowToIgnore));
}

// Rank and size, checked against each other.
Status read_rank(const LauncherRow& row, const Variables& variables, LauncherPlace& place) {
  for (const auto& [have, lack] : {std::pair(row.rank, row.size), std::pair(row.size, row.rank)}) {
    if (is_set(variables, have) && !is_set(variables, lack)) {
      return fail(
          usage(fmt::format("{} is set, but not {}", shown(variables, have), lack), kHowToIgnore));
    }
  }
  const Expected<int> size = number(variables, row.size, 1, kMostRanks);
  if (!size) return fail(size.error());
  const Expected<int> rank = number(variables, row.rank, 0, kMostRanks);
  if (!rank) return fail(rank.error());
  if (*rank >= *size) {
    return fail(usage(
        fmt::format("{} is no rank of {}", shown(variables, row.rank), shown(variables, row.size)),
        kHowToIgnore));
  }
  place.rank = *rank;
  place.size = *size;
  return {};
}

Status read_local(const LauncherRow& row, const Variables& variables, LauncherPlace& place) {
  if (row.local_rank[0] != '\0' && is_set(variables, row.local_rank)) {
    const Expected<int> local = number(variables, row.local_rank, 0, place.size - 1);
    if (!local) return fail(local.error());
    place.local_rank = *local;
  }
  if (row.local_size[0] != '\0' && is_set(variables, row.local_size)) {
    const Expected<int> local = number(variables, row.local_size, 1, place.size);
    if (!local) return fail(local.error());
    place.local_size = *local;
  }
  // Slurm tells the number of nodes instead.
  const std::string nodes = value_of(variables, "SLURM_STEP_NUM_NODES");
  if (place.launcher == "slurm" && nodes == "1") place.local_size = place.size;
  if (place.local_size >= 0 && place.local_rank >= place.local_size) {
    return fail(usage(fmt::format("{} is no local rank of {}", shown(variables, row.local_rank),
                                  shown(variables, row.local_size)),
                      kHowToIgnore));
  }
  return {};
}

// "3243638784.0;tcp://10.1.2.3,172.17.0.1:38215;tcp6://..." -> the IPv4 addresses.
std::vector<std::string> addresses_of_uri(const std::string& uri) {
  constexpr const char* kScheme = "tcp://";
  std::vector<std::string> out;
  const size_t begin = uri.find(kScheme);
  if (begin == std::string::npos) return out;
  std::string rest = uri.substr(begin + std::string(kScheme).size());
  rest = rest.substr(0, rest.find_first_of(":;"));
  for (size_t at = 0; at <= rest.size();) {
    const size_t end = std::min(rest.find(',', at), rest.size());
    const std::string address = rest.substr(at, end - at);
    if (!address.empty() && address.rfind("127.", 0) != 0) out.push_back(address);
    at = end + 1;
  }
  return out;
}

void read_masters(const Variables& variables, LauncherPlace& place) {
  if (place.launcher == "openmpi") {
    place.masters_from = "OMPI_MCA_orte_hnp_uri";
    place.masters = addresses_of_uri(value_of(variables, place.masters_from));
  }
  if (place.launcher == "slurm") {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
      const std::string first = first_of_host_list(value_of(variables, name));
      if (first.empty()) continue;
      place.masters_from = name;
      place.masters = {first};
      break;
    }
  }
}

Expected<LauncherPlace> read_row(const LauncherRow& row, const Variables& variables) {
  LauncherPlace place;
  place.launcher = row.name;
  place.program = row.program;
  if (const Status status = read_rank(row, variables, place); !status) return fail(status.error());
  if (const Status status = read_local(row, variables, place); !status) {
    return fail(status.error());
  }
  if (row.node[0] != '\0') place.node = value_of(variables, row.node);
  for (const std::string& name : words(row.job)) {
    if (is_set(variables, name)) place.job += name + "=" + value_of(variables, name) + " ";
  }
  read_masters(variables, place);
  return place;
}

// The launcher that started this very process: the first with a sign of its own, then Slurm, then
// one whose variables anybody may have set.
const LauncherRow* innermost(const std::vector<const LauncherRow*>& rows,
                             const Variables& variables) {
  for (const LauncherRow* row : rows) {
    if (signed_by(*row, variables)) return row;
  }
  return rows.empty() ? nullptr : rows.front();
}

// Every other launcher that left variables must tell the same, unless it is the Slurm step in which
// the innermost one was started.
Status check_others(const std::vector<const LauncherRow*>& rows, const LauncherRow& chosen,
                    const LauncherPlace& place, const Variables& variables) {
  for (const LauncherRow* other : rows) {
    if (other == &chosen || std::string(other->name) == "slurm") continue;
    const Expected<LauncherPlace> told = read_row(*other, variables);
    if (!told) return fail(told.error());
    const bool same_size = told->size == place.size;
    if (same_size && told->rank == place.rank) continue;
    const char* mine = same_size ? chosen.rank : chosen.size;
    const char* theirs = same_size ? other->rank : other->size;
    return fail(usage(fmt::format("{} of {} contradicts {} of {}", shown(variables, mine),
                                  chosen.program, shown(variables, theirs), other->program),
                      kHowToIgnore));
  }
  return {};
}

}  // namespace

const std::vector<std::string>& launcher_choices() {
  static const std::vector<std::string> kChoices = [] {
    std::vector<std::string> names = {"auto", "none"};
    for (const LauncherRow& row : kTable) names.emplace_back(row.name);
    return names;
  }();
  return kChoices;
}

Expected<std::optional<LauncherPlace>> find_launcher(const Variables& variables,
                                                     const std::string& wanted) {
  if (wanted == "none") return std::nullopt;
  std::vector<const LauncherRow*> rows;
  for (const LauncherRow& row : kTable) {
    if (wanted != "auto" && wanted != row.name) continue;
    if (present(row, variables)) rows.push_back(&row);
  }
  const LauncherRow* chosen = innermost(rows, variables);
  if (chosen == nullptr) {
    if (wanted == "auto") return std::nullopt;
    return fail(usage(fmt::format("--launcher {}: its variables are not set here", wanted),
                      "start this command with that launcher, or leave the flag out"));
  }
  Expected<LauncherPlace> place = read_row(*chosen, variables);
  if (!place) return fail(place.error());
  if (const Status agree = check_others(rows, *chosen, *place, variables); !agree) {
    return fail(agree.error());
  }
  return std::move(*place);
}

std::string first_of_host_list(const std::string& list) {
  std::string name;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      name += list[at];
      continue;
    }
    const size_t end = list.find(']', at);
    if (end == std::string::npos) return {};
    const std::string inside = list.substr(at + 1, end - at - 1);
    name += inside.substr(0, inside.find_first_of("-,"));
    at = end;
  }
  return name;
}

Expected<Master> choose_master(const LauncherPlace& place, const std::string& flag,
                               const Variables& variables) {
  if (!flag.empty()) return Master{{flag}, "--master"};
  for (const char* name : {"PLUMBLINE_MASTER_ADDR", "MASTER_ADDR"}) {
    if (is_set(variables, name)) return Master{{value_of(variables, name)}, name};
  }
  if (place.local_size == place.size) return Master{{"127.0.0.1"}, "all ranks are on this node"};
  if (!place.masters.empty()) return Master{place.masters, place.masters_from};
  return fail(
      usage(fmt::format("{} does not tell where rank 0 of {} runs", place.program, place.size),
            "give --master ADDRESS of its host to all ranks, or set MASTER_ADDR for all of them"));
}

Expected<int> rendezvous_port(const OptionSet& options, const Variables& variables) {
  const auto option = static_cast<int>(options.integer("master_port"));
  const char* name = "MASTER_PORT";
  if (options.origin("master_port") != "default" || !is_set(variables, name)) return option;
  constexpr int kLastPort = 65535;
  Expected<int> port = number(variables, name, 1, kLastPort);
  if (!port) return port;
  const bool store = value_of(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  return store && *port < kLastPort ? *port + 1 : *port;
}

Variables own_variables() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    // Of one name given twice the first counts, as for getenv(3).
    if (equals == std::string::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace plumbline
