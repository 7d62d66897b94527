// `plumbline launch`: any program on all hosts of a host file, a process per rank, with the
// variables that such programs read to learn who they are. Output comes back line by line behind
// the rank's number; one rank that fails ends all; nothing outlives this process.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "cli/launch_silence.h"
#include "cli/launch_styles.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/safe_output.h"
#include "cli/scenario_source.h"
#include "core/encode.h"
#include "core/number.h"
#include "core/units.h"
#include "launch/guard.h"
#include "launch/launcher_env.h"
#include "launch/leftovers.h"
#include "launch/line_io.h"
#include "launch/process.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/reach.h"
#include "scenarios/host_files/backends.h"

namespace plumbline {
namespace {

constexpr size_t kLongestOutput = 1u << 20;  // bytes; a longer line comes in parts
constexpr int64_t kGraceMs = 2500;           // from the end of their input to SIGKILL
constexpr int64_t kOrderMs = 8000;           // a slow login
constexpr int kSshFailed = 255;
constexpr int64_t kLongestSilence = 24 * 3600 * kSecond;

Expected<EnvironmentList> given_variables(const Args& args) {
  EnvironmentList out;
  for (const std::string& text : args.all("env")) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty() || name.find_first_of(" \t\n") != std::string::npos) {
      return fail(usage_error("--env " + text + " names no variable", "write --env NAME=VALUE"));
    }
    if (equals != std::string::npos) {
      out.emplace_back(name, text.substr(equals + 1));
    } else if (const char* own = std::getenv(name.c_str()); own != nullptr) {
      out.emplace_back(name, own);  // as it is here
    } else {
      return fail(usage_error("--env " + name + ": this variable is not set here",
                              "write --env " + name + "=VALUE"));
    }
  }
  return out;
}

// How long no rank may write before the launch is looked at; 0 = as long as it likes.
Expected<int64_t> silence_of(const Args& args) {
  if (!args.has("on-silence")) return 0;
  const auto silent = parse_duration(args.get("on-silence"));
  if (silent && *silent >= kSecond && *silent <= kLongestSilence) {
    return static_cast<int64_t>(*silent);
  }
  return fail(usage_error("--on-silence '" + args.get("on-silence") + "' is no time",
                          "give 1s to 24h, such as 120s"));
}

// Everything of one launch, checked before anything starts.
struct Launch {
  HostFile file;
  Reach reach;
  std::vector<GuardOrder> orders;  // by rank
  std::vector<LaunchRank> ranks;
  std::string run_id;
};

Expected<LaunchFiles> mlx_files(const Args& args, const HostFile& file, const std::string& folder) {
  const std::string name = args.get("backend", file.backend.empty() ? "ring" : file.backend);
  const BackendRow* backend = find_backend(name);
  if (backend == nullptr) {
    std::string names;
    for (const BackendRow& row : backend_table())
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    return fail(usage_error("no backend '" + name + "'", "one of: " + names));
  }
  const std::vector<ScenarioProblem> problems = check_host_file(file, backend);
  if (!problems.empty()) {
    return fail(
        usage_error(file.file + " does not fit backend " + name + ": " + to_line(problems[0]),
                    "plumbline hosts check " + file.file + " --backend " + name));
  }
  LaunchRequest request;
  request.folder = folder;
  return backend->files(file, request);
}

// The ranks whose program reads our standard input: --stdin RANK, all or none.
Expected<std::vector<char>> input_takers(const Args& args, size_t ranks) {
  const std::string text = args.get("stdin", "0");
  std::vector<char> takers(ranks, text == "all" ? 1 : 0);
  if (text == "all" || text == "none") return takers;
  const auto rank = parse_whole<size_t>(text, 0, ranks - 1);
  if (!rank) {
    return fail(usage_error("--stdin " + text + ": no such rank",
                            fmt::format("a rank from 0 to {}, all or none", ranks - 1)));
  }
  takers[*rank] = 1;
  return takers;
}

