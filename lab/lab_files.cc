#include "lab/lab_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "lab/address.h"

namespace plumbline {
namespace {

constexpr int kSchema = 1;
constexpr int64_t kLockMs = 20'000;

}  // namespace

PLUMBLINE_JSON_FIELDS(LabLink, data, interface, nic, mac, peer, port, bridge, subnet, gateway)
PLUMBLINE_JSON_FIELDS(LabHost, name, netns, links, control, control_interface, control_mac,
                      control_port, names_interface)
PLUMBLINE_JSON_FIELDS(LabTopology, name, shape, size, cables, hosts, family, data, control, rate,
                      mtu, carrier, firewall, ping, others, unprivileged, ports)
PLUMBLINE_JSON_FIELDS(Lab, name, folder, hosts_file, topology, seed, hosts, switch_netns, bridges,
                      control_bridge, control_netns, ports, extra_netns)
PLUMBLINE_JSON_FIELDS(FaultTarget, host, peer, port, ports)
PLUMBLINE_JSON_FIELDS(HostFilePatch, host, key, value)
PLUMBLINE_JSON_FIELDS(ProcessId, pid, start)
PLUMBLINE_JSON_FIELDS(Injected, fault, target, how, undo, processes, host_file, doctor_args, netns,
                      causes, coarse, expect_host, expect_peer, other_hosts, any_peer, warn,
                      remedy_is_local)
PLUMBLINE_JSON_FIELDS(LabState, lab, complete, injected)

std::string labs_folder() { return "/run/plumbline"; }
std::string lab_folder(const std::string& name) { return labs_folder() + "/" + name; }

std::string state_text(const LabState& state) {
  nlohmann::json json = state;
  json["schema"] = kSchema;
  return json_text(json);
}

Expected<LabState> parse_state(const std::string& text, const std::string& file) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("schema") != kSchema) {
      return fail(ErrorCode::kConfig, file + ": written by another version of plumbline");
    }
    LabState state = json.get<LabState>();
    for (const LabHost& host : state.lab.hosts) {
      if (host.links.empty()) return fail(ErrorCode::kConfig, file + ": a host without links");
    }
    return state;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kConfig, file + ": is no state of a lab", json_trouble(error));
  }
}

Status write_state(const LabState& state) {
  return write_file(state.lab.folder + "/state.json", state_text(state));
}

Expected<LabState> read_state(const std::string& name) {
  const std::string file = lab_folder(name) + "/state.json";
  const Expected<std::string> text = read_text(file);
  if (!text) return fail(text.error());
  return parse_state(*text, file);
}

Status write_file(const std::string& path, const std::string& text) {
  const Status done = replace_text_file(path, text);
  return done ? done : fail_errno(ErrorCode::kSystem, "write " + path, done.error().sys_errno);
}

Expected<std::string> read_text(const std::string& path) {
  constexpr size_t kMostBytes = 16 << 20;
  return read_input_file(path, kMostBytes);
}

Expected<Fd> take_lock(const std::string& file, int64_t within_ms) {
  Fd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return fail_errno(ErrorCode::kSystem, "open " + file, errno);
  const Deadline deadline = Deadline::after_ms(within_ms);
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail_errno(ErrorCode::kSystem, "lock " + file, errno);
    }
    if (deadline.passed()) {
      return fail(ErrorCode::kBusy, file + " is held by another plumbline",
                  "wait for it, or end it");
    }
    usleep(10'000);
  }
  return lock;
}

Expected<Fd> lock_labs() { return take_lock(labs_folder() + "/.lock", kLockMs); }

// Beside the lab's folder, not in it: it must outlive the folder.
Expected<Fd> lock_lab(const std::string& name) {
  return take_lock(labs_folder() + "/." + name + ".lock", kLockMs);
}

std::string host_file_text(const Lab& lab, const std::vector<HostFilePatch>& patches) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const LabHost& host : lab.hosts) {
    nlohmann::ordered_json entry = {{"name", host.name}, {"netns", host.netns}};
    entry["data"] = nlohmann::ordered_json::array();
    for (const LabLink& link : host.links) entry["data"].push_back(link.data);
    if (host.names_interface) entry["interface"] = host.links.front().interface;
    if (!lab.topology.rate.empty()) entry["speed"] = lab.topology.rate;
    if (lab.topology.unprivileged) entry["user"] = "nobody";
    for (const HostFilePatch& patch : patches) {
      if (patch.host != host.name) continue;
      if (patch.value.empty()) {
        entry.erase(patch.key);
      } else {
        entry[patch.key] = nlohmann::ordered_json::parse(patch.value, nullptr, false);
      }
    }
    entries.push_back(std::move(entry));
  }
  // One host a line, so that findings can name the line.
  std::string out = "{\"hosts\": [\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    out += "  " + entries[i].dump() + (i + 1 < entries.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string names_folder(const LabHost& host) { return "/etc/netns/" + host.netns; }

std::string names_text(const Lab& lab, const LabHost& host,
                       const std::map<std::string, std::string>& addresses) {
  std::string out = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const LabHost& other : lab.hosts) {
    const auto changed = addresses.find(other.name);
    const std::string ip =
        changed != addresses.end() ? changed->second : ip_of(other.links.front().data);
    if (ip.empty()) continue;
    out += ip + " " + other.name;
    if (other.name == host.name && machine_name() != other.name) out += " " + machine_name();
    out += "\n";
  }
  return out;
}

}  // namespace plumbline
