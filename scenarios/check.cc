#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/number.h"
#include "core/op.h"
#include "core/text.h"
#include "scenarios/block_kinds.h"
#include "scenarios/expand.h"
#include "scenarios/json_text.h"
#include "scenarios/placement.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

// Options that have no place in a block's `config`, or in no scenario at all.
struct PlacedOption {
  const char *name, *instead;
  bool own = false;  // decides what is started on other hosts, and a scenario may be anybody's
};
constexpr PlacedOption kPlacedOptions[] = {
    {"ssh_config", "give --ssh-config FILE, or set PLUMBLINE_SSH_CONFIG", true},
    {"static_dir", "give --static-dir DIR, or set PLUMBLINE_STATIC_DIR", true},
    {"push", "give --push auto, or set PLUMBLINE_PUSH", true},
    {"transport", "use the key 'transport' of the block"},
    {"algorithm", "use the key 'algorithm' of the block"},
    {"compression", "use the key 'compression' of the block"},
    {"port_base", "set it under 'launch'"},
    {"master_port", "set it under 'launch'"},
    {"listen_addr", "set it in the scenario's 'config'"},
    {"ifname", "set it in the scenario's 'config'"},
    {"log_level", "set it in the scenario's 'config'"},
};

const PlacedOption* misplaced(std::string_view name, bool of_block) {
  for (const PlacedOption& row : kPlacedOptions) {
    if (name == row.name && (row.own || of_block)) return &row;
  }
  return nullptr;
}

void check_options(const std::map<std::string, std::string>& options, const std::string& where,
                   bool of_block, const Vocabulary& vocabulary, Problems& problems) {
  const OptionSet defaults(option_choices(vocabulary));
  for (const auto& [name, value] : options) {
    const std::string here = json_path(where, name);
    if (find_option(name) == nullptr) {
      const std::string near_to = nearest_name(name, row_names(option_table()));
      problems.add(here, fmt::format("unknown option {}", in_quotes(name)),
                   near_to.empty() ? "`plumbline config` lists all options"
                                   : fmt::format("did you mean '{}'?", near_to));
      continue;
    }
    if (const PlacedOption* row = misplaced(name, of_block)) {
      problems.add(here,
                   fmt::format("'{}' {}", name,
                               row->own ? "decides what is started on other hosts, so that no "
                                          "scenario may set it"
                                        : "holds for the whole run"),
                   row->instead);
    }
    if (const auto set = defaults.with(name, value, "scenario"); !set) {
      problems.add(here, set.error().what, set.error().hint);
    }
  }
}

// A transport that ranks cannot use would be another one in fact.
void check_transport(const std::string& name, const std::string& where,
                     const Vocabulary& vocabulary, Problems& problems) {
  if (vocabulary.transport_unsupported == nullptr) return;
  const std::string reason = vocabulary.transport_unsupported(name);
  if (!reason.empty()) {
    problems.add(where, fmt::format("transport {}: {}", in_quotes(name), reason),
                 "use \"tcp\" or \"auto\"");
  }
}

void check_transports(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems) {
  const auto own = scenario.config.find("transport");
  if (own != scenario.config.end()) {
    check_transport(own->second, "$.config.transport", vocabulary, problems);
  }
  for (const MatrixBlock& block : scenario.matrix) {
    for (const std::string& name : block.transport) {
      check_transport(name, block.path + ".transport", vocabulary, problems);
    }
  }
}

void check_probes(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems) {
  for (size_t i = 0; i < scenario.probes.size(); ++i) {
    const ProbeCall& call = scenario.probes[i];
    const auto row = std::find_if(vocabulary.probes.begin(), vocabulary.probes.end(),
                                  [&call](const Descriptor& d) { return d.name == call.probe; });
    if (row == vocabulary.probes.end()) continue;  // reported with the shapes
    const std::vector<std::string> names = row_names(row->params);
    for (const auto& [name, value] : call.params) {
      if (contains(names, name)) continue;
      problems.add(json_path(json_path("$.probes", i), name),
                   fmt::format("probe '{}' has no parameter {}", call.probe, in_quotes(name)),
                   names.empty() ? "it takes none" : hint_for(name, names));
    }
  }
}

// The block's largest cell of one operation and number of ranks: what can be done with it tells
// whether the combination makes sense at all.
Cell largest_cell(const MatrixBlock& block, Op op, int ranks) {
  Cell cell;
  cell.kind = block.kind;
  cell.engine = block.engine.front();
  cell.op = to_string(op);
  cell.ranks = ranks;
  for (const NumberAxis& axis : kNumberAxes) {
    const std::vector<int>& values = block.*axis.values;
    if (values.size() == 1) cell.*axis.field = values.front();
  }
  const uint64_t bytes =
      block.bytes.empty() ? 0 : *std::max_element(block.bytes.begin(), block.bytes.end());
  if (block.split.size() == 1) cell.split = block.split.front();
  if (block.compression.size() == 1) cell.compression = block.compression.front();
  if (block.dtype.size() == 1) cell.dtype = block.dtype.front();
  if (block.redop.size() == 1) cell.redop = block.redop.front();
  const Shape shape = shape_of(op, *dtype_from(block.dtype.front()), group_ranks(cell), bytes);
  cell.bytes = shape.bytes;
  cell.count = shape.count;
  return cell;
}