Expected<Launch> prepare(const Args& args, const OptionSet& options, HostFile file,
                         Context& context) {
  Launch launch;
  if (args.all("words").empty()) {
    return fail(usage_error("launch needs a program", "plumbline launch --hosts FILE -- hostname"));
  }
  launch.run_id = to_hex(random_token()).substr(0, 16);
  launch.file = std::move(file);
  if (const std::string why = why_not_runnable(launch.file); !why.empty()) {
    return fail(
        usage_error(launch.file.file + ": " + why, "plumbline hosts convert FILE --to ours"));
  }
  PlainCaller caller(*context.err);
  if (const Status counted = count_core_places(launch.file.hosts, options, caller); !counted) {
    return fail(counted.error());
  }
  launch.ranks = places_of(launch.file.hosts);
  const Expected<std::vector<char>> takers = input_takers(args, launch.ranks.size());
  if (!takers) return fail(takers.error());
  const std::string style_name = args.get("as", "plumbline");
  const StyleRow* style = find_launch_style(style_name);
  if (style == nullptr) {
    return fail(usage_error("no style '" + style_name + "'", "--as plumbline, torchrun or mlx"));
  }
  const bool mlx = style_name == "mlx";
  LaunchFiles files;  // of one rank
  StyleInput in{&launch.file, &files,        launch.ranks,
                "",           launch.run_id, static_cast<int>(options.integer("master_port"))};
  const bool alone = std::all_of(launch.file.hosts.begin(), launch.file.hosts.end(),
                                 [](const ScenarioHost& host) { return host.local; });
  const Expected<std::string> master = coordinator_address(launch.file);
  if (!master && !alone && !mlx) return fail(master.error());
  in.master = alone ? "127.0.0.1" : master.value_or("");
  Expected<EnvironmentList> given = given_variables(args);
  if (!given) return fail(given.error());
  std::error_code code;
  const std::string here = std::filesystem::current_path(code).string();
  for (size_t rank = 0; rank < launch.ranks.size(); ++rank) {
    GuardOrder order;
    order.argv = args.all("words");
    if (mlx) {
      // Ranks of one machine must not write or remove one another's files.
      order.folder = fmt::format("/tmp/plumbline-launch-{}-{}", launch.run_id, rank);
      Expected<LaunchFiles> made = mlx_files(args, launch.file, order.folder);
      if (!made) return fail(made.error());
      files = std::move(*made);
    }
    order.environment = style->variables(in, rank);
    order.environment.insert(order.environment.end(), given->begin(), given->end());
    order.environment.emplace_back(kRunIdVariable, launch.run_id);
    order.current_folder = args.get("cwd", here);
    order.takes_input = (*takers)[rank] != 0;
    for (const LaunchFiles::Named& named : files.files) {
      order.files.emplace_back(named.name, named.text);
    }
    launch.orders.push_back(std::move(order));
  }
  Expected<Reach> reach = make_reach(options, launch.file.hosts, caller);
  if (!reach) return fail(reach.error());
  launch.reach = std::move(*reach);
  return launch;
}

struct Running {
  std::unique_ptr<Process> process;
  Fd input;
  std::unique_ptr<LineSource> out, err;
  std::string words;  // the last of standard error, for what ssh says
  bool ended = false;
};

class Launcher {
 public:
  Launcher(const Launch& launch, SilenceWatch& silence, Context& context)
      : launch_(launch), silence_(silence), context_(context) {}

  int run() {
    const NoSigpipe no_sigpipe;
    if (const Status started = start_all(); !started) {
      end_all();
      return usage_failure(context_, started.error());
    }
    while (!all_ended()) {
      move_output();
      input_.move();
      keep_alive();
      look_at_ends();
      if (const auto verdict = silence_.verdict()) *context_.err << *verdict << std::flush;
      if (interrupts() > 0) code_ = 130;
      if (code_ != 0) break;
    }
    end_all();
    context_.out->flush();
    return code_;
  }

