// The models one by one: each choice against what the library's source does.
#include <gmock/gmock.h>

#include "stack_builder.h"

namespace plumbline {
namespace {

using test::add_docker;
using test::ask_stack;
using test::plan_stack;
using test::trap_words;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const StackListener* listener_with(const StackRank& rank, const std::string& purpose) {
  for (const StackListener& listener : rank.listeners) {
    if (listener.purpose.find(purpose) != std::string::npos) return &listener;
  }
  return nullptr;
}

void set_own_name(EvidenceSet& set, const std::string& host, const std::string& ip) {
  test::host(set, host).names = {{host, "own", "", {ip}, {}, "", test::kMilli}};
}

// ---- torch-gloo ----

TEST(TorchGloo, TakesWhatTheOwnNameGives) {
  EvidenceSet set = test::healthy_star(2);
  set_own_name(set, "mini1", "192.168.7.1");
  const StackPlan plan = plan_stack("torch-gloo", ask_stack(set));
  EXPECT_TRUE(plan.own_name);
  EXPECT_EQ(plan.ranks[0].interface, "eth0");
  EXPECT_EQ(plan.ranks[0].ip, "192.168.7.1");
  EXPECT_EQ(plan.ranks[1].ip, "10.10.0.2");
}

TEST(TorchGloo, TheVariableNamesWholeInterfaces) {
  const EvidenceSet set = test::healthy_star(2);
  const StackPlan plan = plan_stack("torch-gloo", ask_stack(set, {{"GLOO_SOCKET_IFNAME", "eth0"}}));
  EXPECT_EQ(plan.ranks[1].ip, "192.168.7.2");
  const StackPlan prefix =
      plan_stack("torch-gloo", ask_stack(set, {{"GLOO_SOCKET_IFNAME", "eth"}}));
  EXPECT_THAT(trap_words(prefix), Contains("stack.interface fail mini1"));
  EXPECT_THAT(prefix.traps.at(0).remedy, HasSubstr("GLOO_SOCKET_IFNAME=eth1"));
}

TEST(TorchGloo, OfTwoRanksTheHigherAddressCalls) {
  const EvidenceSet set = test::healthy_star(3);
  const StackPlan plan = plan_stack("torch-gloo", ask_stack(set));
  EXPECT_THAT(*listener_with(plan.ranks[0], "gloo")->callers, ElementsAre("mini2", "mini3"));
  EXPECT_THAT(*listener_with(plan.ranks[1], "gloo")->callers, ElementsAre("mini3"));
  EXPECT_THAT(*listener_with(plan.ranks[2], "gloo")->callers, IsEmpty());
}

// Seen in the lab: with 10.x peers the loopback end has the higher address, and calls.
TEST(TorchGloo, LoopbackFailsOnlyWhereItIsCalled) {
  EvidenceSet low = test::healthy_star(2);
  set_own_name(low, "mini2", "127.0.1.1");
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(low))),
              ElementsAre("name.loopback warn mini2"));
  set_own_name(low, "mini1", "127.0.1.1");
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(low))),
              ElementsAre("name.loopback fail mini1", "name.loopback fail mini2"));
  EvidenceSet high = test::ClusterBuilder()
                         .data("a", "eth0", "192.168.7.1/24")
                         .data("b", "eth0", "192.168.7.2/24")
                         .build();
  set_own_name(high, "b", "127.0.1.1");
  const StackPlan plan = plan_stack("torch-gloo", ask_stack(high));
  EXPECT_THAT(trap_words(plan), ElementsAre("name.loopback fail b"));
  EXPECT_THAT(plan.traps[0].remedy, HasSubstr("GLOO_SOCKET_IFNAME=eth0"));
}

TEST(TorchGloo, FallsBackToLoopbackWhereTheNameIsOfNoUse) {
  EvidenceSet set = test::healthy_star(2);
  set_own_name(set, "mini1", "10.99.99.99");
  const StackPlan plan = plan_stack("torch-gloo", ask_stack(set));
  EXPECT_EQ(plan.ranks[0].ip, "127.0.0.1");
  EXPECT_THAT(plan.ranks[0].reason, HasSubstr("10.99.99.99, not of this host"));
}

