// The table of stacks, and what goes wrong with all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/usual.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"
#include "probes/stacks/stack.h"

namespace plumbline {
namespace {

// Variables of PyTorch's rendezvous, env://.
const std::vector<StackVariable> kTorch = {
    {"MASTER_ADDR", "where every rank looks for rank 0"},
    {"MASTER_PORT", "the port of the rendezvous; 29500 with torchrun"},
    {"WORLD_SIZE", "number of ranks"},
    {"RANK", "this rank's number"},
};

std::vector<StackVariable> with_torch(std::vector<StackVariable> own) {
  own.insert(own.end(), kTorch.begin(), kTorch.end());
  return own;
}

constexpr const char* kTorchVersion = "import importlib.metadata as m; print(m.version('torch'))";

}  // namespace

const std::vector<StackRow>& stack_table() {
  static const std::vector<StackRow> kTable = {
      {"mccl",
       "MCCL over TCP: a window of ports, PyTorch's rendezvous",
       "MCCL 0.5.0 (commit 43ce557): endpoint detection, connection setup, configuration",
       "0.5.0",
       "MCCL_LISTEN_ADDR",
       "MCCL_PORT_BASE",
       with_torch({{"MCCL_LISTEN_ADDR", "address that is bound and told to peers"},
                   {"MCCL_PORT_BASE", "rank r listens on this + r; 20100"},
                   {"MCCL_IFNAME", "switches the search for Thunderbolt off; selects nothing"},
                   {"MCCL_TRANSPORT", "auto, tcp or rdma"},
                   {"MCCL_CHUNK_BYTES", "size of frames; must be the same on all ranks"},
                   {"MCCL_RING_ALGO", "the ring's variant; must be the same on all ranks"},
                   {"MCCL_COMPRESSION", "must be the same on all ranks"}}),
       {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "MCCL_PORT_BASE", "MCCL_TRANSPORT",
        "MCCL_CHUNK_BYTES", "MCCL_RING_ALGO", "MCCL_COMPRESSION"},
       {"WORLD_SIZE"},
       {"python3", "-c", "import importlib.metadata as m; print(m.version('mccl'))"},
       plan_mccl},
      {"mlx-jaccl",
       "MLX over RDMA: a device matrix, and a coordinator on rank 0",
       "MLX commit 846d176: mlx/distributed/jaccl, mlx/_distributed_utils/launch.py",
       "",
       "",
       "",
       {{"MLX_JACCL_COORDINATOR", "ADDRESS:PORT where rank 0 waits; JACCL_COORDINATOR wins"},
        {"MLX_IBV_DEVICES", "file with the device matrix; JACCL_IBV_DEVICES wins"},
        {"MLX_JACCL_RING", "a ring instead of a mesh"},
        {"MLX_RANK", "this rank's number; JACCL_RANK wins"},
        {"JACCL_COORDINATOR", "as MLX_JACCL_COORDINATOR"},
        {"JACCL_IBV_DEVICES", "as MLX_IBV_DEVICES"},
        {"JACCL_RING", "as MLX_JACCL_RING"},
        {"JACCL_RANK", "as MLX_RANK"},
        {"MLX_METAL_FAST_SYNCH", "how GPU and CPU wait for each other"}},
       {"MLX_JACCL_COORDINATOR", "JACCL_COORDINATOR", "MLX_JACCL_RING", "JACCL_RING",
        "MLX_METAL_FAST_SYNCH"},
       {},
       {"python3", "-c", "import importlib.metadata as m; print(m.version('mlx'))"},
       plan_mlx_jaccl},
      {"mlx-ring",
       "MLX over TCP: every rank waits where its ring file says",
       "MLX commit 02fb1ba: mlx/distributed/ring/ring.cpp, mlx/_distributed_utils/launch.py",
       "",
       "",
       "",
       {{"MLX_HOSTFILE", "file with the addresses and ports of all ranks"},
        {"MLX_RANK", "this rank's number"},
        {"MLX_RING_VERBOSE", "says what it connects"},
        {"MLX_METAL_FAST_SYNCH", "how GPU and CPU wait for each other"}},
       {"MLX_METAL_FAST_SYNCH"},
       {},
       {"python3", "-c", "import importlib.metadata as m; print(m.version('mlx'))"},
       plan_mlx_ring},
      {"mpich",
       "MPICH with ch4:ucx over TCP, started by hydra",
       "MPICH 4.0.2 as Debian builds it, UCX 1.13.1: ucx_info -f, src/uct/tcp/tcp_iface.c",
       "4.0.2",
       "UCX_NET_DEVICES",
       "UCX_TCP_PORT_RANGE",
       {{"UCX_NET_DEVICES", "interfaces to use, by name; all"},
        {"UCX_TCP_PORT_RANGE", "ports for the listeners, A-B; any"},
        {"UCX_TLS", "kinds of transports"},
        {"UCX_TCP_PREFER_DEFAULT", "prefers the interface of the default route"},
        {"MPIEXEC_PORT_RANGE", "ports for mpiexec, A:B; any"},
        {"MPICH_PORT_RANGE", "ports for mpiexec, A:B; any"},
        {"HYDRA_IFACE", "interface whose address mpiexec tells its proxies"}},
       {"UCX_TLS"},
       {},
       {"mpiexec.hydra", "--version"},
       plan_mpich},
      {"nccl",
       "NCCL over sockets, PyTorch's rendezvous or NCCL_COMM_ID",
       "NCCL commits 081eafa and 037e907 (2026): src/misc/socket.cc, src/os/linux.cc, "
       "src/bootstrap.cc",
       "",
       "NCCL_SOCKET_IFNAME",
       "MASTER_PORT",
       with_torch({{"NCCL_SOCKET_IFNAME",
                    "interfaces by the beginning of their names; ^ excludes, = takes whole names"},
                   {"NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6; the first that is found"},
                   {"NCCL_COMM_ID", "ADDRESS:PORT of rank 0, instead of the program's way"},
                   {"NCCL_IB_DISABLE", "1: sockets also where there is RDMA"},
                   {"NCCL_NET", "name of the network plugin"}}),
       {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NCCL_COMM_ID", "NCCL_SOCKET_FAMILY",
        "NCCL_IB_DISABLE", "NCCL_NET"},
       {"WORLD_SIZE"},
       {"python3", "-c",
        "import importlib.metadata as m; print(next(d.version for d in "
        "m.distributions() if d.metadata['Name'].startswith('nvidia-nccl')))"},
       plan_nccl},
      {"openmpi",
       "Open MPI: ob1 over TCP (or UCX), started by mpirun",
       "Open MPI 4.1.4: ompi_info --all, opal/mca/btl/tcp/btl_tcp_component.c",
       "4.1.4",
       "OMPI_MCA_btl_tcp_if_include",
       "OMPI_MCA_btl_tcp_port_min_v4",
       {{"OMPI_MCA_btl_tcp_if_include", "interfaces or networks for messages; all but loopback"},
        {"OMPI_MCA_btl_tcp_if_exclude", "interfaces or networks to leave out"},
        {"OMPI_MCA_btl_tcp_port_min_v4", "the first port that is tried; 1024"},
        {"OMPI_MCA_btl_tcp_port_range_v4", "how many ports from there on; 64511"},
        {"OMPI_MCA_oob_tcp_if_include", "interfaces or networks for mpirun and its daemons; all"},
        {"OMPI_MCA_oob_tcp_dynamic_ipv4_ports", "ports for mpirun and its daemons, A-B; any"},
        {"OMPI_MCA_oob_tcp_static_ipv4_ports", "one port for mpirun and each of its daemons"},
        {"OMPI_MCA_pml", "ob1, or ucx"},
        {"OMPI_MCA_btl", "transports of ob1"},
        {"UCX_NET_DEVICES", "with pml ucx: interfaces to use, by name"},
        {"UCX_TCP_PORT_RANGE", "with pml ucx: ports for the listeners"}},
       {"OMPI_MCA_pml", "OMPI_MCA_btl"},
       {},
       {"ompi_info", "--version"},
       plan_openmpi},
      {"torch-gloo",
       "PyTorch with the backend gloo",
       "PyTorch commits c194358 and 0542569: ProcessGroupGloo.cpp, GlooDeviceFactory.cpp; gloo "
       "commit 01309c7: gloo/transport/tcp/device.cc",
       "",
       "GLOO_SOCKET_IFNAME",
       "MASTER_PORT",
       with_torch({{"GLOO_SOCKET_IFNAME", "interface by its name; several by commas"},
                   {"GLOO_DEVICE_TRANSPORT", "TCP, TCP_TLS or UV"}}),
       {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "GLOO_DEVICE_TRANSPORT"},
       {"WORLD_SIZE"},
       {"python3", "-c", kTorchVersion},
       plan_torch_gloo},
  };
  return kTable;
}

const StackRow* find_stack(const std::string& name) {
  return find_where(stack_table(), [&](const StackRow& row) { return name == row.name; });
}

namespace {

std::string said(const std::string& value) { return value.empty() ? "not set" : "'" + value + "'"; }

// Ranks that differ where all must be alike.
void find_drift(const StackRow& row, const StackQuestion& question, StackPlan& plan) {
  for (const std::string& name : row.same) {
    std::vector<std::string> values;
    for (size_t i = 0; i < plan.ranks.size(); ++i) {
      values.push_back(PlannedRank(question, plan, i).variable(name));
    }
    const std::string usual = usual_of(values);
    std::set<std::string> told;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == usual || !told.insert(plan.ranks[i].host).second) continue;
      PlannedRank(question, plan, i)
          .trap("config.mismatch", "fail",
                fmt::format("{} is {} for rank {}, {} for the others", name, said(values[i]), i,
                            said(usual)),
                usual.empty() ? fmt::format("take {} out of the environment of rank {}", name, i)
                              : fmt::format("set {}={} for all ranks", name, usual));
    }
  }
}