 private:
  Status start_all() {
    for (size_t rank = 0; rank < launch_.ranks.size(); ++rank) {
      const ScenarioHost& host = launch_.file.hosts[launch_.ranks[rank].host];
      ProcessOptions options;
      options.catch_errors = true;
      Expected<std::unique_ptr<Process>> process =
          Process::spawn(command_on(host, launch_.reach, "guard").argv, options);
      if (!process) return fail(process.error());
      Running running;
      running.process = std::move(*process);
      const Status told =
          running.process->write_line(encode(launch_.orders[rank]), Deadline::after_ms(kOrderMs));
      running.input = running.process->take_input();
      running.out = lines_of(running.process->take_output(), rank, *context_.out);
      running.err = lines_of(running.process->take_errors(), rank, *context_.err);
      if (launch_.orders[rank].takes_input && told) input_.add(running.input.get());
      ranks_.push_back(std::move(running));
      if (!told) return told;
    }
    return {};
  }

  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const Running& rank) { return rank.ended; });
  }

  std::unique_ptr<LineSource> lines_of(Fd pipe, size_t rank, std::ostream& to) {
    return std::make_unique<LineSource>(
        std::move(pipe), kLongestOutput,
        [this, rank, &to](const std::string& line) { print(rank, to, line); });
  }

  void print(size_t rank, std::ostream& to, const std::string& line) {
    silence_.heard();
    const RawOutput raw(to);  // the user's own program
    to << fmt::format("[{}] {}\n", rank, line);
    constexpr size_t kKept = 2000;
    std::string& words = ranks_[rank].words;
    if (&to == context_.err) words += line + "\n";
    if (words.size() > kKept) words.erase(0, words.size() - kKept);
  }

  void move_output() {
    std::vector<pollfd> entries;
    for (const Running& rank : ranks_) {
      entries.push_back({rank.out->fd(), POLLIN, 0});
      entries.push_back({rank.err->fd(), POLLIN, 0});
    }
    input_.want(entries);
    constexpr int kLookMs = 50;
    poll(entries.data(), entries.size(), kLookMs);
    for (const Running& rank : ranks_) {
      rank.out->read();
      rank.err->read();
    }
    context_.out->flush();
  }

  void keep_alive() {
    if (monotonic_ns() - kept_alive_ns_ < kAliveEveryNs) return;
    kept_alive_ns_ = monotonic_ns();
    for (const Running& rank : ranks_) {
      if (!rank.input.valid() || input_.busy(rank.input.get())) continue;
      static_cast<void>(!::write(rank.input.get(), "\n", 1));
    }
  }

  void look_at_ends() {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      Running& running = ranks_[rank];
      if (running.ended || !running.process->wait(Deadline::after_ns(0))) continue;
      running.out->read();
      running.err->read();
      running.ended = true;
      input_.drop(running.input.get());
      const int status = running.process->exit_status();
      if (status != 0 && code_ == 0) report(rank, status);
    }
  }

  void report(size_t rank, int status) {
    const ScenarioHost& host = launch_.file.hosts[launch_.ranks[rank].host];
    code_ = status;
    std::string why = fmt::format("exited with status {}", status);
    if (!host.ssh.empty() && status == kSshFailed) {
      why = fmt::format("could not be started over ssh ({}); plumbline doctor --hosts {} says more",
                        ssh_cause(ranks_[rank].words, status), launch_.file.file);
      code_ = 2;
    }
    *context_.err << fmt::format("plumbline: rank {} on {} {}; {}\n", rank, host.name, why,
                                 "all others are ended");
  }

  // The end of a guard's input ends what it guards.
  void end_all() {
    for (Running& rank : ranks_) {
      input_.drop(rank.input.get());
      rank.input.reset();
    }
    const Deadline deadline = Deadline::after_ms(kGraceMs);
    while (!all_ended() && !deadline.passed() && interrupts() < 2) {
      move_output();
      for (Running& rank : ranks_) {
        rank.ended = rank.ended || rank.process->wait(Deadline::after_ns(0));
      }
    }
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].ended) ranks_[rank].process->kill(SIGKILL);
      ranks_[rank].out->read();
      ranks_[rank].err->read();
    }
  }

  const Launch& launch_;
  SilenceWatch& silence_;
  Context& context_;
  std::vector<Running> ranks_;
  InputFeed input_{STDIN_FILENO};
  int64_t kept_alive_ns_ = 0;
  int code_ = 0;
};

}  // namespace

int run_launch(const Args& args, Context& context) {
  const auto options = resolve_options(args);
  if (!options) return usage_failure(context, options.error());
  if (!args.has("hosts")) {
    return usage_failure(context, usage_error("launch needs --hosts FILE",
                                              "plumbline launch --hosts hosts.json -- hostname"));
  }
  auto file = read_host_file(args.get("hosts"), context);
  if (!file) return 1;
  const Expected<int64_t> silent_ns = silence_of(args);
  if (!silent_ns) return usage_failure(context, silent_ns.error());
  const Expected<Launch> launch = prepare(args, *options, std::move(*file), context);
  if (!launch) return usage_failure(context, launch.error());
  if (!launch->reach.not_pushed.empty()) {
    usage_failure(context, launch->reach.not_pushed.begin()->second);
    return 2;
  }
  if (!args.has("quiet")) *context.err << "plumbline: run id " << launch->run_id << std::endl;
  watch_interrupts();
  SilenceWatch silence({launch->run_id, launch->file.file, launch->file.hosts, &*options,
                        &launch->reach, context.width},
                       *silent_ns);
  return Launcher(*launch, silence, context).run();
}

}  // namespace plumbline