// A list may hold values that do not fit everywhere: those cells are skipped, with the reason. A
// value that stands alone was meant, so it is an error when it cannot be done.
void check_lone_values(const MatrixBlock& block, const std::vector<int>& ranks,
                       const Vocabulary& vocabulary, Problems& problems) {
  std::set<std::string> reported;
  for (const std::string& name : block.op) {
    for (const int n : ranks) {
      Cell cell = largest_cell(block, *op_from(name), n);
      const bool lone_algorithm = block.algorithm.size() == 1 && block.algorithm[0] != "all";
      if (lone_algorithm) cell.algorithm = block.algorithm[0];
      if (row(*op_from(name)).rooted && block.root.size() == 1) cell.root = block.root[0];
      const Impossible no = why_impossible(cell, vocabulary);
      const bool lone = (no.axis == "engine" && block.engine.size() == 1) ||
                        (no.axis == "redop" && block.redop.size() == 1) ||
                        (no.axis == "compression" && block.compression.size() == 1) ||
                        (no.axis == "split" && block.split.size() == 1 && ranks.size() == 1) ||
                        (no.axis == "arrays" && block.arrays.size() == 1) ||
                        (no.axis == "algorithm" && lone_algorithm) ||
                        (no.axis == "ranks" && ranks.size() == 1) ||
                        (no.axis == "root" && ranks.size() == 1);
      if (!lone || !reported.insert(no.axis + name).second) continue;
      std::vector<std::string> names = {"auto"};
      for (const Descriptor& row : vocabulary.algorithms) {
        if (row.group == name) names.push_back(row.name);
      }
      // Of an algorithm that is there, the reason says what it needs.
      const std::string base = algorithm_base(cell.algorithm);
      const bool unknown = no.axis == "algorithm" && !contains(names, base);
      problems.add(json_path(block.path, no.axis), no.reason, unknown ? hint_for(base, names) : "");
    }
  }
}

void check_sizes(const MatrixBlock& block, Problems& problems) {
  const auto is_barrier = [](const std::string& op) { return op == to_string(Op::kBarrier); };
  const bool all_barriers = std::all_of(block.op.begin(), block.op.end(), is_barrier);
  const bool some_barrier = std::any_of(block.op.begin(), block.op.end(), is_barrier);
  if (!all_barriers && block.bytes.empty() && !problems.has(block.path + ".bytes")) {
    problems.add(block.path, "key 'bytes' is missing",
                 "write \"bytes\": [8, \"64Ki\"] or a range {\"from\": 8, \"to\": \"1Mi\"}");
  }
  if (some_barrier && row(block.kind).headline == Headline::kBusBandwidth) {
    problems.add(block.path + ".op", "a barrier moves no bytes, so it has no bandwidth",
                 fmt::format("put it into a block of kind \"{}\"", to_string(CellKind::kLatency)));
  }
}

// "link" among others: it is a kind of its own.
bool check_operations(const MatrixBlock& block, Problems& problems) {
  for (const BlockKindRow& other : block_kind_table()) {
    if (other.own_op == nullptr) continue;
    if (!contains(block.op, other.own_op)) continue;
    problems.add(
        block.path + ".op",
        fmt::format("'{}' is no operation of a {} block", other.own_op, to_string(block.kind)),
        fmt::format("give it a block of its own: {{\"kind\": \"{}\", \"op\": \"{}\"}}",
                    to_string(other.kind), other.own_op));
    return false;
  }
  return true;
}

// Sets of hosts that the block names; none when that is what is wrong with it.
std::vector<std::string> sets_of(const MatrixBlock& block, const Scenario& scenario) {
  return host_sets(block.hosts, scenario.hosts).value_or(std::vector<std::string>{});
}

void check_hosts(const MatrixBlock& block, const Scenario& scenario, Problems& problems) {
  const auto sets = host_sets(block.hosts, scenario.hosts);
  if (!sets) return problems.add(block.path + ".hosts", sets.error().what, sets.error().hint);
  for (const ScenarioHost& host : scenario.hosts) {
    if (*sets == std::vector<std::string>{""} || host.name.find(kHostJoint) == std::string::npos) {
      continue;
    }
    problems.add(block.path + ".hosts",
                 fmt::format("the name of host {} has a '{}', which joins the names of a set",
                             in_quotes(host.name), kHostJoint),
                 "give that host another name");
  }
}