void find_wrong_size(const StackRow& row, const StackQuestion& question, StackPlan& plan) {
  const std::string wanted = std::to_string(plan.ranks.size());
  for (const std::string& name : row.size) {
    std::set<std::string> told;
    for (size_t i = 0; i < plan.ranks.size(); ++i) {
      PlannedRank rank(question, plan, i);
      const std::string value = rank.variable(name);
      if (value.empty() || value == wanted || plan.ranks.size() < 2) continue;
      if (!told.insert(rank.rank().host).second) continue;
      const bool alone = value == "1";
      rank.trap(alone ? "stack.one_rank" : "config.mismatch", "fail",
                alone ? fmt::format("{}=1: rank {} would be a world of its own, and its "
                                    "collectives do nothing",
                                    name, i)
                      : fmt::format("{}={} for {} ranks: they wait for ranks that nobody starts, "
                                    "or turn some away",
                                    name, value, wanted),
                fmt::format("set {}={}", name, wanted));
    }
  }
}

// An address that is told to peers and that they have themselves: they would call themselves.
void find_shared_addresses(const StackQuestion& question, StackPlan& plan) {
  std::set<std::pair<std::string, std::string>> told;
  std::vector<StackTrap> found;
  for (const StackRank& rank : plan.ranks) {
    std::vector<std::string> given = rank.also;
    if (!rank.ip.empty()) given.push_back(rank.interface + " " + rank.ip);
    for (const std::string& entry : given) {
      const std::string ip = entry.substr(entry.rfind(' ') + 1);
      if (!parse_ip(ip) || is_loopback_ip(ip)) continue;
      for (const std::string& name : question.hosts) {
        const HostEvidence* peer = find_host(*question.evidence, name);
        if (peer == nullptr || name == rank.host || !carrier_on(*peer, ip)) continue;
        if (share_machine(*question.evidence, name, rank.host) &&
            find_job_host(*question.evidence, name)->data ==
                find_job_host(*question.evidence, rank.host)->data) {
          continue;  // two entries of one host
        }
        if (!told.insert({rank.host, ip}).second) continue;
        const HostEvidence* own = find_host(*question.evidence, rank.host);
        found.push_back({"stack.interface",
                         "fail",
                         rank.host,
                         name,
                         {},
                         fmt::format("{} gives its peers {}, an address that {} has itself: it "
                                     "would call itself there",
                                     rank.host, entry, name),
                         set_interface(plan, *own)});
      }
    }
  }
  plan.traps.insert(plan.traps.end(), found.begin(), found.end());
}

