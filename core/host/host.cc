#include "core/host/host.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <unistd.h>

#include <algorithm>

#include "core/host/host_internal.h"
#include "core/host/host_parse.h"
#include "core/json.h"
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
  out["openssl"] = OpenSSL_version(OPENSSL_VERSION);
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

// Absent facts are null in the record, and null reads back as absent.
template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

template <typename T>
void read_optional(const nlohmann::json& json, const char* key, std::optional<T>& value) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) {
    value.reset();
  } else {
    get_field(json, key, value.emplace());
  }
}

void to_json(nlohmann::json& json, const NicAddress& address) {
  json = {{"ip", address.ip},
          {"prefix", address.prefix},
          {"v6", address.v6},
          {"link_local", address.link_local},
          {"loopback", address.loopback}};
}

NicAddress address_from(const nlohmann::json& json) {
  NicAddress address;
  get_field(json, "ip", address.ip);
  get_field(json, "prefix", address.prefix);
  get_field(json, "v6", address.v6);
  get_field(json, "link_local", address.link_local);
  get_field(json, "loopback", address.loopback);
  return address;
}

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

void to_json(nlohmann::json& json, const Nic& nic) {
  nlohmann::json addresses = nlohmann::json::array();
  for (const NicAddress& address : nic.addresses) {
    to_json(addresses.emplace_back(), address);
  }
  json = {{"name", nic.name},
          {"index", nic.index},
          {"kind", nic.kind},
          {"up", nic.up},
          {"carrier", nic.carrier},
          {"mtu", nic.mtu},
          {"speed_bps", or_null(nic.speed_bps)},
          {"mac", nic.mac},
          {"master", nic.master},
          {"addresses", addresses}};
}

void from_json(const nlohmann::json& json, Nic& nic) {
  get_field(json, "name", nic.name);
  get_field(json, "index", nic.index);
  get_field(json, "kind", nic.kind);
  get_field(json, "up", nic.up);
  get_field(json, "carrier", nic.carrier);
  get_field(json, "mtu", nic.mtu);
  read_optional(json, "speed_bps", nic.speed_bps);
  get_field(json, "mac", nic.mac);
  get_field(json, "master", nic.master);
  nic.addresses.clear();
  for (const nlohmann::json& address : json.at("addresses")) {
    nic.addresses.push_back(address_from(address));
  }
}

void to_json(nlohmann::json& json, const HostFacts& facts) {
  json = {{"hostname", facts.hostname},
          {"os", facts.os},
          {"kernel", facts.kernel},
          {"arch", facts.arch},
          {"cpu_model", facts.cpu_model},
          {"cores_online", facts.cores_online},
          {"cores_usable", facts.cores_usable},
          {"cgroup_quota_cores", or_null(facts.cgroup_quota_cores)},
          {"governor", or_null(facts.governor)},
          {"clock_source", or_null(facts.clock_source)},
          {"load1", or_null(facts.load1)},
          {"memory_bytes", facts.memory_bytes},
          {"memory_available_bytes", facts.memory_available_bytes},
          {"virtualisation", or_null(facts.virtualisation)},
          {"congestion_control", or_null(facts.congestion_control)},
          {"rmem_max", or_null(facts.rmem_max)},
          {"wmem_max", or_null(facts.wmem_max)},
          {"ephemeral_ports", facts.ephemeral_ports},
          {"boot_id", facts.boot_id},
          {"nics", facts.nics},
          {"libraries", facts.libraries},
          {"environment", facts.environment}};
}

void from_json(const nlohmann::json& json, HostFacts& facts) {
  get_field(json, "hostname", facts.hostname);
  get_field(json, "os", facts.os);
  get_field(json, "kernel", facts.kernel);
  get_field(json, "arch", facts.arch);
  get_field(json, "cpu_model", facts.cpu_model);
  get_field(json, "cores_online", facts.cores_online);
  get_field(json, "cores_usable", facts.cores_usable);
  read_optional(json, "cgroup_quota_cores", facts.cgroup_quota_cores);
  read_optional(json, "governor", facts.governor);
  read_optional(json, "clock_source", facts.clock_source);
  read_optional(json, "load1", facts.load1);
  get_field(json, "memory_bytes", facts.memory_bytes);
  get_field(json, "memory_available_bytes", facts.memory_available_bytes);
  read_optional(json, "virtualisation", facts.virtualisation);
  read_optional(json, "congestion_control", facts.congestion_control);
  read_optional(json, "rmem_max", facts.rmem_max);
  read_optional(json, "wmem_max", facts.wmem_max);
  get_field(json, "ephemeral_ports", facts.ephemeral_ports);
  get_field(json, "boot_id", facts.boot_id);
  get_field(json, "nics", facts.nics);
  get_field(json, "libraries", facts.libraries);
  get_field(json, "environment", facts.environment);
}

}  // namespace plumbline
