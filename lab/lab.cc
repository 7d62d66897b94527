// Up, open, down.
#include "lab/lab.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/command.h"
#include "core/text.h"
#include "lab/create.h"
#include "lab/lab_files.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// There while /etc/netns is ours to remove.
constexpr const char* kMadeEtcNetns = "/.made_etc_netns";

}  // namespace

Status lab_system() {
  if (access("/proc/self/ns/net", F_OK) != 0) {
    return fail(ErrorCode::kUnsupported, "labs need Linux with network namespaces");
  }
  if (geteuid() != 0) {
    return fail(ErrorCode::kUnsupported, "a lab needs root, to make network namespaces",
                "run it with sudo");
  }
  for (const char* program : {"ip", "tc", "sysctl"}) {
    if (!find_program(program).empty()) continue;
    return fail(ErrorCode::kUnsupported, std::string("a lab needs the program '") + program + "'",
                "install iproute2 and procps");
  }
  return {};
}

namespace {

// What kept this topology from being made, in the words of those who asked for it.
Error explained(const Lab& lab, const CreationStep& step, Error error) {
  const bool unknown_type = error.what.find("Unknown device type") != std::string::npos ||
                            error.what.find("Not supported") != std::string::npos ||
                            error.what.find("not supported") != std::string::npos;
  if (unknown_type && lab.topology.carrier != "direct") {
    return Error{ErrorCode::kUnsupported,
                 "this kernel has no devices of type " + lab.topology.carrier, 0, "", ""};
  }
  if (step.what == "namespaces") {
    error.code = ErrorCode::kUnsupported;
    error.what = "this system does not allow network namespaces: " + error.what;
  }
  return error;
}

// Namespaces that exist, or that another lab has written down and may be about to make.
std::vector<std::string> reserved_namespaces() {
  std::vector<std::string> out;
  for (const std::string& name : lab_names()) {
    if (const auto state = read_state(name)) append(out, lab_namespaces(state->lab));
  }
  return out;
}

// Chooses names that nobody has and writes them down, before anything is made.
Expected<LabState> reserve(const LabTopology& topology, uint64_t seed) {
  std::error_code error;
  const Expected<Fd> lock = lock_labs();
  if (!lock) return fail(lock.error());
  if (!fs::exists("/etc/netns", error)) {
    const Status noted = write_file(labs_folder() + kMadeEtcNetns, "");
    if (!noted) return fail(noted.error());
  }
  if (fs::exists(lab_folder(topology.name), error)) {
    return fail(ErrorCode::kConfig, "a lab named '" + topology.name + "' is up already",
                "remove it with: plumbline lab down " + topology.name);
  }
  const std::vector<std::string> reserved = reserved_namespaces();
  LabState state;
  state.lab = lay_out(topology, seed, [&](const std::string& netns) {
    return namespace_exists(netns) || std::count(reserved.begin(), reserved.end(), netns) > 0;
  });
  state.lab.folder = lab_folder(topology.name);
  state.lab.hosts_file = state.lab.folder + "/hosts.json";
  fs::create_directory(state.lab.folder, error);
  if (error) return fail_errno(ErrorCode::kSystem, "make " + state.lab.folder, error.value());
  const Status written = write_state(state);
  if (!written) return fail(written.error());
  return state;
}

void remove_namespace(const std::string& netns, std::string& trouble) {
  if (namespace_exists(netns)) {
    end_processes_in(netns);
    const Status gone = run_script("remove " + netns, "ip netns del " + netns);
    // What is left of a creation that was cut short is an ordinary file.
    std::error_code error;
    if (!gone && namespace_exists(netns) && !fs::remove("/run/netns/" + netns, error)) {
      trouble = gone.error().what;
    }
  }
  std::error_code error;
  fs::remove_all("/etc/netns/" + netns, error);
}

// With the lab's lock held.
Status remove_lab(const std::string& name) {
  const Expected<LabState> state = read_state(name);
  std::string trouble;
  if (state) {
    for (const Injected& injected : state->injected) {
      for (const ProcessId& process : injected.processes) end_process(process);
    }
    for (const std::string& netns : lab_namespaces(state->lab)) remove_namespace(netns, trouble);
  }
  std::error_code error;
  // Only when empty: other namespaces of this machine may have files there.
  if (fs::exists(labs_folder() + kMadeEtcNetns, error) && fs::remove("/etc/netns", error)) {
    fs::remove(labs_folder() + kMadeEtcNetns, error);
  }
  if (!trouble.empty()) return fail(ErrorCode::kSystem, trouble);
  // A folder without a readable state was cut short before anything was made, and nothing but us
  // writes there.
  fs::remove_all(lab_folder(name), error);
  if (error) return fail_errno(ErrorCode::kSystem, "remove " + lab_folder(name), error.value());
  return {};
}

// Of an `up` that came to nothing, with the lab's lock held.
void undo_up(const std::string& name) {
  (void)remove_lab(name);
  std::error_code error;
  fs::remove(labs_folder() + "/." + name + ".lock", error);
}

std::string names_in_words(const std::vector<std::string>& names) {
  return names.empty() ? "plumbline lab up scenarios/labs/star4.json makes one"
                       : "labs that are up: " + joined(names);
}

}  // namespace

