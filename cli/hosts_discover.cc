#include "cli/hosts_discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/progress.h"
#include "core/file.h"
#include "core/json.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/sources/collected.h"
#include "reports/charts/network_drawing.h"
#include "reports/text.h"
#include "runs/doctor_run.h"
#include "scenarios/host_files/changes.h"
#include "scenarios/host_files/discovered.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"

namespace plumbline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int64_t kLimitMs = 60'000;
constexpr int kFailed = 2;  // exit code: a host or its cables are not in order

struct Discovery {
  EvidenceSet evidence;
  CableGraph graph;
  std::vector<ScenarioHost> hosts;
  std::optional<HostFile> old;  // of --since
  std::optional<DiscoveredFile> made;
  std::optional<Error> why_not;  // made
  std::vector<std::string> changes;
};

// ---- whom to ask ----

// "mini1", "me@mini1.local", "localhost", "netns:blue".
Expected<std::vector<ScenarioHost>> hosts_of_words(const std::vector<std::string>& words) {
  constexpr std::string_view kNamespace = "netns:";
  std::vector<ScenarioHost> out;
  for (const std::string& word : words) {
    if (std::error_code code; word.ends_with(".json") && fs::exists(word, code)) {
      return fail(usage_error("discover takes names of hosts, and " + word + " is a file",
                              "--since " + word + " asks the hosts of that file again"));
    }
    ScenarioHost host;
    if (word.rfind(kNamespace, 0) == 0) {
      host.name = host.netns = word.substr(kNamespace.size());
    } else if (const std::string problem = destination_problem(word); !problem.empty()) {
      return fail(usage_error(problem, "name hosts as behind ssh: mini1, me@mini1.local"));
    } else {
      host = host_behind(word, out, 1);
    }
    if (const std::string problem = host_name_problem(host.name); !problem.empty()) {
      return fail(usage_error(problem, kHostNameHint));
    }
    const bool twice = any_of(
        out, [&](const ScenarioHost& other) { return machine_of(other) == machine_of(host); });
    if (twice) return fail(usage_error(in_quotes(word) + " is named twice", "name each host once"));
    out.push_back(std::move(host));
  }
  return out;
}

std::string first_problem(const std::vector<ScenarioProblem>& problems) {
  return problems.empty() ? "no problem" : to_line(problems[0]);
}

// How to reach the hosts of collected files: by the names that they have.
std::vector<ScenarioHost> hosts_of_evidence(const EvidenceSet& evidence) {
  std::vector<ScenarioHost> out;
  for (const HostEvidence& host : evidence.hosts) {
    ScenarioHost one;
    one.name = host.name;
    one.ssh = host.hostname.empty() || !destination_problem(host.hostname).empty() ? host.name
                                                                                   : host.hostname;
    out.push_back(std::move(one));
  }
  return out;
}

// ---- asking ----

Expected<EvidenceSet> ask(const std::vector<ScenarioHost>& hosts, const Args& args,
                          Context& context) {
  const auto options = resolve_options(args);
  if (!options) return fail(options.error()[0]);
  Scenario scenario;
  scenario.hosts = hosts;
  DiagnoseRequest request;
  request.scenario = &scenario;
  request.options = &*options;
  request.calls = {{"launch", {}}};  // what every host says of itself
  request.deep = true;               // also what only some Macs have
  request.limit_ms = kLimitMs;
  PlainCaller caller(*context.err);
  const Expected<Reach> reach = make_reach(*options, scenario.hosts, caller);
  if (!reach) return fail(reach.error());
  StatusLine line(*context.err, context.err_is_terminal, context.width);
  request.progress = [&line](const std::string& text) { line.show(text); };
  request.interrupted = [] { return interrupts() > 0; };
  watch_interrupts();
  const AgentSet agents(scenario.hosts, *reach, *options);
  ProbeResult result = diagnose(request, agents);
  line.clear();
  return std::move(result.evidence);
}

// ---- saying ----

std::string place_of(const CableGraph& graph, const CableEnd& end) {
  return fmt::format("{} {}", graph.hosts[end.host], end_words(end));
}

std::string facts_of(const Cable& cable) {
  std::vector<std::string> words;
  if (cable.speed_bps) words.push_back(describe_bit_rate(*cable.speed_bps));
  if (cable.hubs > 0)
    words.push_back(fmt::format("{} hub{}", cable.hubs, cable.hubs > 1 ? "s" : ""));
  if (!cable.network.empty()) words.push_back(cable.network);
  if (!cable.thunderbolt) words.emplace_back("by its addresses");
  return join_words(words);
}

