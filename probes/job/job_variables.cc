#include "probes/job/job_variables.h"

#include <algorithm>
#include <iterator>

#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr const char* kNumberValue = "number";
constexpr const char* kWordsValue = "words";
constexpr const char* kInterfacesValue = "interfaces";
constexpr const char* kAddressValue = "address";
constexpr const char* kPathValue = "path";
constexpr size_t kLongestValue = 256;

// By stack. Not in it although it would help: NCCL_DEBUG_FILE and the like (paths without use
// here), MCCL_* and JACCL_* as a whole (the prefix would let a name through that nobody knows),
// PLUMBLINE_TOKEN_FILE, PMI_FD (a number of a descriptor), OMPI_MCA_orte_hnp_uri.
constexpr JobVariableRow kVariables[] = {
    // torch with gloo, and what else goes by torchrun's words
    {"MASTER_ADDR", "torch", kAddressValue, false},
    {"MASTER_PORT", "torch", kNumberValue, false},
    {"RANK", "torch", kNumberValue, false},
    {"WORLD_SIZE", "torch", kNumberValue, false},
    {"LOCAL_RANK", "torch", kNumberValue, false},
    {"LOCAL_WORLD_SIZE", "torch", kNumberValue, false},
    {"GROUP_RANK", "torch", kNumberValue, false},
    {"TORCHELASTIC_RUN_ID", "torch", kWordsValue, true},
    {"TORCHELASTIC_RESTART_COUNT", "torch", kNumberValue, false},
    {"GLOO_SOCKET_IFNAME", "torch", kInterfacesValue, false},
    {"GLOO_DEVICE_TRANSPORT", "torch", kWordsValue, false},
    {"TP_SOCKET_IFNAME", "torch", kInterfacesValue, false},
    {"NCCL_SOCKET_IFNAME", "nccl", kInterfacesValue, false},
    {"NCCL_SOCKET_FAMILY", "nccl", kWordsValue, false},
    {"NCCL_COMM_ID", "nccl", kAddressValue, false},
    {"NCCL_HOST_IP", "nccl", kAddressValue, false},
    {"NCCL_PORT", "nccl", kNumberValue, false},
    {"NCCL_IB_DISABLE", "nccl", kNumberValue, false},
    {"NCCL_NET", "nccl", kWordsValue, false},
    {"NCCL_P2P_DISABLE", "nccl", kNumberValue, false},
    {"NCCL_SHM_DISABLE", "nccl", kNumberValue, false},
    {"NCCL_ALGO", "nccl", kWordsValue, false},
    {"NCCL_PROTO", "nccl", kWordsValue, false},
    {"MCCL_LISTEN_ADDR", "mccl", kAddressValue, false},
    {"MCCL_PORT_BASE", "mccl", kNumberValue, false},
    {"MCCL_IFNAME", "mccl", kInterfacesValue, false},
    {"MCCL_TRANSPORT", "mccl", kWordsValue, false},
    {"MCCL_LINK_PROFILE", "mccl", kWordsValue, false},
    {"MCCL_CONNECT_TIMEOUT_MS", "mccl", kNumberValue, false},
    {"MCCL_WATCHDOG_TIMEOUT_MS", "mccl", kNumberValue, false},
    {"MLX_RANK", "mlx", kNumberValue, false},
    {"MLX_WORLD_SIZE", "mlx", kNumberValue, false},
    {"MLX_HOSTFILE", "mlx", kPathValue, true},
    {"MLX_IBV_DEVICES", "mlx", kPathValue, true},
    {"MLX_JACCL_COORDINATOR", "mlx", kAddressValue, false},
    {"MLX_JACCL_RING", "mlx", kNumberValue, false},
    {"MLX_METAL_FAST_SYNCH", "mlx", kNumberValue, false},
    {"JACCL_RANK", "mlx", kNumberValue, false},
    {"JACCL_IBV_DEVICES", "mlx", kPathValue, true},
    {"JACCL_COORDINATOR", "mlx", kAddressValue, false},
    {"JACCL_RING", "mlx", kNumberValue, false},
    {"HF_HUB_OFFLINE", "huggingface", kWordsValue, false},
    {"HF_DATASETS_OFFLINE", "huggingface", kWordsValue, false},
    {"TRANSFORMERS_OFFLINE", "huggingface", kWordsValue, false},
    {"OMPI_COMM_WORLD_RANK", "openmpi", kNumberValue, false},
    {"OMPI_COMM_WORLD_SIZE", "openmpi", kNumberValue, false},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "openmpi", kNumberValue, false},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "openmpi", kNumberValue, false},
    {"OMPI_MCA_ess_base_jobid", "openmpi", kWordsValue, true},
    {"OMPI_MCA_btl", "openmpi", kWordsValue, false},
    {"OMPI_MCA_pml", "openmpi", kWordsValue, false},
    {"OMPI_MCA_btl_tcp_if_include", "openmpi", kInterfacesValue, false},
    {"OMPI_MCA_btl_tcp_if_exclude", "openmpi", kInterfacesValue, false},
    {"OMPI_MCA_btl_tcp_port_min_v4", "openmpi", kNumberValue, false},
    {"OMPI_MCA_btl_tcp_port_range_v4", "openmpi", kNumberValue, false},
    {"OMPI_MCA_oob_tcp_if_include", "openmpi", kInterfacesValue, false},
    {"OMPI_MCA_oob_tcp_if_exclude", "openmpi", kInterfacesValue, false},
    {"PMIX_RANK", "openmpi", kNumberValue, false},
    {"PMIX_NAMESPACE", "openmpi", kWordsValue, true},
    {"PMI_RANK", "mpich", kNumberValue, false},
    {"PMI_SIZE", "mpich", kNumberValue, false},
    {"PMI_PORT", "mpich", kAddressValue, true},
    {"PMI_JOBID", "mpich", kWordsValue, true},
    {"MPI_LOCALRANKID", "mpich", kNumberValue, false},
    {"MPI_LOCALNRANKS", "mpich", kNumberValue, false},
    {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "mpich", kAddressValue, false},
    {"MPIR_CVAR_CH3_PORT_RANGE", "mpich", kWordsValue, false},
    {"MPICH_PORT_RANGE", "mpich", kWordsValue, false},
    {"MPIEXEC_PORT_RANGE", "mpich", kWordsValue, false},
    {"UCX_NET_DEVICES", "ucx", kInterfacesValue, false},
    {"UCX_TCP_PORT_RANGE", "ucx", kWordsValue, false},
    {"UCX_TLS", "ucx", kWordsValue, false},
    {"FI_PROVIDER", "libfabric", kWordsValue, false},
    {"FI_TCP_IFACE", "libfabric", kInterfacesValue, false},
    {"SLURM_JOB_ID", "slurm", kNumberValue, true},
    {"SLURM_STEP_ID", "slurm", kNumberValue, false},
    {"SLURM_PROCID", "slurm", kNumberValue, false},
    {"SLURM_NTASKS", "slurm", kNumberValue, false},
    {"SLURM_STEP_NUM_TASKS", "slurm", kNumberValue, false},
    {"SLURM_LOCALID", "slurm", kNumberValue, false},
    {"FLUX_TASK_RANK", "flux", kNumberValue, false},
    {"PALS_RANKID", "pals", kNumberValue, false},
    {"PLUMBLINE_RANK", "plumbline", kNumberValue, false},
    {"PLUMBLINE_WORLD_SIZE", "plumbline", kNumberValue, false},
    {"PLUMBLINE_LOCAL_RANK", "plumbline", kNumberValue, false},
    {"PLUMBLINE_LOCAL_WORLD_SIZE", "plumbline", kNumberValue, false},
    {"PLUMBLINE_MASTER_ADDR", "plumbline", kAddressValue, false},
    {"PLUMBLINE_RUN_ID", "plumbline", kWordsValue, true},
};

