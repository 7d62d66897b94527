#include "launch/launcher_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the launchers really set, recorded on Debian 12 (Open MPI 4.1.4, MPICH 4.0.2,
// Slurm 22.05.8); variables that say nothing of ranks are left out.
Variables open_mpi(int rank, int size, int local_size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank % local_size)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
          {"OMPI_COMM_WORLD_NODE_RANK", std::to_string(rank % local_size)},
          {"OMPI_MCA_ess_base_jobid", "1680474113"},
          {"OMPI_MCA_orte_hnp_uri",
           "1680474112.0;tcp://192.0.2.2,172.17.0.1:51313;tcp6://[fd00::2]:39189"},
          {"PMIX_NAMESPACE", "1680474113"},
          {"PMIX_RANK", std::to_string(rank)},
          {"PMIX_HOSTNAME", "vm"}};
}

Variables hydra(int rank, int size) {
  return {{"PMI_RANK", std::to_string(rank)},
          {"PMI_SIZE", std::to_string(size)},
          {"PMI_FD", "8"},
          {"MPI_LOCALRANKID", std::to_string(rank)},
          {"MPI_LOCALNRANKS", std::to_string(size)},
          {"HYDI_CONTROL_FD", "7"}};
}

Variables slurm_step(int rank, int size, int nodes) {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_NTASKS", std::to_string(size)},
          {"SLURM_STEP_NUM_TASKS", std::to_string(size)},
          {"SLURM_STEP_NUM_NODES", std::to_string(nodes)},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", "0"},
          {"SLURMD_NODENAME", "fq1"},
          {"SLURM_STEP_NODELIST", "fq[1-2]"},
          {"SLURM_JOB_NODELIST", "fq[1-2]"}};
}

Variables torchrun(int rank, int size, int local_size) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank % local_size)},
          {"LOCAL_WORLD_SIZE", std::to_string(local_size)},
          {"GROUP_RANK", "0"},
          {"MASTER_ADDR", "node1"},
          {"MASTER_PORT", "29501"},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
}

Variables both(Variables a, const Variables& b) {
  a.insert(b.begin(), b.end());
  return a;
}

LauncherPlace found(const Variables& variables, const std::string& wanted = "auto") {
  const auto place = find_launcher(variables, wanted);
  EXPECT_TRUE(place) << place.error().message();
  EXPECT_TRUE(place && *place);
  return place && *place ? **place : LauncherPlace{};
}

std::string problem(const Variables& variables, const std::string& wanted = "auto") {
  const auto place = find_launcher(variables, wanted);
  EXPECT_FALSE(place) << "found " << (*place ? (*place)->launcher : "nothing");
  if (place) return {};
  EXPECT_EQ(place.error().code, ErrorCode::kUsage);
  return place.error().message();
}

TEST(LauncherEnv, NoVariablesAreNoLaunch) {
  const auto place = find_launcher({{"HOME", "/root"}});
  ASSERT_TRUE(place);
  EXPECT_FALSE(*place);
}

TEST(LauncherEnv, OpenMpi) {
  const LauncherPlace place = found(open_mpi(3, 4, 2));
  EXPECT_EQ(place.launcher, "openmpi");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.node, "vm");
  EXPECT_THAT(place.job, HasSubstr("1680474113"));
  EXPECT_THAT(place.masters, ElementsAre("192.0.2.2", "172.17.0.1"));
}

TEST(LauncherEnv, HydraTellsNothingOfOtherNodes) {
  const LauncherPlace place = found(hydra(1, 2));
  EXPECT_EQ(place.launcher, "mpich");
  EXPECT_EQ(place.local_size, 2);
  EXPECT_TRUE(place.masters.empty());
}

TEST(LauncherEnv, SlurmStep) {
  const LauncherPlace place = found(slurm_step(1, 4, 2));
  EXPECT_EQ(place.launcher, "slurm");
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.local_size, -1);
  EXPECT_EQ(place.node, "fq1");
  EXPECT_THAT(place.masters, ElementsAre("fq1"));
  EXPECT_EQ(found(slurm_step(1, 4, 1)).local_size, 4);
}