std::string counted(size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

bool contradicts(const CableDoubt& doubt) {
  return doubt.kind != CableDoubt::Kind::kStranger && doubt.kind != CableDoubt::Kind::kSelf;
}

std::vector<std::string> unasked(const EvidenceSet& evidence) {
  std::vector<std::string> out;
  for (const HostEvidence& host : evidence.hosts) {
    if (!has_facts(host)) out.push_back(fmt::format("{}: {}", host.name, lack_of_facts(host)));
  }
  return out;
}

// What of a host's sources could not be had, of those that tell of cables.
std::vector<std::string> unread_sources(const EvidenceSet& evidence) {
  static const std::vector<std::string> kOfCables = {"system-profiler-thunderbolt", "networksetup",
                                                     "ibv-devices", "sys-bus-thunderbolt",
                                                     "rdma-ctl"};
  std::vector<std::string> out;
  for (const HostEvidence& host : evidence.hosts) {
    for (const std::string& line : host.unreadable) {
      if (is_in(kOfCables, line.substr(0, line.find(':')))) out.push_back(host.name + ": " + line);
    }
  }
  return out;
}

// Macs that were asked and did not tell of their sockets: their cables are not known.
std::vector<std::string> silent_hosts(const EvidenceSet& evidence) {
  std::vector<std::string> out;
  for (const HostEvidence& host : evidence.hosts) {
    if (has_facts(host) && host.system == "macos" && !host.thunderbolt) out.push_back(host.name);
  }
  return out;
}

void list_lines(const std::string& title, const std::vector<std::string>& lines, std::string& out) {
  if (lines.empty()) return;
  out += "\n" + title + "\n";
  for (const std::string& line : lines) out += "  " + line + "\n";
}

void add_setup(const DiscoveredFile& made, std::string& out) {
  if (made.setup.empty()) {
    out += "\nnothing has to be done on the hosts: all addresses are in place\n";
    return;
  }
  out += "\nto be done before the first run, as root (lost when the host restarts):\n";
  for (const HostSetup& host : made.setup) {
    out += "  on " + host.host + "\n";
    for (const RemedyStep& step : host.steps.steps()) out += "    " + step.text + "\n";
    out += "    # taken back by\n";
    for (const RemedyStep& step : host.undo.steps()) out += "    # " + step.text + "\n";
  }
}

std::string shape_of(const CableGraph& graph) {
  return graph.shape == "other" ? "neither mesh nor ring nor star" : graph.shape;
}

std::string in_words(const Discovery& found) {
  const CableGraph& graph = found.graph;
  std::string out = fmt::format("{}, {}: {}\n", counted(graph.hosts.size(), "host"),
                                counted(graph.cables.size(), "cable"), shape_of(graph));
  for (const Cable& cable : graph.cables) {
    const std::string facts = facts_of(cable);
    out += fmt::format("  {} - {}{}\n", place_of(graph, cable.a), place_of(graph, cable.b),
                       facts.empty() ? "" : ": " + facts);
  }
  for (const SharedNetwork& shared : graph.networks) {
    std::vector<std::string> ends;
    for (const CableEnd& end : shared.ends) ends.push_back(place_of(graph, end));
    out += fmt::format("  network {}: {}\n", shared.network, join_words(ends));
  }
  std::vector<std::string> wrong, seen;
  for (const CableDoubt& doubt : graph.doubts) {
    (contradicts(doubt) ? wrong : seen).push_back(graph.hosts[doubt.host] + ": " + doubt.text);
  }
  list_lines("could not be asked:", unasked(found.evidence), out);
  list_lines("not told by every host:", unread_sources(found.evidence), out);
  list_lines("contradictions (such a cable counts for none):", wrong, out);
  list_lines("also seen:", seen, out);
  if (found.made) {
    const std::string& backend = found.made->file.backend;
    out += fmt::format("\nbackend: {} ({})\n", backend.empty() ? "none" : backend, found.made->why);
    list_lines("left out:", found.made->notes, out);
    add_setup(*found.made, out);
  }
  if (found.old) {
    list_lines(
        "since " + found.old->file + ":",
        found.changes.empty() ? std::vector<std::string>{"nothing has changed"} : found.changes,
        out);
  }
  return escaped(out, "\n");
}

json end_json(const CableGraph& graph, const CableEnd& end) {
  return {{"host", graph.hosts[end.host]},
          {"interface", end.interface},
          {"receptacle", end.receptacle}};
}

json steps_json(const Remedy& remedy) {
  json out = json::array();
  for (const RemedyStep& step : remedy.steps()) out.push_back(step.text);
  return out;
}

json as_json(const Discovery& found, const std::string& text) {
  const CableGraph& graph = found.graph;
  json cables = json::array(), networks = json::array(), doubts = json::array(),
       setup = json::array();
  for (const Cable& cable : graph.cables) {
    cables.push_back({{"a", end_json(graph, cable.a)},
                      {"b", end_json(graph, cable.b)},
                      {"speed_bps", cable.speed_bps ? json(*cable.speed_bps) : json()},
                      {"hubs", cable.hubs},
                      {"known_by", cable.thunderbolt ? "thunderbolt" : "addresses"},
                      {"network", cable.network}});
  }
  for (const SharedNetwork& shared : graph.networks) {
    json ends = json::array();
    for (const CableEnd& end : shared.ends) ends.push_back(end_json(graph, end));
    networks.push_back({{"network", shared.network}, {"ends", std::move(ends)}});
  }
  for (const CableDoubt& doubt : graph.doubts) {
    doubts.push_back({{"host", graph.hosts[doubt.host]},
                      {"contradiction", contradicts(doubt)},
                      {"text", doubt.text}});
  }
  json out = {{"hosts", graph.hosts},
              {"shape", graph.shape},
              {"cables", std::move(cables)},
              {"networks", std::move(networks)},
              {"doubts", std::move(doubts)},
              {"unasked", unasked(found.evidence)},
              {"unread", unread_sources(found.evidence)}};
  if (found.made) {
    for (const HostSetup& host : found.made->setup) {
      setup.push_back({{"host", host.host},
                       {"steps", steps_json(host.steps)},
                       {"undo", steps_json(host.undo)}});
    }
    out["backend"] = found.made->file.backend;
    out["why"] = found.made->why;
    out["notes"] = found.made->notes;
    out["setup"] = std::move(setup);
    out["host_file"] = text;
  }
  if (found.old) out["changes"] = found.changes;
  return out;
}

NetworkDrawing drawing_of(const CableGraph& graph) {
  NetworkDrawing out{"cables", shape_of(graph), "the interface at each end", graph.hosts, {}};
  for (const Cable& cable : graph.cables) {
    const auto name = [](const CableEnd& end) {
      return end.interface.empty() ? std::string("?") : end.interface;
    };
    out.edges.push_back({static_cast<int>(cable.a.host), static_cast<int>(cable.b.host),
                         cable.speed_bps ? describe_bit_rate(*cable.speed_bps) : std::string(),
                         cable.hubs > 0, false, name(cable.a), name(cable.b)});
  }
  if (!graph.cables.empty()) return out;
  for (const SharedNetwork& shared : graph.networks) {
    const int middle = static_cast<int>(out.names.size());
    out.names.push_back(shared.network);
    for (const CableEnd& end : shared.ends) {
      out.edges.push_back({static_cast<int>(end.host), middle, end.interface, false, false});
    }
  }
  return out;
}

// ---- writing ----

Status write_pictures(const Discovery& found, const Args& args, Context& context) {
  const NetworkDrawing drawing = drawing_of(found.graph);
  const auto write = [&](const char* flag, std::string (*draw)(const NetworkDrawing&)) -> Status {
    if (!args.has(flag)) return {};
    if (Status done = write_text_file(args.get(flag), draw(drawing)); !done) return done;
    *context.err << clean("plumbline: wrote " + args.get(flag)) << "\n";
    return {};
  };
  if (Status dot = write("dot", network_dot); !dot) return dot;
  return write("svg", network_svg);
}

// Why no host file is written; empty = nothing stands in the way.
std::string obstacle(const Discovery& found, bool force) {
  const std::vector<std::string> missing = unasked(found.evidence);
  if (!missing.empty()) return "not every host could be asked";
  if (found.why_not) return found.why_not->message();
  if (force) return {};
  if (any_of(found.graph.doubts, contradicts)) {
    return "the cables contradict one another (with --force it is written without those)";
  }
  const std::vector<std::string> silent = silent_hosts(found.evidence);
  if (silent.empty()) return {};
  return fmt::format("{} did not tell of cables (with --force it is written without those)",
                     join_words(silent));
}

int finish(Discovery& found, const Args& args, Context& context) {
  std::string text;
  if (found.made) {
    const HostFileFormat* const as = find_host_file_format(args.get("to", "ours"));
    const Expected<WrittenHostFile> written = write_host_file(found.made->file, *as, 0);
    if (written) {
      text = written->text;
      for (const std::string& lost : written->lost) {
        found.made->notes.push_back(fmt::format("format {} cannot express it: {}", as->name, lost));
      }
    } else {
      found.why_not = written.error();
    }
  }
  const std::string why = obstacle(found, args.has("force"));
  if (args.has("json")) {
    *context.out << json_text(as_json(found, why.empty() ? text : std::string()));
  } else {
    *context.out << in_words(found);
    if (!args.has("out") && why.empty()) *context.out << "\nhost file:\n" << text;
  }
  if (const Status drawn = write_pictures(found, args, context); !drawn) {
    return usage_failure(context, drawn.error());
  }
  if (!why.empty()) {
    *context.err << clean("plumbline: no host file is made: " + why) << "\n";
    return kFailed;
  }
  if (!args.has("out")) return 0;
  if (const Status done = replace_text_file(args.get("out"), text, "choose another --out"); !done) {
    return usage_failure(context, done.error());
  }
  *context.err << clean("plumbline: wrote " + args.get("out") + "; next: plumbline doctor " +
                        args.get("out"))
               << "\n";
  return 0;
}

Status check_flags(const Args& args) {
  const bool words = args.has("file"), files = args.has("from"), since = args.has("since");
  if (!words && !files && !since) {
    return fail(usage_error("discover needs hosts", "plumbline hosts discover mini1 mini2"));
  }
  if (args.has("to") && find_host_file_format(args.get("to")) == nullptr) {
    std::vector<std::string> names;
    for (const HostFileFormat& row : host_file_formats()) names.emplace_back(row.name);
    return fail(
        usage_error("no format " + in_quotes(args.get("to")), hint_for(args.get("to"), names)));
  }
  if (args.has("out") && !args.has("force") && fs::exists(args.get("out"))) {
    return fail(usage_error(
        args.get("out") + " is there already",
        "--force writes over it; --since " + args.get("out") + " tells what has changed since"));
  }
  return {};
}

}  // namespace