// Does a rank of another host call this one at its loopback address?
bool is_called(const StackPlan& plan, const StackRank& rank) {
  if (!plan.higher_calls) return true;
  const auto own = parse_ip(rank.ip);
  return any_of(plan.ranks, [&](const StackRank& peer) {
    const auto other = parse_ip(peer.ip);
    return peer.host != rank.host && other && (other->loopback() || *other > *own);
  });
}

// Loopback as what peers on other machines are told.
void find_loopback(const StackQuestion& question, StackPlan& plan) {
  const std::set<std::string> hosts(question.hosts.begin(), question.hosts.end());
  if (hosts.size() < 2 || all_of(question.evidence->job.hosts, only_loopback)) return;
  std::set<std::string> told;
  std::vector<StackTrap> found;
  for (const StackRank& rank : plan.ranks) {
    if (!is_loopback_ip(rank.ip) || !told.insert(rank.host).second) continue;
    const HostEvidence* own = find_host(*question.evidence, rank.host);
    if (own == nullptr) continue;
    const bool called = is_called(plan, rank);
    found.push_back(
        {plan.own_name ? "name.loopback" : "stack.interface",
         called ? "fail" : "warn",
         rank.host,
         {},
         {},
         fmt::format("the ranks on {} would give their peers {}, which is loopback: {}{}",
                     rank.host, rank.ip, rank.reason,
                     called ? "" : "; it works only because they have the higher address and call"),
         set_interface(plan, *own)});
  }
  plan.traps.insert(plan.traps.end(), found.begin(), found.end());
}