TEST(TorchStore, RankZeroWaitsOnTheMastersPort) {
  const EvidenceSet set = test::healthy_star(2);
  const StackPlan plan = plan_stack(
      "torch-gloo", ask_stack(set, {{"MASTER_ADDR", "10.10.0.1"}, {"MASTER_PORT", "23456"}}));
  EXPECT_EQ(plan.rendezvous_host, "mini1");
  EXPECT_EQ(plan.rendezvous_port, 23456);
  EXPECT_EQ(listener_with(plan.ranks[0], "TCPStore")->first, 23456);
  EXPECT_EQ(listener_with(plan.ranks[1], "TCPStore"), nullptr);
}

TEST(TorchStore, AMasterOnAnotherHostIsWrong) {
  const EvidenceSet set = test::healthy_star(2);
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, {{"MASTER_ADDR", "10.10.0.2"}}))),
              Contains("name.wrong_address fail mini1"));
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, {{"MASTER_ADDR", "127.0.0.1"}}))),
              Contains("name.loopback fail mini2"));
}

TEST(TorchStore, TheMastersNameIsLookedUpOnEveryHost) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].names.push_back({"head", "peer", "head", {"127.0.1.1"}, {}, "", 1});
  set.hosts[1].names.push_back({"head", "peer", "head", {"10.10.0.1"}, {}, "", 1});
  const StackEnvironment environment = {{"MASTER_ADDR", "head"}};
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, environment))), IsEmpty());
  set.hosts[1].names.back().v4 = {"127.0.1.1"};
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, environment))),
              Contains("name.loopback fail mini2"));
  set.hosts[1].names.back().v4 = {"10.10.0.77"};
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, environment))),
              Contains("name.wrong_address fail mini2"));
  set.hosts[1].names.back().v4.clear();
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, environment))),
              Contains("name.unresolved fail mini2"));
}

// ---- nccl ----

TEST(Nccl, TakesTheFirstInterfaceThatIsNotDockerLoOrVirbr) {
  EvidenceSet set = test::healthy_star(2);
  add_docker(set, 0);
  const StackPlan plan = plan_stack("nccl", ask_stack(set));
  EXPECT_EQ(plan.ranks[0].interface, "eth0");
  EXPECT_THAT(plan.ranks[0].also, ElementsAre("eth1 10.10.0.1"));
  EXPECT_THAT(trap_words(plan), IsEmpty());
}

TEST(Nccl, NamesAreBeginningsExclusionsOrWhole) {
  EvidenceSet set = test::healthy_star(2);
  const auto first = [&](const std::string& value) {
    return plan_stack("nccl", ask_stack(set, {{"NCCL_SOCKET_IFNAME", value}})).ranks[0].interface;
  };
  EXPECT_EQ(first("eth1"), "eth1");
  EXPECT_EQ(first("eth"), "eth0");
  EXPECT_EQ(first("=eth"), "");
  EXPECT_EQ(first("=eth1"), "eth1");
  EXPECT_EQ(first("^eth0,lo"), "eth1");
  EXPECT_EQ(first("^=eth0,lo"), "eth1");
}

TEST(Nccl, InterfacesNamedIbGoFirst) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].interfaces.push_back(test::make_nic("ibp1s0", "", {"10.77.0.1/24"}));
  set.hosts[0].interfaces.back().index = 9;
  EXPECT_EQ(plan_stack("nccl", ask_stack(set)).ranks[0].interface, "ibp1s0");
}

TEST(Nccl, DockerIsTakenWhereThereIsNothingElse) {
  EvidenceSet set = test::healthy_star(2);
  add_docker(set);
  for (HostEvidence& host : set.hosts) {
    for (InterfaceEvidence& each : host.interfaces) {
      if (each.name.starts_with("eth")) each.up = false;
    }
  }
  const StackPlan plan = plan_stack("nccl", ask_stack(set));
  EXPECT_EQ(plan.ranks[0].interface, "docker0");
  EXPECT_THAT(trap_words(plan), Contains("stack.interface fail mini1"));
}

