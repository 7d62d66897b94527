#include "core/host/host.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>

#include "core/host/host_parse.h"
#include "core/host/nics_internal.h"
#include "core/json.h"
#include "core/options/options.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(HostParse, CpuModel) {
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\n\nmodel name\t: Other\n"),
            "AMD EPYC");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nModel\t\t: Raspberry Pi 5\n"), "Raspberry Pi 5");
  EXPECT_EQ(parse_cpu_model("model name\t:\nmodel name\t: Second\n"), "Second");
  EXPECT_EQ(parse_cpu_model("model name"), "");
  EXPECT_EQ(parse_cpu_model("xmodel name: no\n:::\n"), "");
  EXPECT_EQ(parse_cpu_model(""), "");
}

TEST(HostParse, HypervisorFlagIsAWholeWord) {
  EXPECT_TRUE(has_hypervisor_flag("flags\t: fpu hypervisor sse\n"));
  EXPECT_TRUE(has_hypervisor_flag("flags : hypervisor"));
  EXPECT_FALSE(has_hypervisor_flag("flags\t: fpu hypervisors sse\n"));
  EXPECT_FALSE(has_hypervisor_flag("bugs\t: hypervisor\n"));
  EXPECT_FALSE(has_hypervisor_flag(""));
}

TEST(HostParse, Meminfo) {
  const char* text = "MemTotal:       24684092 kB\nMemFree: 1 kB\nMemAvailable:   2 kB\n";
  EXPECT_EQ(parse_meminfo(text, "MemTotal"), 24684092ull * 1024);
  EXPECT_EQ(parse_meminfo(text, "MemAvailable"), 2048u);
  EXPECT_EQ(parse_meminfo(text, "Mem"), 0u);
  EXPECT_EQ(parse_meminfo("MemTotal: 12 MB\n", "MemTotal"), 0u);
  EXPECT_EQ(parse_meminfo("MemTotal: -5 kB\n", "MemTotal"), 0u);
  EXPECT_EQ(parse_meminfo("MemTotal: 18446744073709551615 kB\n", "MemTotal"), 0u);
  EXPECT_EQ(parse_meminfo("MemTotal: 99999999999999999999999 kB\n", "MemTotal"), 0u);
  EXPECT_EQ(parse_meminfo("MemTotal: 24684", "MemTotal"), 0u);
}

TEST(HostParse, Load) {
  EXPECT_EQ(parse_load1("1.16 0.67 0.27 5/109 10624\n"), 1.16);
  EXPECT_EQ(parse_load1("0"), 0.0);
  for (const char* bad : {"", "x", "-1 0 0", "nan 1 1", "inf", "1.1.1", "1,5 2 3"}) {
    EXPECT_EQ(parse_load1(bad), std::nullopt) << bad;
  }
}

TEST(HostParse, OsRelease) {
  EXPECT_EQ(parse_os_release("ID=debian\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
  EXPECT_EQ(parse_os_release("PRETTY_NAME='Arch'"), "Arch");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=Plain\r\n"), "Plain");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=\""), "\"");
  EXPECT_EQ(parse_os_release("NAME=x\n"), "");
}

TEST(HostParse, PortRange) {
  using Range = std::pair<int, int>;
  EXPECT_EQ(parse_port_range("32768\t60999\n"), Range(32768, 60999));
  for (const char* bad : {"", "1", "5 4", "1 2 3", "1 65536", "-1 5", "a b", "1 99999999999999"}) {
    EXPECT_EQ(parse_port_range(bad), Range(0, 0)) << bad;
  }
}

