#include "core/host/host.h"

#include <fmt/core.h>
#include <spdlog/version.h>
#include <unistd.h>

#include <algorithm>

#include "core/crypto.h"
#include "core/field_json.h"
#include "core/host/host_internal.h"
#include "core/host/host_parse.h"
#include "core/options/options.h"

extern char** environ;

namespace plumbline {
namespace {

// Variables of launchers, thread pools and peers that change what is measured. No pattern and no
// word that could hold a secret: every name is spelt out.
constexpr const char* kForeignVariables[] = {
    "OMP_NUM_THREADS",    "OMP_PROC_BIND",        "GOMP_CPU_AFFINITY",
    "MALLOC_ARENA_MAX",   "MASTER_PORT",          "WORLD_SIZE",
    "SLURM_JOB_ID",       "SLURM_NNODES",         "SLURM_NTASKS",
    "SLURM_CPU_BIND",     "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",   "UCX_TLS",
    "UCX_NET_DEVICES",
};

std::string version_text(int number, int major_unit, int minor_unit) {
  return fmt::format("{}.{}.{}", number / major_unit, number % major_unit / minor_unit,
                     number % minor_unit);
}

std::map<std::string, std::string> library_versions() {
  std::map<std::string, std::string> out;
  out["plumbline"] = PLUMBLINE_VERSION;
  out["compiler"] = __VERSION__;
  out["fmt"] = version_text(FMT_VERSION, 10000, 100);
  out["spdlog"] = version_text(SPDLOG_VERSION, 10000, 100);
  out["nlohmann_json"] = fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                     NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  if (std::string version = crypto().version(); !version.empty()) {
    out["openssl"] = std::move(version);
  }
  read_platform_libraries(out);
  return out;
}

std::string own_host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::map<std::string, std::string> own_environment() {
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  return allowed_environment({environ, count}, environment_allow_list());
}

constexpr Field<NicAddress> kAddressFields[] = {
    field<&NicAddress::ip>({"ip", "", "`10.10.0.1`, `fe80::1`"}),
    field<&NicAddress::prefix>({"prefix", "bits", "length of its subnet's prefix"}),
    field<&NicAddress::v6>({"v6", "", "IPv6"}),
    field<&NicAddress::link_local>({"link_local", "", "good on its own link only"}),
    field<&NicAddress::loopback>({"loopback", "", "good on its own host only"}),
};

constexpr Field<Nic> kNicFields[] = {
    field<&Nic::name>({"name", "", "`eth0`, `en4`"}),
    field<&Nic::index>({"index", "", "the kernel's number of it"}),
    field<&Nic::kind>(
        {"kind", "", "`loopback`, `ethernet`, `wifi`, `bridge`, `tunnel`, `virtual` or `unknown`"})
        .published(kPublishedWord),
    field<&Nic::up>({"up", "", "administratively"}),
    field<&Nic::carrier>({"carrier", "", "signal on the wire"}),
    field<&Nic::mtu>({"mtu", "bytes", "largest packet"}).published(kPublishedCount),
    field<&Nic::speed_bps>({"speed_bps", "bits/s", "null for virtual interfaces"})
        .lacking_in_old()
        .published(R"({"minimum":0,"maximum":1000000000000000})"),
    field<&Nic::mac>({"mac", "", "its link-layer address, empty when it has none"}),
    field<&Nic::master>({"master", "", "bridge or bond that it belongs to, or empty"}),
    field<&Nic::addresses>({"addresses", "", "of all kinds", "one address"}),
};

// An unknown fact is null.
constexpr Field<HostFacts> kHostFields[] = {
    field<&HostFacts::hostname>({"hostname", "", "as the system calls itself"}),
    field<&HostFacts::os>({"os", "", "system and version"}).published(kPublishedLine),
    field<&HostFacts::kernel>({"kernel", "", "kernel, its version and architecture"})
        .published(kPublishedLine),
    field<&HostFacts::arch>({"arch", "", "`x86_64`, `arm64` ..."}).published(kPublishedWord),
    field<&HostFacts::cpu_model>({"cpu_model", "", "of the first CPU"}).published(kPublishedLine),
    field<&HostFacts::cores_online>({"cores_online", "", "cores of the machine"})
        .published(kPublishedSmall),
    field<&HostFacts::cores_usable>(
        {"cores_usable", "", "after affinity and the control group's quota, rounded up"})
        .published(kPublishedSmall),
    field<&HostFacts::cgroup_quota_cores>(
        {"cgroup_quota_cores", "", "processor time that the control group may use, in cores"})
        .lacking_in_old(),
    field<&HostFacts::governor>({"governor", "", "of the CPU's frequency"})
        .lacking_in_old()
        .published(kPublishedWord),
    field<&HostFacts::clock_source>({"clock_source", "", "of the kernel: `tsc` ..."})
        .lacking_in_old()
        .published(kPublishedWord),
    field<&HostFacts::load1>({"load1", "", "1-minute load average when the ranks were started"})
        .lacking_in_old(),
    field<&HostFacts::memory_bytes>({"memory_bytes", "bytes", "memory of the machine"})
        .published(kPublishedCount),
    field<&HostFacts::memory_available_bytes>(
        {"memory_available_bytes", "bytes", "of it, free for programs"}),
    field<&HostFacts::virtualisation>({"virtualisation", "", "`kvm`, `docker` ..."})
        .lacking_in_old()
        .published(kPublishedLine),
    field<&HostFacts::congestion_control>(
        {"congestion_control", "", "the system's default for TCP"})
        .lacking_in_old()
        .published(kPublishedWord),
    field<&HostFacts::rmem_max>(
        {"rmem_max", "bytes", "largest receive buffer that a socket may ask for"})
        .lacking_in_old()
        .published(kPublishedCount),
    field<&HostFacts::wmem_max>(
        {"wmem_max", "bytes", "largest send buffer that a socket may ask for"})
        .lacking_in_old()
        .published(kPublishedCount),
    field<&HostFacts::ephemeral_ports>({"ephemeral_ports", "",
                                        "ports that the system gives away itself; 0, 0 = not known",
                                        "first, last"}),
    field<&HostFacts::boot_id>({"boot_id", "", "tells starts of the machine apart; may be empty"}),
    field<&HostFacts::nics>({"nics", "", "network interfaces", "one interface"}),
    field<&HostFacts::libraries>(
        {"libraries", "", "name and version of what plumbline was built with", "version"}),
    field<&HostFacts::environment>(
        {"environment", "",
         "environment variables that change what is measured, from a list that names no secret",
         "value"}),
};

}  // namespace

const std::vector<std::string>& environment_allow_list() {
  static const std::vector<std::string> kList = [] {
    std::vector<std::string> names(std::begin(kForeignVariables), std::end(kForeignVariables));
    for (const OptionRow& row : option_table()) {
      if (row.refused != nullptr) continue;
      names.push_back(option_variable(row.name));
      if (row.mccl_alias != nullptr) names.emplace_back(row.mccl_alias);
    }
    std::sort(names.begin(), names.end());
    return names;
  }();
  return kList;
}

HostFacts read_host_facts() {
  HostFacts facts;
  facts.hostname = own_host_name();
  facts.cores_online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  facts.cores_usable = facts.cores_online;
  read_platform_facts(facts);
  facts.nics = list_nics().value_or(std::vector<Nic>{});
  facts.libraries = library_versions();
  facts.environment = own_environment();
  return facts;
}

std::span<const Field<NicAddress>> FieldsOf<NicAddress>::all() { return kAddressFields; }
std::span<const Field<Nic>> FieldsOf<Nic>::all() { return kNicFields; }
std::span<const Field<HostFacts>> FieldsOf<HostFacts>::all() { return kHostFields; }

void to_json(nlohmann::json& json, const Nic& nic) { FieldValue<Nic>::write(nic, json); }
void from_json(const nlohmann::json& json, Nic& nic) { read_fields(json, nic); }

void to_json(nlohmann::json& json, const HostFacts& facts) {
  FieldValue<HostFacts>::write(facts, json);
}
void from_json(const nlohmann::json& json, HostFacts& facts) { read_fields(json, facts); }

}  // namespace plumbline