TEST(Nccl, TheFamilyIsHeeded) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].interfaces[2].addresses.push_back({"fd00::1", 64, "global", {}});
  EXPECT_EQ(plan_stack("nccl", ask_stack(set, {{"NCCL_SOCKET_FAMILY", "AF_INET6"}})).ranks[0].ip,
            "fd00::1");
}

TEST(Nccl, CommIdIsTheMeetingPlace) {
  const EvidenceSet set = test::healthy_star(2);
  const StackPlan plan = plan_stack("nccl", ask_stack(set, {{"NCCL_COMM_ID", "10.10.0.1:5555"}}));
  EXPECT_EQ(plan.rendezvous_port, 5555);
  EXPECT_EQ(plan.ranks[0].interface, "eth1");
  EXPECT_THAT(trap_words(plan_stack("nccl", ask_stack(set, {{"NCCL_COMM_ID", "head"}}))),
              Contains("config.mismatch fail mini1"));
}

// ---- Open MPI ----

TEST(OpenMpi, RanksWaitOnTheFirstFreePortsFrom1024) {
  EvidenceSet set = test::healthy_star(2);
  SocketEvidence taken;
  taken.protocol = "tcp";
  taken.port = 1025;
  taken.state = "LISTEN";
  set.hosts[0].sockets = {taken};
  StackQuestion asked = ask_stack(set);
  asked.hosts = {"mini1", "mini1", "mini2"};
  asked.environment.resize(3);
  const StackPlan plan = plan_stack("openmpi", asked);
  EXPECT_EQ(listener_with(plan.ranks[0], "btl")->first, 1024);
  EXPECT_EQ(listener_with(plan.ranks[1], "btl")->first, 1026);
  EXPECT_EQ(listener_with(plan.ranks[2], "btl")->first, 1024);
  EXPECT_EQ(listener_with(plan.ranks[0], "oob")->kind, "ephemeral");
  EXPECT_FALSE(listener_with(plan.ranks[0], "oob")->callers);
  EXPECT_THAT(*listener_with(plan.ranks[2], "oob")->callers, IsEmpty());  // nobody calls orted
}

TEST(OpenMpi, TheSameDockerEverywhereIsCalledByItself) {
  EvidenceSet set = test::healthy_star(2);
  add_docker(set);
  const StackPlan plan = plan_stack("openmpi", ask_stack(set));
  EXPECT_THAT(trap_words(plan), Contains("stack.interface fail mini1"));
  EXPECT_THAT(plan.traps[0].remedy, HasSubstr("OMPI_MCA_btl_tcp_if_include=eth1"));
  for (const char* include : {"eth1", "10.10.0.0/24"}) {
    EXPECT_THAT(trap_words(plan_stack("openmpi",
                                      ask_stack(set, {{"OMPI_MCA_btl_tcp_if_include", include}}))),
                IsEmpty());
  }
  EXPECT_THAT(trap_words(plan_stack(
                  "openmpi", ask_stack(set, {{"OMPI_MCA_btl_tcp_if_exclude", "lo,docker"}}))),
              testing::Not(Contains(HasSubstr("fail"))));
}

// Of a machine without containers: up, without a signal. Open MPI asks for no more than up.
TEST(OpenMpi, ADockerWithoutContainersIsTakenJustSo) {
  EvidenceSet set = test::healthy_star(2);
  add_docker(set);
  for (HostEvidence& host : set.hosts) host.interfaces.back().carrier = false;
  EXPECT_THAT(trap_words(plan_stack("openmpi", ask_stack(set))),
              Contains("stack.interface fail mini1"));
  EXPECT_THAT(trap_words(plan_stack("nccl", ask_stack(set))), IsEmpty());
  EXPECT_THAT(trap_words(plan_stack("mpich", ask_stack(set))), IsEmpty());
}