Expected<Lab> lab_up(const LabTopology& topology, uint64_t seed,
                     const std::function<bool()>& stop) {
  const std::string problem = topology_problem(topology);
  if (!problem.empty()) return fail(ErrorCode::kConfig, problem);
  const Status able = lab_system();
  if (!able) return fail(able.error());
  std::error_code error;
  fs::create_directories(labs_folder(), error);
  if (error) {
    return fail_errno(ErrorCode::kUnsupported, "make " + labs_folder(), error.value());
  }
  const Expected<Fd> lock = lock_lab(topology.name);
  if (!lock) return fail(lock.error());
  Expected<LabState> state = reserve(topology, seed);
  if (!state) return fail(state.error());
  const auto interrupted = [&] {
    if (!stop || !stop()) return false;
    undo_up(topology.name);
    return true;
  };
  const Error interrupt{ErrorCode::kInterrupted, "interrupted; what was made is removed again", 0,
                        "", ""};
  for (const CreationStep& step : creation_steps(state->lab)) {
    if (interrupted()) return fail(interrupt);
    const Status done = run_script(step.what, step.script);
    if (done) continue;
    undo_up(topology.name);
    // An interrupt may have ended the tool itself.
    if (stop && stop()) return fail(interrupt);
    return fail(explained(state->lab, step, done.error()));
  }
  if (interrupted()) return fail(interrupt);
  state->complete = true;
  Status written = write_file(state->lab.hosts_file, host_file_text(state->lab));
  if (written) written = write_state(*state);
  if (!written) {
    undo_up(topology.name);
    return fail(written.error());
  }
  return state->lab;
}

std::vector<std::string> lab_names() {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(labs_folder(), error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(error) && name[0] != '.') out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Expected<Lab> lab_open(const std::string& name) {
  const std::vector<std::string> names = lab_names();
  if (name.empty() && names.size() != 1) {
    return fail(ErrorCode::kUsage,
                names.empty() ? "no lab is up" : "several labs are up: say which with --lab",
                names_in_words(names));
  }
  const std::string chosen = name.empty() ? names.front() : name;
  if (std::count(names.begin(), names.end(), chosen) == 0) {
    return fail(ErrorCode::kUsage, "no lab '" + chosen + "' is up",
                near_or(chosen, names, names_in_words(names)));
  }
  const Expected<LabState> state = read_state(chosen);
  if (!state) return fail(state.error());
  if (!state->complete) {
    return fail(ErrorCode::kConfig, "the lab '" + chosen + "' is not complete",
                "its `up` still runs or was cut short; plumbline lab down " + chosen);
  }
  return state->lab;
}

Status lab_down(const std::string& name) {
  const std::vector<std::string> names = lab_names();
  if (std::count(names.begin(), names.end(), name) == 0) {
    return fail(ErrorCode::kUsage, "no lab '" + name + "' is up", names_in_words(names));
  }
  const Status able = lab_system();
  if (!able) return able;
  {
    const Expected<Fd> lock = lock_lab(name);
    if (!lock) return fail(lock.error());
    const Status removed = remove_lab(name);
    if (!removed) return removed;
    std::error_code error;
    fs::remove(labs_folder() + "/." + name + ".lock", error);
  }
  return {};
}

}  // namespace plumbline