// Set where the job is started, and nowhere else.
void find_left_behind(const StackRow& row, const StackQuestion& question, StackPlan& plan) {
  const bool far = any_of(question.evidence->job.hosts,
                          [](const JobHost& host) { return host.reached_by != "local"; });
  if (!far) return;
  for (const StackVariable& variable : row.variables) {
    const auto here = question.shell.find(variable.name);
    if (here == question.shell.end()) continue;
    const bool given = any_of(question.environment, [&](const StackEnvironment& environment) {
      return environment.count(variable.name) != 0;
    });
    if (given) continue;
    plan.remarks.push_back(fmt::format(
        "{} is set in this shell, and was left out: ssh and most launchers do not carry it (mpirun "
        "-x, --export of srun); say --env {}={} where the job gets it",
        variable.name, variable.name, here->second));
  }
}

}  // namespace

StackPlan make_stack_plan(const StackRow& row, const StackQuestion& question) {
  StackPlan plan;
  plan.stack = row.name;
  plan.read_from = row.read_from;
  plan.interface_variable = row.interface_variable;
  plan.port_variable = row.port_variable;
  plan.variables = row.variables;
  for (const JobHost& host : question.evidence->job.hosts) plan.meant[host.name] = host.data;
  for (size_t i = 0; i < question.hosts.size(); ++i) {
    StackRank rank;
    rank.rank = static_cast<int>(i);
    rank.host = question.hosts[i];
    for (const StackVariable& variable : row.variables) {
      const auto found = question.environment[i].find(variable.name);
      if (found != question.environment[i].end()) rank.environment.insert(*found);
    }
    plan.ranks.push_back(std::move(rank));
  }
  row.plan(question, plan);
  find_drift(row, question, plan);
  find_wrong_size(row, question, plan);
  find_loopback(question, plan);
  find_shared_addresses(question, plan);
  find_left_behind(row, question, plan);
  return plan;
}

void note_versions(const StackRow& row, StackPlan& plan) {
  const std::string modelled = row.version;
  for (const auto& [host, version] : plan.installed) {
    if (modelled.empty() || version == modelled) continue;
    plan.remarks.push_back(fmt::format("{} has version {}; the model is of {}, and may differ",
                                       host, version, modelled));
  }
}

std::string version_in(const std::string& text) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (!digit(text[i]) || (i > 0 && (digit(text[i - 1]) || text[i - 1] == '.'))) continue;
    size_t end = i;
    bool dotted = false;
    while (end < text.size() && (digit(text[end]) || (text[end] == '.' && end + 1 < text.size() &&
                                                      digit(text[end + 1])))) {
      dotted = dotted || text[end] == '.';
      ++end;
    }
    if (dotted) return text.substr(i, end - i);
  }
  return {};
}

}  // namespace plumbline