TEST(OpenMpi, PortsAndInterfacesCanBeNamed) {
  const EvidenceSet set = test::healthy_star(2);
  const StackPlan plan = plan_stack(
      "openmpi", ask_stack(set, {{"OMPI_MCA_btl_tcp_port_min_v4", "20000"},
                                 {"OMPI_MCA_oob_tcp_dynamic_ipv4_ports", "21000-21010"}}));
  EXPECT_EQ(listener_with(plan.ranks[0], "btl")->first, 20000);
  EXPECT_EQ(listener_with(plan.ranks[0], "oob")->last, 21010);
  EXPECT_THAT(
      trap_words(plan_stack("openmpi", ask_stack(set, {{"OMPI_MCA_btl_tcp_if_include", "eth9"}}))),
      Contains("stack.interface fail mini2"));
  EXPECT_THAT(
      trap_words(plan_stack("openmpi", ask_stack(set, {{"OMPI_MCA_btl_tcp_if_include", "eth1"},
                                                       {"OMPI_MCA_btl_tcp_if_exclude", "lo"}}))),
      Contains("config.mismatch fail mini1"));
}

// Seen in the lab: the daemon holds the one port that the rank may take.
TEST(OpenMpi, TheDaemonsOwnPortIsNotToBeHad) {
  const EvidenceSet set = test::healthy_star(2);
  StackEnvironment environment = {{"OMPI_MCA_btl_tcp_port_min_v4", "21000"},
                                  {"OMPI_MCA_btl_tcp_port_range_v4", "1"},
                                  {"OMPI_MCA_oob_tcp_static_ipv4_ports", "21000"}};
  EXPECT_THAT(trap_words(plan_stack("openmpi", ask_stack(set, environment))),
              Contains("tcp.port_collision fail mini1"));
  environment["OMPI_MCA_btl_tcp_port_range_v4"] = "2";
  const StackPlan plan = plan_stack("openmpi", ask_stack(set, environment));
  EXPECT_THAT(trap_words(plan), testing::Not(Contains(HasSubstr("fail"))));
  EXPECT_EQ(listener_with(plan.ranks[0], "btl")->first, 21001);
  EXPECT_EQ(listener_with(plan.ranks[1], "oob")->first, 21000);
}

// ---- MPICH on UCX ----

// Without a container it has no signal, and is left out.
TEST(Mpich, DockerIsNoFaultUntilAContainerRuns) {
  EvidenceSet set = test::healthy_star(2);
  for (HostEvidence& host : set.hosts) host.interfaces.erase(host.interfaces.begin() + 1);
  add_docker(set, 9);
  // Seen with MPICH 4.0.2: a rank connects to its own docker0, and MPI_Init fails.
  EXPECT_THAT(trap_words(plan_stack("mpich", ask_stack(set))),
              ElementsAre("stack.interface fail mini1", "stack.interface fail mini2"));
  for (HostEvidence& host : set.hosts) host.interfaces.back().carrier = false;
  const StackPlan plan = plan_stack("mpich", ask_stack(set));
  EXPECT_EQ(plan.ranks[0].interface, "eth1");
  EXPECT_THAT(trap_words(plan), IsEmpty());
  EXPECT_EQ(listener_with(plan.ranks[0], "hydra")->ip, "0.0.0.0");
  EXPECT_EQ(listener_with(plan.ranks[1], "hydra"), nullptr);
}

TEST(Mpich, DevicesAndPortsCanBeNamed) {
  const EvidenceSet set = test::healthy_star(2);
  const StackPlan plan =
      plan_stack("mpich", ask_stack(set, {{"UCX_NET_DEVICES", "eth1"},
                                          {"UCX_TCP_PORT_RANGE", "20000-20010"},
                                          {"MPIEXEC_PORT_RANGE", "21000:21010"}}));
  EXPECT_EQ(plan.ranks[1].ip, "10.10.0.2");
  EXPECT_EQ(listener_with(plan.ranks[1], "UCX")->first, 20000);
  EXPECT_EQ(listener_with(plan.ranks[0], "hydra")->first, 21000);
  EXPECT_THAT(trap_words(plan_stack("mpich", ask_stack(set, {{"UCX_NET_DEVICES", "eth9"}}))),
              Contains("stack.interface fail mini1"));
}

