#include "cli/scenario_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/named_inputs.h"
#include "cli/vocabulary.h"
#include "core/json.h"
#include "core/number.h"
#include "core/text.h"
#include "reports/text.h"
#include "runs/ranks/rank_places.h"

namespace plumbline {
namespace {

void print_problems(const std::vector<ScenarioProblem>& problems, Context& context) {
  for (const ScenarioProblem& problem : problems) {
    *context.err << "plumbline: " << to_line(problem) << "\n";
  }
}

// False after saying that the word is neither a file nor a scenario's name.
bool is_there(const std::string& word, Context& context) {
  const Status known = check_scenario_word(word);
  if (!known) usage_failure(context, known.error());
  return known.has_value();
}

void limit_rounds(uint64_t most, Scenario& scenario) {
  for (MatrixBlock& block : scenario.matrix) {
    block.stop.max_n = std::min(block.stop.max_n, most);
    block.stop.min_n = std::min(block.stop.min_n, most);
  }
}

std::vector<std::string> their_names(const std::vector<ScenarioHost>& hosts) {
  std::vector<std::string> names;
  for (const ScenarioHost& host : hosts) names.push_back(host.name);
  return names;
}

// Of a host file that was read before, without a word of what is wrong with it.
std::string coordinator_in(const std::string& path) {
  const auto file = load_host_file(path);
  return file ? named_coordinator(*file) : std::string();
}

constexpr const char* kOnlyWithFlag = " (only with --allow-commands)";

}  // namespace

std::optional<Scenario> read_scenario(const std::string& path, const Args& args, Context& context) {
  if (!is_there(path, context)) return std::nullopt;
  auto read = load_scenario(path, make_vocabulary(args.has(kRanksInProcess)));
  if (!read) {
    print_problems(read.error(), context);
    return std::nullopt;
  }
  std::optional<Scenario> scenario = std::move(*read);
  if (args.has("rounds")) {
    const Expected<int64_t> rounds = flag_number(args, "rounds", INT64_MAX, 1, INT64_MAX);
    if (!rounds) {
      usage_failure(context, rounds.error());
      return std::nullopt;
    }
    limit_rounds(static_cast<uint64_t>(*rounds), *scenario);
  }
  if (!args.has("hosts")) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(args.get("hosts"), context);
  if (!hosts) return std::nullopt;
  scenario->hosts = std::move(*hosts);
  scenario->coordinator = coordinator_in(args.get("hosts"));
  // A host that does not say how many ranks it has place for is read as 1.
  for (ScenarioHost& host : scenario->hosts) {
    if (host.ranks != 1 || scenario->ranks_per_host == 1) continue;
    host.ranks = scenario->ranks_per_host;
    host.ranks_of_cores = false;
  }
  return scenario;
}

std::optional<HostFile> read_host_file(const std::string& path, Context& context) {
  auto file = load_host_file(path);
  if (file) return std::move(*file);
  print_problems(file.error(), context);
  return std::nullopt;
}

std::optional<std::vector<ScenarioHost>> read_hosts(const std::string& path, Context& context) {
  if (!is_there(path, context)) return std::nullopt;
  auto hosts = load_hosts(path);
  if (hosts) return std::move(*hosts);
  print_problems(hosts.error(), context);
  return std::nullopt;
}

std::optional<Scenario> read_scenario_or_hosts(const Args& args, int local, Context& context) {
  const std::string path = args.get("file", args.get("hosts"));
  Scenario scenario;
  scenario.file = path;
  scenario.hosts = local_hosts(local);
  if (path.empty()) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(path, context);
  if (!hosts) return std::nullopt;
  if (const auto read = load_host_file(path); read && read->of_scenario) {
    if (const Status programs = check_binaries(*hosts, permitted_by(args)); !programs) {
      usage_failure(context, programs.error());
      return std::nullopt;
    }
  }
  if (auto whole = load_scenario(path, make_vocabulary())) return std::move(*whole);
  scenario.hosts = std::move(*hosts);
  scenario.coordinator = coordinator_in(path);
  return scenario;
}

Expected<std::optional<uint64_t>> seed_flag(const Args& args) {
  if (!args.has("seed")) return std::optional<uint64_t>();
  const std::optional<uint64_t> seed = parse_whole<uint64_t>(args.get("seed"));
  if (seed) return seed;
  return fail(ErrorCode::kUsage, fmt::format("--seed '{}' is not a whole number from 0 to {}",
                                             args.get("seed"), UINT64_MAX));
}

Status add_models(const Args& args, Scenario& scenario) {
  for (const std::string& path : args.all("model")) {
    const std::string problem = path.find(',') != std::string::npos
                                    ? std::string("has a comma, which separates paths elsewhere")
                                    : artifact_path_problem(path);
    if (!problem.empty()) {
      return fail(usage_error(fmt::format("--model {} {}", in_quotes(path), problem),
                              "give a folder or file by /path/to/it, or '~/path' in quotes for one "
                              "in the home of whoever runs on each host"));
    }
    const auto open =
        std::find_if(scenario.probes.begin(), scenario.probes.end(), [](const ProbeCall& call) {
          const auto given = call.params.find("path");
          return call.probe == kArtifactProbe &&
                 (given == call.params.end() || given->second.empty());
        });
    if (open != scenario.probes.end()) {
      open->params["path"] = path;
    } else {
      ProbeCall more;
      more.probe = kArtifactProbe;
      more.params["path"] = path;
      scenario.probes.push_back(std::move(more));
    }
  }
  return {};
}

Permitted permitted_by(const Args& args) {
  const bool all = args.has(kAllowCommands);
  return {all, all || args.has("hosts")};
}

void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out) {
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    out << fmt::format("command on {}: {}{}\n",
                       clean(fmt::format("{}", fmt::join(their_names(scenario.hosts), ", "))),
                       clean(call.params.at("run")), permitted.commands ? "" : kOnlyWithFlag);
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (host.binary.empty()) continue;
    out << fmt::format("plumbline on {}: {}{}\n", clean(host.name), clean(host.binary),
                       permitted.binaries ? "" : kOnlyWithFlag);
  }
}

nlohmann::json programs_json(const Scenario& scenario, const Permitted& permitted) {
  nlohmann::json commands = nlohmann::json::array(), binaries = nlohmann::json::array();
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    commands.push_back({{"argv", call.command},
                        {"hosts", their_names(scenario.hosts)},
                        {"permitted", permitted.commands}});
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (host.binary.empty()) continue;
    binaries.push_back(
        {{"host", host.name}, {"binary", host.binary}, {"permitted", permitted.binaries}});
  }
  return {{"commands", std::move(commands)}, {"binaries", std::move(binaries)}};
}

}  // namespace plumbline