bool is_value(const JobVariableRow& row, std::string_view value) {
  if (value.size() > kLongestValue) return false;
  const std::string_view kind = row.value;
  if (kind == kNumberValue) return parse_whole(value).has_value();
  const std::string_view also = kind == kPathValue ? "._:,=^*/@[]+-~ " : "._:,=^*/@[]+-";
  return std::all_of(value.begin(), value.end(),
                     [&](char c) { return is_alnum(c) || also.find(c) != also.npos; });
}

// Who says which rank a process is, the innermost launcher first (launch/launcher_env.cc); blank
// where it does not say.
struct PlaceRow {
  const char *rank, *size, *local_rank, *local_size;
};
constexpr PlaceRow kPlaces[] = {
    {"PLUMBLINE_RANK", "PLUMBLINE_WORLD_SIZE", "PLUMBLINE_LOCAL_RANK",
     "PLUMBLINE_LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"MLX_RANK", "MLX_WORLD_SIZE", "", ""},
    {"JACCL_RANK", "", "", ""},
    {"PMIX_RANK", "", "", ""},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
};

// How launchers call a job of theirs; each has its own word.
constexpr const char* kLaunchersWords[] = {"PLUMBLINE_RUN_ID", "PMIX_NAMESPACE",
                                           "OMPI_MCA_ess_base_jobid", "PMI_JOBID"};

constexpr int kMostJobRanks = 1'000'000;

std::string variable(const JobVariables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::optional<int> number_of(const JobVariables& variables, const std::string& name, int least) {
  return parse_whole<int>(variable(variables, name), least, kMostJobRanks);
}

}  // namespace

std::span<const JobVariableRow> job_variable_table() { return kVariables; }

const JobVariableRow* find_job_variable(std::string_view name) {
  const auto* row = std::find_if(std::begin(kVariables), std::end(kVariables),
                                 [&](const JobVariableRow& each) { return name == each.name; });
  return row == std::end(kVariables) ? nullptr : row;
}

JobVariables allowed_variables(const JobVariables& all) {
  JobVariables out;
  for (const auto& [name, value] : all) {
    const JobVariableRow* row = find_job_variable(name);
    if (row != nullptr && is_value(*row, value)) out.emplace(name, value);
  }
  return out;
}

JobVariables allowed_variables(std::string_view environment) {
  JobVariables out;
  while (!environment.empty()) {
    const size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(std::min(end + 1, environment.size()));
    const size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    const JobVariableRow* row = find_job_variable(entry.substr(0, equals));
    const std::string_view value = entry.substr(equals + 1);
    // The first of two is what a program reads.
    if (row != nullptr && is_value(*row, value)) out.emplace(row->name, std::string(value));
  }
  return out;
}

JobVariables public_variables(const JobVariables& all) {
  JobVariables out = allowed_variables(all);
  std::erase_if(out, [](const auto& each) { return find_job_variable(each.first)->is_private; });
  return out;
}

std::optional<JobPlace> place_of(const JobVariables& variables) {
  for (const PlaceRow& row : kPlaces) {
    const std::optional<int> rank = number_of(variables, row.rank, 0);
    if (!rank) continue;
    return JobPlace{*rank,
                    number_of(variables, row.size, 1),
                    number_of(variables, row.local_rank, 0),
                    number_of(variables, row.local_size, 1),
                    row.rank,
                    row.size};
  }
  return std::nullopt;
}

bool is_given_by_launcher(std::string_view identity) {
  const std::string_view name = identity.substr(0, identity.find('='));
  return is_in(kLaunchersWords, name) || name == "TORCHELASTIC_RUN_ID" || name == "SLURM";
}

bool is_one_launch(std::string_view identity, std::string_view other) {
  constexpr int kJobBits = 16;  // opal/mca/pmix of Open MPI 4: family << 16 | job
  const auto value = [](std::string_view text) { return text.substr(text.find('=') + 1); };
  const std::string_view a = value(identity), b = value(other);
  const auto first = parse_whole<uint32_t>(a), second = parse_whole<uint32_t>(b);
  if (first && second) return *first >> kJobBits != 0 && *first >> kJobBits == *second >> kJobBits;
  const auto launch = [](std::string_view text) { return text.substr(0, text.rfind('@')); };
  return a.starts_with("prterun") && launch(a) == launch(b);
}

std::vector<std::string> identities_of(const JobVariables& variables) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out.push_back(name + "=" + value);
  };
  for (const char* name : kLaunchersWords) add(name, variable(variables, name));
  for (const char* name : {"MLX_JACCL_COORDINATOR", "JACCL_COORDINATOR"}) {
    add(name, variable(variables, name));
  }
  const std::string run = variable(variables, "TORCHELASTIC_RUN_ID");
  // torchrun's word for "no id was given".
  if (run != "none") add("TORCHELASTIC_RUN_ID", run);
  const std::string step = variable(variables, "SLURM_STEP_ID");
  const std::string job = variable(variables, "SLURM_JOB_ID");
  if (!step.empty() && !job.empty()) add("SLURM", job + "." + step);
  // Ranks that look for rank 0 in another place are of the job too: that is what is wrong with it.
  add("MASTER_PORT", variable(variables, "MASTER_PORT"));
  return out;
}

}  // namespace plumbline
