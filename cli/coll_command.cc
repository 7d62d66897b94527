// `plumbline coll`: one operation over a sweep of sizes with nccl-tests' letters, table and footer.
// A run like others, of cells that its letters list, from which nothing is kept but what is asked
// for.

#include <filesystem>

#include "cli/coll_screen.h"
#include "cli/commands.h"
#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/scenario_source.h"
#include "core/host/process_facts.h"
#include "core/text.h"
#include "runs/conduct.h"
#include "runs/ranks/rank_places.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

constexpr int kInterruptedCode = 130;

// The sweep over the ranks that there are when --ranks says nothing: all of a launched world, or
// one on each host of a file.
tl::expected<CollSweep, std::vector<Error>> sweep_over(Args args, int ranks) {
  const bool given = args.has("ranks");
  if (ranks > 0 && !given) args.add("ranks", std::to_string(ranks));
  auto sweep = parse_coll(args);
  if (sweep) sweep->ranks_given = given;
  return sweep;
}

// A file's hosts, or this machine; nullopt after printing why not.
std::optional<std::vector<ScenarioHost>> coll_hosts(const Args& args, Context& context) {
  std::optional<std::vector<ScenarioHost>> hosts = local_hosts(1);
  if (args.has("hosts")) hosts = read_hosts(args.get("hosts"), context);
  if (!hosts) return std::nullopt;
  if (const Status left = exclude_hosts(args.all("exclude"), *hosts); !left) {
    usage_failure(context, left.error());
    return std::nullopt;
  }
  return hosts;
}

void give_one_rank_each(std::vector<ScenarioHost>& hosts) {
  for (ScenarioHost& host : hosts) {
    host.ranks = 1;
    host.ranks_of_cores = false;
  }
}

CollOutput output_of(const Args& args, const CollSweep& sweep, const Context& context) {
  if (args.has("json")) return CollOutput::kRecords;
  const bool table = sweep.format.empty() ? context.out_is_terminal : sweep.format == "table";
  return table ? CollOutput::kTable : CollOutput::kNccl;
}

// Where records are kept (-J), with a lock where it is a file.
struct KeptRecords {
  FileLock lock;
  std::optional<RecordFile> file;
};

Expected<KeptRecords> open_records(const Args& args) {
  KeptRecords kept;
  if (!args.has("output_file")) return kept;
  const std::string path = args.get("output_file");
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) {
    Expected<FileLock> taken = FileLock::take(path + ".lock", "the file " + path);
    if (!taken) return fail(taken.error());
    kept.lock = std::move(*taken);
  }
  Expected<RecordFile> opened = RecordFile::open(path);
  if (!opened) return fail(opened.error());
  kept.file = std::move(*opened);
  return kept;
}

// What is asked for, before it is known which hosts take part.
class CollAsked {
 public:
  CollAsked(const Args& args, Context& context) : args_(args), context_(context) {}

  // false after printing what is wrong: of every rank before they wait for one another.
  bool read() {
    const auto place = own_launch(args_);
    if (!place) return refuse({place.error()});
    place_ = *place;
    const Status threads = check_ranks_in_process(args_.has(kRanksInProcess), place_);
    if (!threads) return refuse({threads.error()});
    const bool one_each = !place_ && args_.has("hosts") && !args_.has("ranks");
    if (one_each && !read_hosts_here()) return false;
    if (one_each) give_one_rank_each(hosts_);
    const int ranks = one_each && hosts_.size() > 1 ? places(hosts_) : 0;
    auto sweep = sweep_over(args_, place_ ? place_->size : ranks);
    if (!sweep) return refuse(sweep.error());
    sweep_ = std::move(*sweep);
    auto options = resolve_options(args_);
    if (!options) return refuse(options.error());
    options_ = std::move(*options);
    if (const Status can = check_aggregates(sweep_, options_); !can) return refuse({can.error()});
    if (!place_ || !args_.has("hosts")) return true;
    return refuse(
        {usage_error("--hosts under " + place_->program,
                     "the launcher decides where ranks run: leave it out, or add --launcher "
                     "none and start one process")});
  }

  int conduct_it() {
    PlainCaller caller(*context_.err);
    const LaunchCall call = launch_call(args_, options_, context_, caller, "coll", "");
    if (place_ && place_->rank > 0) return follow_launch(*place_, call);
    const Expected<std::string> program = own_program_path();
    if (!program) return usage_failure(context_, program.error());
    watch_interrupts();
    if (!place_ && hosts_.empty() && !read_hosts_here()) return 1;
    auto run = prepare_run(request(*program, call), caller);
    if (!run) {
      usage_failure(context_, run.error().errors);
      return run.error().code;
    }
    Expected<KeptRecords> kept = open_records(args_);
    if (!kept) return usage_failure(context_, kept.error());
    CollScreen screen(sweep_, options_, output(), context_, std::move(kept->file));
    std::vector<PreparedRun> runs;
    runs.push_back(std::move(*run));
    return tell(conduct(std::move(runs), screen));
  }

 private:
  bool refuse(const std::vector<Error>& errors) {
    rank_failure(place_, context_, errors);
    return false;
  }

  bool read_hosts_here() {
    auto hosts = coll_hosts(args_, context_);
    if (hosts) hosts_ = std::move(*hosts);
    return hosts.has_value();
  }

  CollOutput output() const { return output_of(args_, sweep_, context_); }

  RunRequest request(const std::string& program, const LaunchCall& call) {
    RunRequest request;
    request.program = program;
    request.scenario.name = "coll";
    request.scenario.hosts = hosts_;
    request.options = options_;
    request.cells = [this](const std::vector<ScenarioHost>& hosts) { return cells_on(hosts); };
    request.rounds = sweep_.cycles;
    request.keep = Keep::kNothing;
    request.permitted.binaries = true;  // as a host file of the user's own says
    request.ranks_in_process = args_.has(kRanksInProcess);
    request.probes = false;
    request.look.reset();
    request.command = context_.argv;
    request.place = place_;
    request.launch = call;
    return request;
  }

  // Of the ranks that a launcher started some may take no part (--exclude).
  tl::expected<std::vector<PlanCell>, std::vector<Error>> cells_on(
      const std::vector<ScenarioHost>& hosts) {
    if (place_) {
      auto sweep = sweep_over(args_, places(hosts));
      if (!sweep) return tl::unexpected(sweep.error());
      sweep_ = std::move(*sweep);
    }
    return coll_cells(hosts, sweep_, options_, output());
  }

  int tell(const Conducted& done) {
    if (done.refused) return usage_failure(context_, *done.refused);
    const RunSummary& counts = done.outcomes.front().counts;
    if (!counts.start_failure.empty()) {
      *context_.err << "plumbline: " << printable(counts.start_failure) << "\n";
    }
    if (done.code == kInterruptedCode) {
      *context_.err << "plumbline: interrupted; the rows above are finished, the others were not "
                       "measured\n";
    }
    return done.code;
  }

  const Args& args_;
  Context& context_;
  std::optional<LauncherPlace> place_;
  std::vector<ScenarioHost> hosts_;  // none under a launcher, which has its own
  CollSweep sweep_;
  OptionSet options_;
};

}  // namespace

int run_coll(const Args& args, Context& context) {
  CollAsked asked(args, context);
  return asked.read() ? asked.conduct_it() : 1;
}

}  // namespace plumbline
