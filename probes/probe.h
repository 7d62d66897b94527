// A probe is a question to every host, or to every pair of hosts: one row of probes.cc. Its
// `gather` asks the agents and puts what they say into the evidence; its `judge` is a pure function
// that turns the evidence into Checks (what was asked and what came out). The causes behind failed
// checks are found by the rules (probes/rules), from the same evidence. Probes never change the
// system, never need more privilege than they have (they say which they lack), and have deadlines.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/diagnosis/finding.h"
#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/host/requirement.h"
#include "probes/evidence.h"

namespace plumbline {

// What has to be asked before a probe can judge; several are asked for together, because they share
// listeners and captures.
enum Need : unsigned {
  kNeedSnapshot = 1,    // what every host says about itself
  kNeedRoutes = 2,      // route lookups between all pairs
  kNeedNeighbours = 4,  // who answers for an address on the link
  kNeedPing = 8,
  kNeedConnect = 16,  // connections to every port, captured on both ends
  kNeedMtu = 32,
  kNeedQuality = 64,  // short streams
  kNeedCommand = 128,
  kNeedEndpoint = 256,
  kNeedRdma = 512,       // where the job asks for RDMA: its devices, up to a queue pair
  kNeedSoftware = 1024,  // versions and variables
  kNeedArtifact = 2048,  // files that all hosts must have
};

struct ProbeCallSpec {
  std::string probe;
  std::map<std::string, std::string> params;
  // Of the probe `command`: the words to run, and whether this user permitted it (a flag of the
  // command line, never a file). Without that its checks are skipped.
  std::vector<std::string> command = {};
  bool permitted = false;
  // Of the probe `endpoint`: the key that the server wants, out of the variable that `key_from`
  // names. It goes into requests to agents and nowhere else.
  std::string key = {};
};

struct ProbeContext {
  // agents[i] answers for job host i; null where none could be started: the host's evidence says
  // why. Not owned.
  std::vector<HostAgent*> agents;
  EvidenceSet evidence;  // with its job filled in, and hosts that have no agent
  Deadline deadline = Deadline::never();
  // Told what is going on, "4 hosts: connecting"; may be empty.
  std::function<void(const std::string&)> progress;
  // Where traces are kept, and which: "always" | "failures" | "never".
  std::string trace_folder, keep_traces = "never";
  // True when the user asked to stop; may be empty.
  std::function<bool()> interrupted;
};

struct ProbeResult {
  std::vector<Check> checks;
  std::vector<Finding> findings;
  EvidenceSet evidence;
  std::vector<std::string> traces;  // files that were kept
};

struct ProbeRow {
  Descriptor descriptor;  // name "tcp.connect", help, requirements, parameters
  int rung;               // place on the ladder; checks are sorted by it
  unsigned needs;         // Need bits
  std::vector<Check> (*judge)(const EvidenceSet& evidence,
                              const std::map<std::string, std::string>& params);
};

const std::vector<ProbeRow>& probe_table();
const ProbeRow* find_probe(const std::string& name);

// Gathers for the named probes (all that ask nothing special when empty), judges in ladder order,
// and finds the causes. An agent that dies on the way becomes a finding about its host; the others
// go on.
ProbeResult run_probes(ProbeContext context, const std::vector<ProbeCallSpec>& calls);
// Only the judging: for recorded evidence.
ProbeResult judge_evidence(EvidenceSet evidence, const std::vector<ProbeCallSpec>& calls = {});

}  // namespace plumbline
