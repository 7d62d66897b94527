// `plumbline stop`: ends a run, or what it left running, here or on the hosts of a host file: what
// has the run's id in its environment, and the coordinator that started it.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/scenario_source.h"
#include "core/command.h"
#include "launch/leftovers.h"
#include "runs/hosts/reach.h"

namespace plumbline {
namespace {

constexpr int64_t kGentleMs = 1'000;
constexpr int64_t kCoordinatorMs = 4'000;  // it writes down what it has measured
constexpr int64_t kHostMs = 25'000;        // a slow login, and all signals

int stop_here(const std::string& run_id, bool list, Context& context) {
  const std::vector<Leftover> before = find_leftovers(run_id);
  for (const Leftover& process : before) {
    *context.out << fmt::format("{} {} {} {}\n", list ? "runs" : "ended", process.run_id,
                                process.pid, process.command);
  }
  if (list || before.empty()) return 0;
  // First whoever would start them again.
  const std::vector<Leftover> coordinators = find_coordinators(before);
  for (const Leftover& process : coordinators) {
    *context.out << fmt::format("ended {} {} {}\n", process.run_id, process.pid, process.command);
  }
  std::vector<Leftover> left = end_coordinators(coordinators, kCoordinatorMs);
  const std::vector<Leftover> others = end_leftovers(run_id, kGentleMs);
  left.insert(left.end(), others.begin(), others.end());
  for (const Leftover& process : left) {
    *context.err << fmt::format("plumbline: process {} ({}) is still there after SIGKILL\n",
                                process.pid, process.command);
  }
  return left.empty() ? 0 : 2;
}

// The same command on one host, its lines behind the host's name.
int stop_on(const ScenarioHost& host, const Reach& reach, const std::vector<std::string>& words,
            Context& context) {
  if (const auto found = reach.not_pushed.find(host.name); found != reach.not_pushed.end()) {
    *context.err << fmt::format("plumbline: {}: {}\n", host.name, found->second.message());
    return 2;
  }
  const Expected<CommandResult> done =
      run_command(command_line_on(host, reach, words), Deadline::after_ms(kHostMs));
  if (!done) {
    *context.err << fmt::format("plumbline: {}: {}\n", host.name, done.error().message());
    return 2;
  }
  for (size_t at = 0; at < done->out.size();) {
    const size_t end = std::min(done->out.find('\n', at), done->out.size());
    *context.out << host.name << ": " << done->out.substr(at, end - at) << "\n";
    at = end + 1;
  }
  if (done->status == 0) return 0;
  *context.err << fmt::format("plumbline: {}: exit status {}: {}\n", host.name, done->status,
                              done->err.substr(0, done->err.find('\n')));
  return 2;
}

}  // namespace

int run_stop(const Args& args, Context& context) {
  const std::string run_id = args.get("run");
  const bool list = args.has("list");
  if ((run_id.empty() && !list) || (!run_id.empty() && !is_run_id(run_id))) {
    return usage_failure(context, Error{ErrorCode::kUsage, "stop needs the id of a run", 0,
                                        "launch and run print it; plumbline stop --list shows what "
                                        "runs of yours there are",
                                        ""});
  }
  if (!args.has("hosts")) return stop_here(run_id, list, context);
  const auto options = resolve_options(args);
  if (!options) return usage_failure(context, options.error());
  const auto file = read_host_file(args.get("hosts"), context);
  if (!file) return 1;
  PlainCaller caller(*context.err);
  const Expected<Reach> reach = make_reach(*options, file->hosts, caller);
  if (!reach) return usage_failure(context, reach.error());
  std::vector<std::string> words = {"stop"};
  if (!run_id.empty()) words.push_back(run_id);
  if (list) words.emplace_back("--list");
  int code = 0;
  for (const ScenarioHost& host : file->hosts) {
    code = std::max(code, stop_on(host, *reach, words, context));
  }
  return code;
}

}  // namespace plumbline