TEST(Mpich, TheLaunchersOwnPortIsNotToBeHad) {
  const EvidenceSet set = test::healthy_star(2);
  StackEnvironment environment = {{"MPIEXEC_PORT_RANGE", "21000:21000"},
                                  {"UCX_TCP_PORT_RANGE", "21000-21000"}};
  EXPECT_THAT(trap_words(plan_stack("mpich", ask_stack(set, environment))),
              ElementsAre("tcp.port_collision fail mini1"));
  environment["UCX_TCP_PORT_RANGE"] = "21000-21001";
  EXPECT_THAT(trap_words(plan_stack("mpich", ask_stack(set, environment))), IsEmpty());
}

// ---- MCCL ----

TEST(Mccl, TheWindowMayMeetTheMastersPort) {
  const EvidenceSet set = test::healthy_star(2);
  const StackEnvironment environment = {{"MASTER_PORT", "20101"}};
  const StackPlan plan = plan_stack("mccl", ask_stack(set, environment));
  EXPECT_THAT(trap_words(plan), ElementsAre("tcp.port_collision fail mini2"));
  EXPECT_EQ(plan.traps[0].remedy, "MCCL_PORT_BASE=20201");
}

TEST(Mccl, SelfAssignedAddressesLookLikeThunderbolt) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].interfaces.push_back(test::make_nic("en5", "", {"169.254.7.7/16"}));
  set.hosts[0].interfaces.back().index = 8;
  const StackPlan plan = plan_stack("mccl", ask_stack(set));
  EXPECT_EQ(plan.ranks[0].ip, "169.254.7.7");
  EXPECT_EQ(plan.ranks[1].ip, "10.10.0.2");  // in the subnet of the master
}

// ---- MLX ----

TEST(MlxRing, AddressesComeFromItsFile) {
  EvidenceSet set = test::healthy_star(2);
  StackQuestion asked = ask_stack(set, {{"MLX_HOSTFILE", "/tmp/ring.json"}});
  asked.files["/tmp/ring.json"] = R"([["10.10.0.1:32323"],["10.10.0.9:32324"]])";
  const StackPlan plan = plan_stack("mlx-ring", asked);
  EXPECT_EQ(plan.ranks[0].listeners.at(0).first, 32323);
  EXPECT_THAT(trap_words(plan), ElementsAre("ip.missing fail mini2"));
  for (const char* broken : {"", "{}", "[[1]]", R"([["10.10.0.1"],["fe80::1:5"]])", "[["}) {
    asked.files["/tmp/ring.json"] = broken;
    const StackPlan none = plan_stack("mlx-ring", asked);
    EXPECT_EQ(none.ranks[1].ip, "") << broken;
  }
}

TEST(MlxJaccl, AMissingCoordinatorAndDevicesAreFound) {
  EvidenceSet set = test::healthy_star(2);
  RdmaDevice device;
  device.name = "rdma_en2";
  set.hosts[0].rdma = RdmaEvidence{};
  set.hosts[0].rdma->devices = {device};
  StackQuestion asked = ask_stack(set, {{"MLX_IBV_DEVICES", "/tmp/devices.json"}});
  asked.files["/tmp/devices.json"] = R"([[null,["rdma_en2","rdma_en3"]],["rdma_en4",null]])";
  const StackPlan plan = plan_stack("mlx-jaccl", asked);
  EXPECT_THAT(plan.ranks[0].also, ElementsAre("rdma_en2 to rank 1", "rdma_en3 to rank 1"));
  EXPECT_THAT(trap_words(plan), Contains("config.mismatch fail mini1"));  // no coordinator
  EXPECT_THAT(trap_words(plan), Contains("rdma.no_device fail mini1"));   // rdma_en3
}

}  // namespace
}  // namespace plumbline
