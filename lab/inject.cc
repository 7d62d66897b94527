// Injecting and healing: the plan is written down first, then carried out.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "lab/create.h"
#include "lab/fault.h"
#include "lab/lab_files.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

Status rewrite_host_file(const LabState& state) {
  std::vector<HostFilePatch> patches;
  for (const Injected& injected : state.injected) {
    patches.insert(patches.end(), injected.host_file.begin(), injected.host_file.end());
  }
  return write_file(state.lab.hosts_file, host_file_text(state.lab, patches));
}

Status carry_out(LabState& state, const FaultPlan& plan) {
  for (const std::string& step : plan.steps) {
    const Status done = run_script("fault " + plan.injected.fault, step);
    if (!done) return done;
  }
  for (const FaultHelper& helper : plan.helpers) {
    const Expected<ProcessId> process = start_helper(helper);
    if (!process) return fail(process.error());
    state.injected.back().processes.push_back(*process);
    const Status written = write_state(state);
    if (!written) return written;
  }
  return rewrite_host_file(state);
}

// What tools answer when somebody had put that part right by hand, a remedy of doctor for instance.
bool mended_before(const Error& error) {
  constexpr const char* kAnswers[] = {"Address not found", "No such process",
                                      "No such file or directory",
                                      "Cannot assign requested address", "File exists"};
  // A host that is gone is not mended.
  if (error.message().find("network namespace") != std::string::npos) return false;
  return std::any_of(std::begin(kAnswers), std::end(kAnswers), [&](const char* answer) {
    return error.message().find(answer) != std::string::npos;
  });
}

// Undoes one fault; goes on after a command that fails, and says which was the first. The lab is
// complete again even when somebody had put a part of it right by hand.
Status undo(const Injected& injected) {
  Status result;
  for (const ProcessId& process : injected.processes) end_process(process);
  for (const std::string& command : injected.undo) {
    const Status done = run_script("heal " + injected.fault, command);
    if (!done && result && !mended_before(done.error())) result = done;
  }
  for (const std::string& netns : injected.netns) {
    if (!namespace_exists(netns)) continue;
    end_processes_in(netns);
    const Status done = run_script("heal " + injected.fault, "ip netns del " + netns);
    if (!done && result) result = done;
  }
  return result;
}

void forget(LabState& state, size_t index) {
  auto& extra = state.lab.extra_netns;
  for (const std::string& netns : state.injected[index].netns) {
    std::erase(extra, netns);
  }
  state.injected.erase(state.injected.begin() + static_cast<std::ptrdiff_t>(index));
}

Error unknown_fault(const std::string& name) {
  std::vector<std::string> names;
  for (const FaultRow& row : fault_table()) names.emplace_back(row.name);
  return Error{ErrorCode::kUsage, "no fault '" + name + "'", 0,
               near_or(name, names, "see plumbline lab faults"), ""};
}

Error unknown_host(const Lab& lab, const std::string& name) {
  std::vector<std::string> names;
  for (const LabHost& host : lab.hosts) names.push_back(host.name);
  return Error{ErrorCode::kUsage, fmt::format("lab '{}' has no host '{}'", lab.name, name), 0,
               near_or(name, names, "its hosts: " + joined(names)), ""};
}

}  // namespace

const FaultRow* find_fault(const std::string& name) {
  for (const FaultRow& row : fault_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

Expected<FaultTarget> complete_target(const Lab& lab, FaultTarget target, std::mt19937_64& random) {
  for (const std::string& name : {target.host, target.peer}) {
    if (!name.empty() && find_lab_host(lab, name) == nullptr) return fail(unknown_host(lab, name));
  }
  if (!target.host.empty() && target.host == target.peer) {
    return fail(ErrorCode::kUsage, "host and peer are both '" + target.host + "'");
  }
  const auto draw_other = [&](const std::string& than) {
    for (;;) {
      const std::string& name = lab.hosts[random() % lab.hosts.size()].name;
      if (name != than) return name;
    }
  };
  if (target.host.empty()) target.host = draw_other(target.peer);
  if (target.peer.empty()) target.peer = draw_other(target.host);
  if (target.ports.empty()) target.ports = lab.ports;
  const bool known =
      std::count(target.ports.begin(), target.ports.end(), target.port) > 0 || target.port == 0;
  if (!known) {
    return fail(ErrorCode::kUsage, fmt::format("port {} is none of the job's", target.port),
                "the topology's key 'ports' says which they are");
  }
  if (target.port == 0) target.port = target.ports[random() % target.ports.size()];
  return target;
}

Expected<Injected> inject_fault(Lab& lab, const std::string& fault, const FaultTarget& target,
                                uint64_t seed) {
  const FaultRow* row = find_fault(fault);
  if (row == nullptr) return fail(unknown_fault(fault));
  const Status able = lab_system();
  if (!able) return fail(able.error());
  const std::string unavailable = row->unavailable(lab);
  if (!unavailable.empty()) {
    return fail(ErrorCode::kUnsupported, fault + " cannot be made here: " + unavailable);
  }
  const Expected<Fd> lock = lock_lab(lab.name);
  if (!lock) return fail(lock.error());
  Expected<LabState> state = read_state(lab.name);
  if (!state) return fail(state.error());
  for (const Injected& other : state->injected) {
    if (other.fault == fault) {
      return fail(ErrorCode::kUsage, fault + " is in already",
                  "heal it first: plumbline lab heal " + fault);
    }
  }
  std::mt19937_64 random(seed);
  const Expected<FaultTarget> whole = complete_target(lab, target, random);
  if (!whole) return fail(whole.error());
  FaultPlan plan = plan_fault(*row, lab, *whole, random);
  plan.injected.fault = fault;
  plan.injected.target = *whole;
  auto& extra = state->lab.extra_netns;
  extra.insert(extra.end(), plan.injected.netns.begin(), plan.injected.netns.end());
  state->injected.push_back(plan.injected);
  Status done = write_state(*state);
  if (done) done = carry_out(*state, plan);
  const Injected injected = state->injected.back();
  if (!done) {
    (void)undo(injected);
    forget(*state, state->injected.size() - 1);
    (void)rewrite_host_file(*state);
    (void)write_state(*state);
    return fail(done.error());
  }
  lab = state->lab;
  return injected;
}

Status heal_fault(Lab& lab, const std::string& fault) {
  const Status able = lab_system();
  if (!able) return able;
  const Expected<Fd> lock = lock_lab(lab.name);
  if (!lock) return fail(lock.error());
  Expected<LabState> state = read_state(lab.name);
  if (!state) return fail(state.error());
  Status result;
  bool found = fault.empty();
  for (size_t i = state->injected.size(); i-- > 0;) {
    if (!fault.empty() && state->injected[i].fault != fault) continue;
    found = true;
    const Status done = undo(state->injected[i]);
    if (!done && result) result = done;
    forget(*state, i);
  }
  if (!found) {
    if (find_fault(fault) == nullptr) return fail(unknown_fault(fault));
    return fail(ErrorCode::kUsage, fault + " is not in", "nothing to heal");
  }
  Status written = rewrite_host_file(*state);
  if (written) written = write_state(*state);
  lab = state->lab;
  return result ? written : result;
}

std::vector<Injected> injected_faults(const Lab& lab) {
  const Expected<LabState> state = read_state(lab.name);
  return state ? state->injected : std::vector<Injected>();
}

}  // namespace plumbline