TEST(LauncherEnv, AllocationWithoutAStepIsNoLaunch) {
  // The shell of a plain salloc has no step; an interactive step and a batch script have numbers
  // that srun never gives, and SLURM_PROCID=0.
  Variables variables = slurm_step(0, 4, 2);
  variables.erase("SLURM_STEP_ID");
  EXPECT_FALSE(find_launcher(variables).value());
  for (const char* step : {"4294967290", "4294967291", "", "x"}) {
    variables["SLURM_STEP_ID"] = step;
    EXPECT_FALSE(find_launcher(variables).value()) << step;
  }
}

TEST(LauncherEnv, Torchrun) {
  const LauncherPlace place = found(torchrun(5, 8, 4));
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.local_rank, 1);
}

TEST(LauncherEnv, OwnVariables) {
  const LauncherPlace place = found({{"PLUMBLINE_RANK", "1"}, {"PLUMBLINE_WORLD_SIZE", "2"}});
  EXPECT_EQ(place.launcher, "plumbline");
  EXPECT_EQ(place.local_size, -1);
}

TEST(LauncherEnv, LaunchersInsideASlurmStepAreTheInnerOnes) {
  // mpirun starts its daemons with srun: one task per node, whose variables the ranks inherit.
  EXPECT_EQ(found(both(open_mpi(3, 4, 2), slurm_step(1, 2, 2))).launcher, "openmpi");
  EXPECT_EQ(found(both(hydra(3, 4), slurm_step(1, 2, 2))).rank, 3);
  EXPECT_EQ(found(both(torchrun(3, 4, 2), slurm_step(1, 2, 2))).rank, 3);
  // srun --mpi=pmi2: the same world told twice.
  const LauncherPlace place =
      found(both({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"PMI_FD", "8"}}, slurm_step(1, 4, 2)));
  EXPECT_EQ(place.launcher, "slurm");
}

TEST(LauncherEnv, ContradictionsNameBothVariables) {
  // Somebody exported these in a notebook long ago: each rank would be a world of its own.
  const Variables stale = {{"RANK", "0"}, {"WORLD_SIZE", "1"}};
  const std::string text = problem(both(open_mpi(0, 4, 4), stale));
  EXPECT_THAT(text, HasSubstr("OMPI_COMM_WORLD_SIZE=4"));
  EXPECT_THAT(text, HasSubstr("WORLD_SIZE=1"));
  EXPECT_THAT(problem(both(slurm_step(2, 4, 2), stale)), HasSubstr("SLURM_STEP_NUM_TASKS=4"));
  EXPECT_THAT(problem(both(open_mpi(1, 4, 4), {{"RANK", "2"}, {"WORLD_SIZE", "4"}})),
              HasSubstr("RANK=2"));
  EXPECT_EQ(found(both(open_mpi(1, 4, 4), stale), "openmpi").rank, 1);
  EXPECT_FALSE(find_launcher(both(open_mpi(1, 4, 4), stale), "none").value());
  // The same said twice is no contradiction.
  EXPECT_EQ(found(both(open_mpi(1, 4, 4), {{"RANK", "1"}, {"WORLD_SIZE", "4"}})).rank, 1);
}

