// `plumbline lab`: virtual clusters out of network namespaces, and faults on purpose.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

#include "cli/commands.h"
#include "cli/plain_caller.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {
namespace {

using Words = std::vector<std::string>;

int interrupted_or(Context& context, const Error& error) {
  usage_failure(context, error);
  return error.code == ErrorCode::kInterrupted ? 130 : 1;
}

// --seed, or one from the system, which is printed so that it can be repeated.
Expected<uint64_t> seed_of(const Args& args) {
  constexpr int64_t kMaxSeed = INT64_MAX;
  const Expected<int64_t> seed =
      flag_number(args, "seed", std::random_device{}() % 1'000'000, 0, kMaxSeed);
  if (!seed) return fail(seed.error());
  return static_cast<uint64_t>(*seed);
}

std::string hosts_in_words(const Lab& lab) {
  std::string out;
  for (const LabHost& host : lab.hosts) {
    out += fmt::format("  {:<12} namespace {:<24}", host.name, host.netns);
    for (const LabLink& link : host.links)
      out += fmt::format(" {} on {}", link.data, link.interface);
    out += "\n";
  }
  return out;
}

int lab_up_command(const Args& args, const Words& words, Context& context) {
  if (words.size() != 1) {
    return usage_failure(context, usage_error("lab up needs one topology file",
                                              "plumbline lab up scenarios/labs/star4.json"));
  }
  const Expected<uint64_t> seed = seed_of(args);
  if (!seed) return usage_failure(context, seed.error());
  constexpr size_t kMostBytes = 1 << 20;
  const Expected<std::string> text = read_input_file(words[0], kMostBytes);
  if (!text) return usage_failure(context, text.error());
  const Expected<LabTopology> topology = parse_topology(*text, words[0]);
  if (!topology) return usage_failure(context, topology.error());
  watch_interrupts();
  const Expected<Lab> lab = lab_up(*topology, *seed, [] { return interrupts() > 0; });
  if (!lab) return interrupted_or(context, lab.error());
  *context.err << fmt::format("plumbline: lab '{}' is up (seed {})\n{}", lab->name, lab->seed,
                              hosts_in_words(*lab))
               << fmt::format("plumbline: try: plumbline doctor --hosts {}\n", lab->hosts_file);
  *context.out << lab->hosts_file << std::endl;
  return 0;
}

int lab_list_command(const Args& args, Context& context) {
  nlohmann::json all = nlohmann::json::array();
  Words names = lab_names();
  if (args.has("lab")) {
    const std::string wanted = args.get("lab");
    if (std::count(names.begin(), names.end(), wanted) == 0) {
      return usage_failure(context, lab_open(wanted).error());
    }
    names = {wanted};
  }
  for (const std::string& name : names) {
    const Expected<Lab> lab = lab_open(name);
    if (args.has("json")) {
      nlohmann::json entry = {{"name", name}, {"complete", lab.has_value()}};
      if (lab) {
        entry["hosts_file"] = lab->hosts_file;
        entry["seed"] = lab->seed;
        for (const LabHost& host : lab->hosts) entry["hosts"].push_back(host.name);
        for (const Injected& fault : injected_faults(*lab)) {
          entry["faults"].push_back({{"fault", fault.fault}, {"how", fault.how}});
        }
      }
      all.push_back(entry);
    } else if (!lab) {
      *context.out << name << ": " << lab.error().message() << "\n";
    } else {
      *context.out << fmt::format("{}: {} hosts, seed {}, {}\n{}", name, lab->hosts.size(),
                                  lab->seed, lab->hosts_file, hosts_in_words(*lab));
      for (const Injected& fault : injected_faults(*lab)) {
        *context.out << fmt::format("  fault {}: {}\n", fault.fault, fault.how);
      }
    }
  }
  if (args.has("json")) *context.out << json_text(all);
  return 0;
}

// Becomes the command: its streams, its signals and its exit status are those of the caller.
int lab_exec_command(const Args& args, const Lab& lab, Words words, Context& context) {
  for (const std::string& name : args.names()) {
    if (name == "action" || name == "words" || name == "lab") continue;
    return usage_failure(
        context, usage_error("lab exec takes no --" + name,
                             "if it belongs to the command: plumbline lab exec HOST -- CMD"));
  }
  if (!words.empty() && words.size() > 1 && words[1] == "--") words.erase(words.begin() + 1);
  if (words.size() < 2) {
    return usage_failure(context, usage_error("lab exec needs a host and a command",
                                              "plumbline lab exec HOST -- ip address"));
  }
  const LabHost* host = find_lab_host(lab, words[0]);
  if (host == nullptr) {
    Words names;
    for (const LabHost& other : lab.hosts) names.push_back(other.name);
    return usage_failure(context,
                         usage_error(fmt::format("lab '{}' has no host '{}'", lab.name, words[0]),
                                     near_or(words[0], names, "plumbline lab list")));
  }
  Words argv = {"ip", "netns", "exec", host->netns};
  argv.insert(argv.end(), words.begin() + 1, words.end());
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  context.out->flush();
  std::signal(SIGPIPE, SIG_DFL);
  execvp(pointers[0], pointers.data());
  return usage_failure(context, Error{ErrorCode::kSystem, "start ip", errno, "", ""});
}

int lab_faults_command(const Args& args, Context& context) {
  const Expected<Lab> lab = lab_open(args.get("lab"));
  if (!lab && args.has("lab")) return usage_failure(context, lab.error());
  nlohmann::json all = nlohmann::json::array();
  std::string family;
  for (const FaultRow& row : fault_table()) {
    // With a lab that is up, whether it can be made there.
    const std::string reason = lab ? row.unavailable(*lab) : "";
    if (args.has("json")) {
      all.push_back({{"fault", row.name},
                     {"family", row.family},
                     {"help", row.help},
                     {"unavailable", reason}});
      continue;
    }
    if (family != row.family) *context.out << (family.empty() ? "" : "\n") << row.family << "\n";
    family = row.family;
    *context.out << fmt::format("  {:<22} {}", row.name, row.help);
    if (!reason.empty()) *context.out << " (not in this lab: " << reason << ")";
    *context.out << "\n";
  }
  if (args.has("json")) *context.out << json_text(all);
  return 0;
}

nlohmann::json injected_json(const Injected& injected, uint64_t seed) {
  return {{"fault", injected.fault},
          {"seed", seed},
          {"host", injected.target.host},
          {"peer", injected.target.peer},
          {"port", injected.target.port},
          {"how", injected.how},
          {"doctor_args", injected.doctor_args},
          {"expect",
           {{"causes", injected.causes},
            {"coarse", injected.coarse},
            {"host", injected.expect_host},
            {"peer", injected.expect_peer},
            {"other_hosts", injected.other_hosts},
            {"any_peer", injected.any_peer},
            {"warn", injected.warn},
            {"remedy_is_local", injected.remedy_is_local}}}};
}

int lab_inject_command(const Args& args, const Words& words, Lab& lab, Context& context) {
  if (words.size() != 1) {
    return usage_failure(context,
                         usage_error("lab inject needs one fault", "see plumbline lab faults"));
  }
  const Expected<uint64_t> seed = seed_of(args);
  if (!seed) return usage_failure(context, seed.error());
  FaultTarget target;
  target.host = args.get("host");
  target.peer = args.get("peer");
  const Expected<int64_t> port = flag_number(args, "port", target.port, 1, 65535);
  if (!port) return usage_failure(context, port.error());
  target.port = static_cast<int>(*port);
  const Expected<Injected> injected = inject_fault(lab, words[0], target, *seed);
  if (!injected) return usage_failure(context, injected.error());
  if (args.has("json")) {
    *context.out << json_text(injected_json(*injected, *seed));
    return 0;
  }
  *context.err << fmt::format("plumbline: {} (seed {}): {}\n", injected->fault, *seed,
                              injected->how);
  if (!injected->doctor_args.empty()) {
    std::string words_of_doctor;
    for (const std::string& word : injected->doctor_args) words_of_doctor += " " + word;
    *context.err << "plumbline: it shows with: plumbline doctor --hosts " << lab.hosts_file
                 << words_of_doctor << "\n";
  }
  *context.err << "plumbline: heal it with: plumbline lab heal " << injected->fault << "\n";
  return 0;
}

int lab_heal_command(const Words& words, Lab& lab, Context& context) {
  if (words.size() > 1) return usage_failure(context, usage_error("lab heal takes one fault", ""));
  const Status healed = heal_fault(lab, words.empty() ? "" : words[0]);
  return healed ? 0 : usage_failure(context, healed.error());
}

int lab_down_command(const Args& args, const Words& words, Context& context) {
  Words names = words;
  if (args.has("all")) names = lab_names();
  if (!args.has("all") && names.empty() && args.has("lab")) names = {args.get("lab")};
  if (!args.has("all") && names.empty()) {
    // Also a lab whose `up` was cut short, which lab_open would refuse.
    names = lab_names();
    if (names.size() != 1) {
      return usage_failure(
          context, usage_error(names.empty() ? "no lab is up" : "several labs are up",
                               names.empty() ? "" : "plumbline lab down NAME, or lab down --all"));
    }
  }
  int code = 0;
  for (const std::string& name : names) {
    const Status down = lab_down(name);
    if (!down) code = usage_failure(context, down.error());
  }
  return code;
}

}  // namespace

int run_lab(const Args& args, Context& context) {
  Words words = args.all("words");
  const std::string action = args.get("action");
  if (action == "up") return lab_up_command(args, words, context);
  if (action == "down") return lab_down_command(args, words, context);
  if (action == "list") return lab_list_command(args, context);
  if (action == "faults") return lab_faults_command(args, context);
  if (action == "matrix") return lab_matrix_command(args, context);
  const Words with_lab = {"exec", "inject", "heal"};
  if (std::count(with_lab.begin(), with_lab.end(), action) == 0) {
    return usage_failure(context, usage_error("lab cannot '" + action + "'",
                                              near_or(action,
                                                      Words{"up", "down", "list", "exec", "faults",
                                                            "inject", "heal", "matrix"},
                                                      "see plumbline lab --help")));
  }
  Expected<Lab> lab = lab_open(args.get("lab"));
  if (!lab) return usage_failure(context, lab.error());
  if (action == "exec") return lab_exec_command(args, *lab, words, context);
  if (action == "inject") return lab_inject_command(args, words, *lab, context);
  return lab_heal_command(words, *lab, context);
}

}  // namespace plumbline
