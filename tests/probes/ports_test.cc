#include "probes/ports.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/host/requirement.h"
#include "evidence_builder.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::pair<int, int> kEphemeral = {32768, 60999};

NicAddress address(const std::string& ip) {
  NicAddress out;
  out.ip = ip;
  out.prefix = 24;
  return out;
}

TEST(PortPlan, Collisions) {
  const PortPlan bad[] = {
      {29500, 1, 29500},  // equal
      {29498, 4, 29500},  // inside
      {29497, 4, 29500},  // at the end
      {65534, 4, 29500},  // beyond the range
      {0, 2, 29500},     {-5, 2, 29500},    {70000, 2, 29500},
      {29600, 2, 0},     {29600, 2, 70000}, {65500, 36, 65535},  // master is the last port of all
  };
  for (const PortPlan& plan : bad) {
    const PlanFault fault = plan_fault(plan);
    EXPECT_NE(fault.wrong, "") << plan.base << " " << plan.master;
    EXPECT_THAT(fault.remedy, HasSubstr("--"));
  }
  for (const PortPlan& plan :
       {PortPlan{29600, 4, 29500}, {29501, 4, 29500}, {29496, 4, 29500}, {65532, 4, 29500}}) {
    EXPECT_EQ(plan_fault(plan).wrong, "") << plan.base;
  }
}

TEST(PortPlan, RemedyOfACollisionIsASoundPlan) {
  for (const PortPlan& plan : {PortPlan{29500, 4, 29500}, {65534, 4, 29500}, {65500, 36, 65535}}) {
    const std::string remedy = plan_fault(plan).remedy;
    ASSERT_EQ(remedy.rfind("--port-base ", 0), 0u) << remedy;
    const int base = std::stoi(remedy.substr(12));
    EXPECT_EQ(plan_fault({base, plan.ranks, plan.master}).wrong, "") << remedy;
  }
}

TEST(PortPlan, AllPorts) {
  EXPECT_THAT((PortPlan{10, 3, 5}.all_ports()), ElementsAre(5, 10, 11, 12));
  EXPECT_THAT((PortPlan{10, 2, 11}.all_ports()), ElementsAre(10, 11));
  EXPECT_THAT((PortPlan{65535, 3, 0}.all_ports()), ElementsAre(65535));
  EXPECT_THAT((PortPlan{-1, 3, 70000}.all_ports()), ElementsAre(1));
}

TEST(Ports, RangesOfBothSystems) {
  HostEvidence host;
  EXPECT_EQ(ephemeral_range(host), (std::pair{0, 0}));
  host.sysctls = {{"net.inet.ip.portrange.first", "49152"},
                  {"net.inet.ip.portrange.last", "65535"}};
  EXPECT_EQ(ephemeral_range(host), (std::pair{49152, 65535}));
  host.sysctls = {{"net.ipv4.ip_local_port_range", "32768\t60999"},
                  {"net.ipv4.ip_local_reserved_ports", "40000-40001,\n"}};
  EXPECT_EQ(ephemeral_range(host), kEphemeral);
  host.sysctls["net.ipv4.ip_local_port_range"] = "nonsense";
  EXPECT_EQ(ephemeral_range(host), (std::pair{0, 0}));
}

TEST(Ports, SuggestionAvoidsWhatAnyHostUses) {
  EvidenceSet set = test::healthy_star(2);
  EXPECT_EQ(suggest_ports(set, false), "--port-base 29700");
  test::host(set, "mini2").sockets = {{"tcp", "0.0.0.0", 29701, "LISTEN", "", 1, "x", {}}};
  EXPECT_EQ(suggest_ports(set, false), "--port-base 29702");
  EXPECT_EQ(suggest_ports(set, true), "--port-base 29703 --master-port 29705");
  for (HostEvidence& host : set.hosts) {
    host.sysctls["net.ipv4.ip_local_port_range"] = "1024\t65535";
  }
  EXPECT_EQ(suggest_ports(set, false), "");
}

// A listener on a port that the system chose.
struct Held {
  Fd listener;
  int port = 0;
};
Held hold_a_port(const char* ip = "127.0.0.1") {
  Held held;
  held.listener = listen_on(make_socket_address(ip, 0).value(), {}).value();
  held.port = local_address(held.listener.get()).port();
  return held;
}

TEST(Ports, HeldPortIsFoundAndNamed) {
  const Held held = hold_a_port();
  const auto states = try_ports({address("127.0.0.1")}, {held.port});
  ASSERT_EQ(states.size(), 1u);
  EXPECT_FALSE(states[0].free);
  EXPECT_EQ(states[0].error.code, ErrorCode::kBusy);
  const std::vector<const char*> linux = {"linux"};
  if (!unmet(linux)) {
    EXPECT_THAT(states[0].owner, HasSubstr("PID " + std::to_string(getpid())));
  }
}

TEST(Ports, ListenerOnEveryAddressHoldsThePortToo) {
  const Held held = hold_a_port("0.0.0.0");
  const auto states = try_ports({address("127.0.0.1")}, {held.port});
  EXPECT_FALSE(states.at(0).free);
  EXPECT_EQ(states[0].error.code, ErrorCode::kBusy);
}

TEST(Ports, AddressOfAnotherMachineIsNotBusy) {
  const auto states = try_ports({address("203.0.113.7")}, {29600});
  EXPECT_FALSE(states.at(0).free);
  EXPECT_NE(states[0].error.code, ErrorCode::kBusy);
}

TEST(Ports, FreeWindowIsFreeAndApart) {
  const std::vector<NicAddress> here = {address("127.0.0.1")};
  const int base = find_free_window(here, 4, 29500, kEphemeral).value();
  const PortPlan plan = {base, 4, 29500};
  EXPECT_EQ(plan_fault(plan).wrong, "");
  for (const int port : plan.window()) {
    EXPECT_LT(port, kEphemeral.first);
    EXPECT_TRUE(
        listen_on(make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value(), {}))
        << port;
  }
  EXPECT_FALSE(find_free_window(here, 0, 29500, kEphemeral));
  EXPECT_FALSE(find_free_window(here, 100'000, 29500, kEphemeral));
  EXPECT_FALSE(find_free_window(here, 4, 29500, {1, 65535})) << "all ports are ephemeral";
  EXPECT_FALSE(find_free_window({address("203.0.113.7")}, 4, 29500, kEphemeral));
}

}  // namespace
}  // namespace plumbline