void check_places(const MatrixBlock& block, const Scenario& scenario, Problems& problems) {
  if (all_local(scenario.hosts)) return;
  for (const std::string& set : sets_of(block, scenario)) {
    const int most = places_in(scenario.hosts, set);
    for (const int n : block.ranks) {
      if (n <= most) continue;
      problems.add(block.path + ".ranks",
                   fmt::format("{} ranks, but the hosts {}{}have places for {}", n, set,
                               set.empty() ? "" : " ", most),
                   "raise launch.ranks_per_host or name more hosts");
      return;
    }
  }
}

// Numbers of ranks that the cells of the block will have.
std::vector<int> ranks_of(const MatrixBlock& block, const Scenario& scenario) {
  if (!block.ranks.empty()) return block.ranks;
  std::vector<int> ranks;
  for (const std::string& set : sets_of(block, scenario)) {
    ranks.push_back(places_in(scenario.hosts, set));
  }
  return ranks;
}

// Rank r listens on port_base + r, so the window must end below 65536 and leave master_port out.
void check_ports(const Scenario& scenario, Problems& problems) {
  const OptionSet defaults;
  const auto value = [&](const char* name) {
    const auto it = scenario.config.find(name);
    return it == scenario.config.end() ? defaults.text(name) : it->second;
  };
  const auto port = [](const std::string& text) { return parse_whole<int>(text).value_or(-1); };
  const int base = port(value("port_base")), master = port(value("master_port"));
  if (base < 0 || master < 0) return;  // auto, or reported with the options
  int most = 1;
  for (const MatrixBlock& block : scenario.matrix) {
    for (const int n : ranks_of(block, scenario)) most = std::max(most, n);
  }
  const int last = base + most - 1;
  if (last > 65535) {
    problems.add("$.launch.port_base",
                 fmt::format("{} ranks from port {} on end at {}, above 65535", most, base, last),
                 fmt::format("use at most {}", 65535 - most + 1));
  }
  if (master >= base && master <= last) {
    problems.add(
        "$.launch.master_port",
        fmt::format("{} lies in the window {}-{} on which the ranks listen", master, base, last),
        "choose one outside, or port_base \"auto\"");
  }
}

// That terms name cells of the plan can only be seen when it is made; here, that they are written
// well.
void check_checklist(const Scenario& scenario, Problems& problems) {
  for (const ChecklistCall& call : scenario.checklist) {
    if (call.probes.empty() == call.cells.empty()) {
      problems.add(call.path, "needs either 'probes' or 'cells'", "name what decides the item");
    }
    for (const std::string& probe : call.probes) {
      const bool asked = std::any_of(scenario.probes.begin(), scenario.probes.end(),
                                     [&](const ProbeCall& each) { return each.probe == probe; });
      if (asked) continue;
      problems.add(call.path + ".probes",
                   fmt::format("probe {} is not among the scenario's 'probes'", in_quotes(probe)),
                   "add it there");
    }
  }
}

}  // namespace

std::string option_place(std::string_view name, bool of_block) {
  const PlacedOption* row = misplaced(name, of_block);
  return row == nullptr ? "" : row->instead;
}

OptionChoices option_choices(const Vocabulary& vocabulary) {
  if (vocabulary.transports.empty()) return {};
  std::vector<std::string> transports = {"auto"};
  for (const Descriptor& row : vocabulary.transports) transports.push_back(row.name);
  return {{"transport", std::move(transports)}};
}

bool check_operation_block(const MatrixBlock& block, const Scenario& scenario,
                           const Vocabulary& vocabulary, Problems& problems) {
  if (!check_operations(block, problems)) return false;
  check_sizes(block, problems);
  check_lone_values(block, ranks_of(block, scenario), vocabulary, problems);
  return true;
}

void check_scenario(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems) {
  check_options(scenario.config, "$.config", false, vocabulary, problems);
  check_transports(scenario, vocabulary, problems);
  check_probes(scenario, vocabulary, problems);
  check_endpoint_probes(scenario, problems);
  check_equality_probes(scenario, problems);
  size_t cells = 0;
  for (const MatrixBlock& block : scenario.matrix) {
    check_options(block.params, block.path + ".config", true, vocabulary, problems);
    check_hosts(block, scenario, problems);
    check_places(block, scenario, problems);
    if (!block_kind_of(block.kind).check(block, scenario, vocabulary, problems)) continue;
    cells += count_cells(block, {&scenario.hosts, &vocabulary});
    if (cells > kMaxPlanCells) {
      problems.add(block.path, fmt::format("the matrix has more than {} cells", kMaxPlanCells),
                   "shorten its lists");
      break;
    }
  }
  check_ports(scenario, problems);
  check_checklist(scenario, problems);
}

}  // namespace plumbline
