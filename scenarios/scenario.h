// A scenario file, parsed and checked: what to probe, what to measure, with which configuration,
// and how to report. Parsing collects every problem it can (line or JSON path, what is wrong,
// nearest valid name) before anything starts. docs/scenario_format.md documents every key;
// docs/scenario.schema.json is generated from the same key table. Plain values, pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/host/requirement.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/record/expect.h"
#include "core/stats/stats.h"

namespace plumbline {

// What scenarios may name; handed in by cli from the tables, so that this folder need not know
// them.
struct Vocabulary {
  std::vector<Descriptor> probes, transports, algorithms, reports;  // algorithms: group = op name
  // Why this algorithm cannot do that (op, ranks, count), or empty; "auto" is always fine.
  std::string (*algorithm_unsupported)(const std::string& op, const std::string& algorithm,
                                       int ranks, uint64_t count) = nullptr;
  // What rules can ask for; group = name of the unit (core/record/expect.h).
  std::vector<Descriptor> metrics = {};
  // Why ranks cannot use this transport, or empty; "auto" is always fine.
  std::string (*transport_unsupported)(const std::string& transport) = nullptr;
  std::vector<Descriptor> engines = {};
  // Why the engine that the cell names cannot do it, or empty.
  std::string (*engine_unsupported)(const Cell& cell) = nullptr;
  // Why no algorithm takes what stands behind the colon of this name, or empty.
  std::string (*algorithm_malformed)(const std::string& algorithm) = nullptr;
};

// The probe whose parameter `run` is a command of the scenario's author.
inline constexpr const char* kCommandProbe = "command";

// The probe that asks a server of language models, by its parameter `url`.
inline constexpr const char* kEndpointProbe = "endpoint";
// How the variables begin that hold keys of such servers: no scenario gets at any other.
inline constexpr const char* kKeyVariables = "ENDPOINT_KEY";

// The probes that compare hosts: versions; the files of a model, by its parameter `path`.
inline constexpr const char* kSoftwareProbe = "software";
inline constexpr const char* kArtifactProbe = "artifact";
// What is wrong with such a path, "is no absolute path"; empty = nothing.
std::string artifact_path_problem(const std::string& path);

struct ProbeCall {
  std::string probe;
  std::map<std::string, std::string> params;
  // Of kCommandProbe: the words that are run, without a shell; params["run"] shows them as a line.
  std::vector<std::string> command;
};

// One host of the scenario: this machine, a network namespace of it, or another machine that ssh
// reaches. Exactly one of `local`, `netns` and `ssh` says which.
inline constexpr const char* kRanksOfCores = "cores";

struct ScenarioHost {
  std::string name;
  bool local = false;  // this machine, this namespace
  std::string netns;   // a namespace's name
  std::string ssh;     // as one would write it behind `ssh`: "user@mini1.local", "mini1"
  int port = 0;        // of sshd; 0 = as ssh's own configuration says
  std::string key;     // private key file for ssh; empty = as ssh's own configuration says
  std::string binary;  // path of plumbline there; empty = this program's
  std::string user;    // who runs there (beats the part before @); empty = as we do ourselves
  std::vector<std::string> data;  // "10.10.0.1/24"; empty = see data_interfaces
  // Interfaces of that host whose addresses are its data addresses, where the file names none:
  // those behind the devices of `rdma` (rdma_en4 -> en4). With none here either: whatever the host
  // has. find_data() (host_files/find_data.h) fills in `data` from what the host's agent sees.
  std::vector<std::string> data_interfaces;
  std::string interface;           // empty = any
  std::string speed;               // "40Gbit", empty = as the system says
  std::vector<std::string> group;  // hosts that share none are not supposed to talk; empty = all
  // This host's row of JACCL's device matrix: [j] = its devices that face host j, several where
  // there are several cables, none for itself or where there is no link. Empty = no matrix.
  std::vector<std::vector<std::string>> rdma;
  // A place in an MLX ring: `data` may hold its addresses that face the host before it only. Who
  // reaches whom is not said by that: over Ethernet all do.
  bool ring = false;
  int ranks = 1;  // places for ranks
  // As many places as the machine has cores, which only it can tell (runs/hosts/agent_set.h);
  // `ranks` is 1 until then.
  bool ranks_of_cores = false;
};

// An item that the reports answer: by these probes, or by the cells for which all terms hold.
struct ChecklistCall {
  std::string item;
  std::vector<std::string> probes, cells;
  std::string path;  // "$.checklist[0]" for messages
};

// What a block's key `hosts` asks for; each choice makes one set of hosts or several.
struct HostChoice {
  std::string word = "all";  // "all" | "pairs" | "groups"; empty = see below
  size_t first = 0;          // the first n hosts of the list for each n from this ...
  size_t last = 0;           // ... to this; 0 = all there are
  std::vector<std::string> names;
};

// Root in a MatrixBlock that stands for every rank in turn.
inline constexpr int kEveryRoot = -1;

struct MatrixBlock {
  CellKind kind = CellKind::kLatency;
  std::vector<std::string> op;
  std::vector<std::string> dtype = {"f32"}, redop = {"sum"};
  std::vector<std::string> algorithm = {"auto"};  // "all" = every algorithm of the operation
  std::vector<std::string> engine = {kNativeEngine};
  std::vector<std::string> compression = {""};  // "" = none
  std::vector<std::string> split = {""};        // likewise
  std::vector<std::string> transport = {"auto"}, placement = {"out"}, sync = {"barrier"};
  std::vector<uint64_t> bytes;  // as asked for; may stay empty when barrier is the only operation
  std::vector<int> ranks;       // empty = as many as there are places
  std::vector<HostChoice> hosts = {{}};
  std::vector<std::string> distribution = {""};  // "" = block, or as a launcher did
  std::vector<int> root = {0}, arrays = {1}, outstanding = {1};
  bool oversubscribe = true;  // false: on this machine alone no more ranks than cores, but for two
  int repeat = 1;
  StopRule stop;
  int64_t throughput_time_ns = 500'000'000;
  // Link blocks: what to measure (names in link_measure_table()), numbers of parallel streams,
  // payload bits per second and payload bytes of the datagrams.
  std::vector<std::string> measure;
  std::vector<int> streams;
  std::vector<uint64_t> rate_bps = {50'000'000};
  uint64_t datagram = 1200;
  // Blocks that ask a server of language models, as in Cell.
  std::string url, answer_has, key_from;
  std::vector<std::string> model = {""}, api = {"chat"}, answer = {"stream"};
  std::vector<int> max_tokens = {0};
  std::map<std::string, std::string> params;  // option overrides of this block
  std::string path;                           // "$.matrix[0]" for messages
};

// Axes of numbers that a cell takes as they are: the key of a block, and what it fills.
struct NumberAxis {
  const char* key;
  std::vector<int> MatrixBlock::*values;
  int Cell::*field;
};
inline constexpr NumberAxis kNumberAxes[] = {
    {"arrays", &MatrixBlock::arrays, &Cell::arrays},
    {"outstanding", &MatrixBlock::outstanding, &Cell::outstanding},
    {"max_tokens", &MatrixBlock::max_tokens, &Cell::max_tokens},
};

struct Scenario {
  std::string file;  // where it came from
  std::string name;  // file name without folder and ending
  // What was read: the file's text, or, where it includes others or names a host file, all of them
  // as one JSON value with the host file's absolute path.
  std::string text;
  std::string question;
  std::vector<ScenarioHost> hosts;
  std::string coordinator;  // where rank 0 coordinates, if the host file says so: an address
  int ranks_per_host = 1;   // for hosts that do not say it themselves; already applied to `hosts`
  // Option name -> text; port_base and master_port of `launch` stand here too.
  std::map<std::string, std::string> config;
  std::vector<ProbeCall> probes;
  std::vector<MatrixBlock> matrix;
  std::string keep_traces = "never";  // "always" | "failures" | "never"
  std::vector<std::string> report;
  std::vector<ChecklistCall> checklist;
  std::vector<Rule> expect;
  std::optional<uint64_t> seed;
  bool roofs = true;
};

struct ScenarioProblem {
  std::string where;    // "smoke.json:12" or "$.matrix[0].op"
  std::string message;  // what is wrong
  std::string hint;     // nearest valid name, accepted values
};

// A value, or all that is wrong with it.
template <typename Value>
using OrProblems = tl::expected<Value, std::vector<ScenarioProblem>>;

// "where: message; hint" on one line.
std::string to_line(const ScenarioProblem& problem);

// How many ranks the hosts have places for, and whether every host is this machine itself, so that
// more may be started all the same.
int places(const std::vector<ScenarioHost>& hosts);
bool all_local(const std::vector<ScenarioHost>& hosts);
// Hosts local0 ... with 127.0.0.1.
std::vector<ScenarioHost> local_hosts(int count);

// Reads, includes, checks. All problems at once (the first 50).
OrProblems<Scenario> load_scenario(const std::string& path, const Vocabulary& vocabulary);
OrProblems<Scenario> parse_scenario(const std::string& text, const std::string& file,
                                    const Vocabulary& vocabulary);
// The hosts of a host file (any format of host_files/host_file.h that says how to reach the
// machines) or of a scenario, for commands that take one with --hosts.
OrProblems<std::vector<ScenarioHost>> load_hosts(const std::string& path);

}  // namespace plumbline