int discover_hosts(const Args& args, Context& context) {
  if (const Status flags = check_flags(args); !flags) return usage_failure(context, flags.error());
  Discovery found;
  if (args.has("since")) {
    auto old = load_host_file(args.get("since"));
    if (!old) {
      return usage_failure(context, usage_error(first_problem(old.error()),
                                                "--since takes a host file that can be read"));
    }
    found.old = std::move(*old);
  }
  if (args.has("from")) {
    std::vector<std::string> paths = args.all("from");
    const std::vector<std::string> more = args.all("file");  // --from a b c
    paths.insert(paths.end(), more.begin(), more.end());
    Expected<EvidenceSet> evidence = read_evidence_files(paths);
    if (!evidence) return usage_failure(context, evidence.error());
    found.evidence = std::move(*evidence);
    found.hosts = hosts_of_evidence(found.evidence);
  } else {
    if (args.has("file")) {
      Expected<std::vector<ScenarioHost>> hosts = hosts_of_words(args.all("file"));
      if (!hosts) return usage_failure(context, hosts.error());
      found.hosts = std::move(*hosts);
    } else {
      found.hosts = found.old->hosts;
      for (ScenarioHost& host : found.hosts) host.data.clear();
    }
    Expected<EvidenceSet> evidence = ask(found.hosts, args, context);
    if (interrupts() > 0) {
      *context.err << "plumbline: interrupted\n";
      return 130;
    }
    if (!evidence) return usage_failure(context, evidence.error());
    found.evidence = std::move(*evidence);
  }
  for (ScenarioHost& host : found.hosts) {
    host.rdma.clear();
    host.data_interfaces.clear();
  }
  found.graph = find_cables(found.evidence);
  Expected<DiscoveredFile> made =
      discovered_file(found.evidence, found.graph, found.hosts, args.get("backend"));
  if (made) {
    found.made = std::move(*made);
    found.made->file.file = args.get("out", "the host file");
    if (found.old) {
      found.changes = changes_since(*found.old, found.made->file);
      found.made->file.envs = found.old->envs;
    }
  } else {
    found.why_not = made.error();
  }
  return finish(found, args, context);
}

}  // namespace plumbline
