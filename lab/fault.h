// The table of faults: each row breaks one thing in a lab, in one of several real ways (hook, tool,
// rule shape, rate; drawn from the seed), knows which cause id the doctor must name for it and on
// which host, and can undo itself. A row only plans (pure): the commands to run, the commands that
// undo them, the helper processes, the changes of the host file and of the doctor's command line;
// inject_fault writes the plan down in the lab's state and then carries it out, so that a crash at
// any point can still be healed. Used by `plumbline lab inject` and by the fault matrix. Adding a
// fault is one function in a faults_*.cc and its row in that file's list.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lab/lab.h"

namespace plumbline {

struct FaultTarget {
  std::string host, peer;  // names; empty = drawn
  int port = 0;            // 0 = drawn where one port is meant
  std::vector<int> ports;  // the job's window and master port
};

// A change of one host's entry in the lab's host file.
struct HostFilePatch {
  std::string host, key;
  std::string value;  // JSON text; empty = the key is removed
};

// A process that a fault needs: runs in a namespace until heal. It prints a line when it is ready.
struct FaultHelper {
  std::string netns;
  std::vector<std::string> argv;
};

// A running process, told apart from a later one with the same number by its start time (clock
// ticks after boot, proc(5) field 22).
struct ProcessId {
  long pid = 0;
  long long start = 0;
};

struct Injected {
  std::string fault;
  FaultTarget target;
  std::string how;                // what was done, for people: "nft ingress drop on eth0"
  std::vector<std::string> undo;  // shell commands, run in order by heal
  std::vector<ProcessId> processes;
  std::vector<HostFilePatch> host_file;
  std::vector<std::string> doctor_args;  // what doctor must be asked to meet the fault
  std::vector<std::string> netns;        // namespaces that the fault brought along
  // What the doctor must say.
  std::vector<std::string> causes;       // accepted ids, the exact one first
  std::vector<std::string> coarse;       // accepted too without any privilege on the hosts
  std::string expect_host, expect_peer;  // peer empty: one finding about the host
  std::vector<std::string> other_hosts;  // as right as expect_host
  bool any_peer = false;                 // a finding may name a peer, or none
  bool warn = false;                     // outcome warn or note instead of fail
  bool remedy_is_local = true;           // the printed remedy can be executed on the named host
};

// What a row wants to be done.
struct FaultPlan {
  Injected injected;
  std::vector<std::string> steps;  // shell commands, run in order; all must succeed
  std::vector<FaultHelper> helpers;
};

class FaultMaker;

struct FaultRow {
  const char* name;  // "drop_inbound"
  const char* help;
  // Why it cannot be made in this lab or on this system; empty = it can.
  std::string (*unavailable)(const Lab& lab);
  void (*fill)(FaultMaker& maker);  // its plan
  const char* family = "";          // "firewall", "link" ...; the table knows it
};

const std::vector<FaultRow>& fault_table();
const FaultRow* find_fault(const std::string& name);
// `target` must be complete. Pure.
FaultPlan plan_fault(const FaultRow& row, const Lab& lab, const FaultTarget& target,
                     std::mt19937_64& random);

// The target with everything filled in (host, peer, ports) that was left open, drawn from the seed;
// kUsage for hosts that the lab does not have.
Expected<FaultTarget> complete_target(const Lab& lab, FaultTarget target, std::mt19937_64& random);

// Kept in the lab's folder, so that a later process can heal.
Expected<Injected> inject_fault(Lab& lab, const std::string& fault, const FaultTarget& target,
                                uint64_t seed);
Status heal_fault(Lab& lab, const std::string& fault);  // "" = all, last one first
std::vector<Injected> injected_faults(const Lab& lab);

}  // namespace plumbline