TEST(HostParse, CpuQuotas) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  for (const char* bad : {"max 100000", "", "100000", "1 0", "0 1", "-1 5", "1 2 3", "x y"}) {
    EXPECT_EQ(parse_cpu_max(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_cfs_quota("50000\n", "100000\n"), 0.5);
  EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(parse_cfs_quota("50000", ""), std::nullopt);
}

TEST(HostParse, CgroupMemory) {
  const char* stat = "anon 4096\ninactive_file 3000\nactive_file 5\n";
  EXPECT_EQ(parse_cgroup_memory_left("10000\n", "8000\n", stat, "inactive_file"), 5000);
  EXPECT_EQ(parse_cgroup_memory_left("10000", "8000", "", "inactive_file"), 2000);
  EXPECT_EQ(parse_cgroup_memory_left("10000", "20000", stat, "inactive_file"), 0);
  EXPECT_EQ(parse_cgroup_memory_left("10000", "1000", stat, "inactive_file"), 10000);
  EXPECT_EQ(parse_cgroup_memory_left("10000", "8000", "inactive_file x\n", "inactive_file"), 2000);
  for (const char* none : {"max\n", "", "-1", "x"}) {
    EXPECT_EQ(parse_cgroup_memory_left(none, "8000", stat, "inactive_file"), std::nullopt) << none;
  }
  EXPECT_EQ(parse_cgroup_memory_left("10000", "", stat, "inactive_file"), std::nullopt);
}

TEST(HostParse, CgroupPath) {
  const char* text = "9:name=systemd:/\n4:cpu,cpuacct:/box/a:b\n2:cpuset:/\n0::/unified\n";
  EXPECT_EQ(parse_cgroup_path(text, "cpu"), "/box/a:b");
  EXPECT_EQ(parse_cgroup_path(text, "cpuacct"), "/box/a:b");
  EXPECT_EQ(parse_cgroup_path(text, "cpuset"), "/");
  EXPECT_EQ(parse_cgroup_path(text, ""), "/unified");
  EXPECT_EQ(parse_cgroup_path(text, "memory"), std::nullopt);
  EXPECT_EQ(parse_cgroup_path("4:cpu\n:::\n\n4", "cpu"), std::nullopt);
}

TEST(HostParse, Virtualisation) {
  EXPECT_EQ(hypervisor_from_dmi("QEMU\n", "Standard PC\n"), "qemu");
  EXPECT_EQ(hypervisor_from_dmi("Microsoft Corporation", "Virtual Machine"), "hyper-v");
  EXPECT_EQ(hypervisor_from_dmi("Microsoft Corporation", "Surface"), "");
  EXPECT_EQ(hypervisor_from_dmi("Red Hat", "KVM"), "kvm");
  EXPECT_EQ(hypervisor_from_dmi("Dell Inc.", "PowerEdge"), "");
  EXPECT_EQ(hypervisor_from_dmi("", ""), "");
  EXPECT_EQ(container_from_cgroup("1:cpu:/kubepods/docker/x"), "kubernetes");
  EXPECT_EQ(container_from_cgroup("1:cpu:/docker/0123"), "docker");
  EXPECT_EQ(container_from_cgroup("0::/user.slice"), "");
}

TEST(HostParse, EnvironmentHoldsAllowedNamesOnly) {
  const std::string longest = "B=" + std::string(10000, 'x');
  const std::vector<const char*> entries = {
      "A=1", "AA=2", "a=3", "no equals sign", "=4", longest.c_str(), "C=\x1b[31m\xff"};
  const auto out = allowed_environment(entries, {"A", "B", "C"});
  EXPECT_EQ(out.size(), 3u);
  EXPECT_EQ(out.at("A"), "1");
  EXPECT_EQ(out.at("B").size(), 256u);
  EXPECT_EQ(out.at("C"), "?[31m?");
}

TEST(HostFacts, NoSecretOfTheEnvironmentGetsIn) {
  const std::vector<std::string> secrets = {
      "PLUMBLINE_TOKEN",     "PLUMBLINE_TOKEN_FILE",  "PLUMBLINE_API_KEY", "MCCL_PASSWORD",
      "GITHUB_TOKEN",        "AWS_SECRET_ACCESS_KEY", "SLURM_JWT",         "HOME_SECRET",
      "PLUMBLINE_SPIN_USER", "xPLUMBLINE_MESH"};
  for (const std::string& name : secrets) setenv(name.c_str(), "seeded-secret", 1);
  setenv("PLUMBLINE_MESH", "lazy", 1);
  setenv("MCCL_CHUNK_BYTES", "8192", 1);
  const HostFacts facts = read_host_facts();
  for (const std::string& name : secrets) unsetenv(name.c_str());
  unsetenv("PLUMBLINE_MESH");
  unsetenv("MCCL_CHUNK_BYTES");

  EXPECT_EQ(facts.environment.at("PLUMBLINE_MESH"), "lazy");
  EXPECT_EQ(facts.environment.at("MCCL_CHUNK_BYTES"), "8192");
  EXPECT_THAT(nlohmann::json(facts).dump(), Not(HasSubstr("seeded-secret")));
}

TEST(HostFacts, AllowListHasNoSecretLookingNameAndEveryOption) {
  const auto& list = environment_allow_list();
  for (const std::string& name : list) {
    for (const char* word : {"TOKEN", "SECRET", "PASS", "KEY", "AUTH", "*"}) {
      EXPECT_THAT(name, Not(HasSubstr(word)));
    }
  }
  EXPECT_THAT(list, Contains("PLUMBLINE_CHUNK_BYTES"));
  EXPECT_THAT(list, Contains("MCCL_TRANSPORT"));
  EXPECT_THAT(list, Not(Contains("MCCL_SHADER_PATH")));
}

TEST(HostFacts, ThisMachineIsPlausible) {
  const HostFacts facts = read_host_facts();
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_FALSE(facts.os.empty());
  EXPECT_THAT(facts.kernel, HasSubstr(facts.arch));
  EXPECT_GE(facts.cores_usable, 1);
  EXPECT_LE(facts.cores_usable, facts.cores_online);
  EXPECT_GT(facts.memory_bytes, 16u << 20);
  EXPECT_LE(facts.memory_available_bytes, facts.memory_bytes);
  EXPECT_LE(facts.ephemeral_ports.first, facts.ephemeral_ports.second);
  EXPECT_FALSE(facts.nics.empty());
  EXPECT_EQ(facts.libraries.at("plumbline"), PLUMBLINE_VERSION);
}

TEST(HostFacts, JsonComesBackEqual) {
  HostFacts facts = read_host_facts();
  facts.cgroup_quota_cores = 1.5;
  facts.governor.reset();
  facts.virtualisation = "kvm";
  const nlohmann::json json = facts;
  EXPECT_TRUE(json.at("governor").is_null());
  const HostFacts back = json.get<HostFacts>();
  EXPECT_EQ(nlohmann::json(back), json);
  EXPECT_EQ(back.cgroup_quota_cores, 1.5);
  EXPECT_EQ(back.governor, std::nullopt);
  ASSERT_EQ(back.nics.size(), facts.nics.size());
  for (size_t i = 0; i < back.nics.size(); ++i) {
    EXPECT_EQ(back.nics[i].addresses, facts.nics[i].addresses);
    EXPECT_EQ(back.nics[i].speed_bps, facts.nics[i].speed_bps);
  }
}

TEST(HostFacts, JsonWithMissingOrWrongFieldsThrows) {
  const nlohmann::json whole = read_host_facts();
  for (const auto& item : whole.items()) {
    nlohmann::json broken = whole;
    broken[item.key()] = nlohmann::json::object({{"unexpected", true}});
    HostFacts facts;
    if (item.key() == "libraries" || item.key() == "environment") continue;  // objects of text
    EXPECT_THROW(from_json(broken, facts), nlohmann::json::exception) << item.key();
  }
  HostFacts facts;
  EXPECT_THROW(from_json(nlohmann::json::array(), facts), nlohmann::json::exception);
}

TEST(Nics, LoopbackIsThere) {
  const auto nics = list_nics();
  ASSERT_TRUE(nics) << nics.error().message();
  bool found = false;
  int last = 0;
  for (const Nic& nic : *nics) {
    EXPECT_GE(nic.index, last) << "not in index order";
    last = nic.index;
    EXPECT_FALSE(nic.kind.empty()) << nic.name;
    if (nic.kind != "loopback") continue;
    found = true;
    EXPECT_TRUE(nic.up);
    EXPECT_GT(nic.mtu, 0);
    EXPECT_EQ(nic.mac, "");
    EXPECT_EQ(nic.speed_bps, std::nullopt) << "a loopback has no speed";
    const NicAddress expected{"127.0.0.1", 8, false, false, true};
    EXPECT_THAT(nic.addresses, Contains(expected));
  }
  EXPECT_TRUE(found);
}

NicAddress v4(const char* ip, const char* mask) {
  sockaddr_in address{}, bits{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, ip, &address.sin_addr);
  inet_pton(AF_INET, mask, &bits.sin_addr);
  return to_nic_address(reinterpret_cast<sockaddr*>(&address), reinterpret_cast<sockaddr*>(&bits))
      .value();
}

TEST(Nics, PrefixesAndScopes) {
  EXPECT_EQ(v4("10.10.0.1", "255.255.255.252"), (NicAddress{"10.10.0.1", 30, false, false, false}));
  EXPECT_EQ(v4("169.254.3.4", "255.255.0.0"), (NicAddress{"169.254.3.4", 16, false, true, false}));
  EXPECT_EQ(v4("127.8.8.8", "255.255.255.255").prefix, 32);
  EXPECT_EQ(v4("10.0.0.1", "0.0.0.0").prefix, 0);
  EXPECT_EQ(v4("10.0.0.1", "255.0.255.0").prefix, 8) << "a mask with a hole ends at the hole";

  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "fe80::1", &six.sin6_addr);
  six.sin6_addr.s6_addr[3] = 7;  // as macOS stores the interface
  EXPECT_EQ(to_nic_address(reinterpret_cast<sockaddr*>(&six), nullptr),
            (NicAddress{"fe80::1", 0, true, true, false}));
  six.sin6_family = AF_UNIX;
  EXPECT_EQ(to_nic_address(reinterpret_cast<sockaddr*>(&six), nullptr), std::nullopt);
  EXPECT_EQ(to_nic_address(nullptr, nullptr), std::nullopt);
}

TEST(Nics, Macs) {
  const unsigned char some[] = {0x02, 0xfc, 0, 0, 0, 0x0a};
  const unsigned char zeros[6] = {};
  EXPECT_EQ(to_mac(some, 6), "02:fc:00:00:00:0a");
  EXPECT_EQ(to_mac(zeros, 6), "");
  EXPECT_EQ(to_mac(some, 0), "");
}

}  // namespace
}  // namespace plumbline