TEST(LauncherEnv, HostileValuesAreNamed) {
  for (const char* value :
       {"-1", "4", "99999999999999999999", "1x", " 1", "0x1", "1.0", "\x1b[2J"}) {
    Variables variables = open_mpi(0, 4, 4);
    variables["OMPI_COMM_WORLD_RANK"] = value;
    const std::string text = problem(variables);
    EXPECT_THAT(text, HasSubstr("OMPI_COMM_WORLD_RANK=")) << value;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  for (const char* value : {"0", "-4", "1000001", "four"}) {
    Variables variables = open_mpi(0, 4, 4);
    variables["OMPI_COMM_WORLD_SIZE"] = value;
    EXPECT_THAT(problem(variables), HasSubstr("OMPI_COMM_WORLD_SIZE=")) << value;
  }
  EXPECT_THAT(problem({{"PMI_RANK", "1"}}), HasSubstr("PMI_SIZE"));
  EXPECT_THAT(problem({{"PMI_SIZE", "1"}, {"PMI_RANK", ""}}), HasSubstr("PMI_RANK"));
  Variables local = open_mpi(3, 4, 2);
  local["OMPI_COMM_WORLD_LOCAL_RANK"] = "2";
  EXPECT_THAT(problem(local), HasSubstr("OMPI_COMM_WORLD_LOCAL_RANK=2"));
  local = open_mpi(3, 4, 2);
  local["OMPI_COMM_WORLD_LOCAL_SIZE"] = "5";
  EXPECT_THAT(problem(local), HasSubstr("OMPI_COMM_WORLD_LOCAL_SIZE=5"));
  EXPECT_THAT(problem({}, "slurm"), HasSubstr("--launcher slurm"));
}

TEST(LauncherEnv, HalfOfTorchrunsCommonWords) {
  // RANK alone may be anything; beside MASTER_ADDR it is a launch that lost its other half.
  EXPECT_FALSE(find_launcher({{"RANK", "captain"}}).value());
  EXPECT_FALSE(find_launcher({{"WORLD_SIZE", "40075 km"}}).value());
  EXPECT_THAT(problem({{"RANK", "0"}, {"MASTER_ADDR", "a"}}), HasSubstr("WORLD_SIZE"));
}

TEST(LauncherEnv, FirstOfHostList) {
  EXPECT_EQ(first_of_host_list("fq[1-2,5]"), "fq1");
  EXPECT_EQ(first_of_host_list("a-[003-010]-x,b"), "a-003-x");
  EXPECT_EQ(first_of_host_list("rack[2,4]node[7-9]"), "rack2node7");
  EXPECT_EQ(first_of_host_list("one,two"), "one");
  EXPECT_EQ(first_of_host_list("one"), "one");
  EXPECT_EQ(first_of_host_list(""), "");
  EXPECT_EQ(first_of_host_list("broken[1-"), "");
}

TEST(LauncherEnv, MasterInTheDocumentedOrder) {
  const auto from = [](const LauncherPlace& place, const std::string& flag,
                       const Variables& variables) {
    const auto master = choose_master(place, flag, variables);
    return master ? master->hosts.front() + " " + master->from : master.error().message();
  };
  Variables all = {{"PLUMBLINE_MASTER_ADDR", "b"}, {"MASTER_ADDR", "c"}};
  const LauncherPlace place = found(slurm_step(0, 4, 2));
  EXPECT_EQ(from(place, "a", all), "a --master");
  EXPECT_EQ(from(place, "", all), "b PLUMBLINE_MASTER_ADDR");
  all.erase("PLUMBLINE_MASTER_ADDR");
  EXPECT_EQ(from(place, "", all), "c MASTER_ADDR");
  EXPECT_EQ(from(place, "", {}), "fq1 SLURM_STEP_NODELIST");
  EXPECT_EQ(from(found(hydra(0, 4)), "", {}), "127.0.0.1 all ranks are on this node");
  Variables spread = hydra(0, 4);
  spread["MPI_LOCALNRANKS"] = "2";
  EXPECT_THAT(from(found(spread), "", {}), HasSubstr("--master"));
}

TEST(LauncherEnv, RendezvousPort) {
  const OptionSet defaults;
  EXPECT_EQ(rendezvous_port(defaults, {}).value(), 29500);
  EXPECT_EQ(rendezvous_port(defaults, {{"MASTER_PORT", "4000"}}).value(), 4000);
  const OptionSet own = defaults.with("master_port", "5000", "flag").value();
  EXPECT_EQ(rendezvous_port(own, {{"MASTER_PORT", "4000"}}).value(), 5000);
  // torchrun's store listens at MASTER_PORT itself.
  EXPECT_EQ(rendezvous_port(defaults, torchrun(0, 2, 2)).value(), 29502);
  for (const char* value : {"0", "65536", "http", "-1"}) {
    const auto port = rendezvous_port(defaults, {{"MASTER_PORT", value}});
    ASSERT_FALSE(port) << value;
    EXPECT_THAT(port.error().message(), HasSubstr("MASTER_PORT="));
  }
}

}  // namespace
}  // namespace plumbline
