// `plumbline coll`: one operation over a sweep of sizes with nccl-tests' letters, table and footer.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/coll_sweep.h"
#include "cli/commands.h"
#include "cli/interrupts.h"
#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/scenario_source.h"
#include "collectives/schedule.h"
#include "collectives/verifier.h"
#include "core/host/process_facts.h"
#include "core/record/ran_as_asked.h"
#include "core/record/verified.h"
#include "core/sha256.h"
#include "core/stats/noise.h"
#include "core/stats/stats.h"
#include "core/units.h"
#include "reports/coll_table.h"
#include "reports/export/nccl.h"
#include "reports/text.h"
#include "runs/folder_lock.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/core_places.h"
#include "runs/hosts/memory_check.h"
#include "runs/log_level.h"
#include "runs/ranks/ranks_in_process.h"
#include "runs/ranks/world.h"

namespace plumbline {
namespace {

class Coll {
 public:
  Coll(const CollSweep& sweep, const OptionSet& options, std::vector<ScenarioHost> hosts,
       Launched* launched, Reach reach, const Logger& log, Context& context, Caller& caller,
       const Args& args, std::optional<RecordFile> file, std::string run_id)
      : sweep_(sweep),
        options_(options),
        context_(context),
        caller_(caller),
        json_(args.has("json")),
        table_(sweep.format.empty() ? context.out_is_terminal : sweep.format == "table"),
        file_(std::move(file)),
        writer_(make_writer()),
        world_(world_spec(std::move(reach), std::move(hosts), log, launched,
                          args.has(kRanksInProcess))),
        run_id_(std::move(run_id)) {}

  // `known`: of hosts that have agents.
  int run(HostMemory known) {
    known.merge(memory_here(world_.hosts()));
    for (const Cell& cell : largest_cells()) {
      const Status fits = fits_memory({cell}, sweep_.check, options_, world_.hosts(), known);
      if (!fits) return usage_failure(context_, fits.error());
    }
    const Status started =
        world_.ensure_world({sweep_.ranks, options_.text("transport"), {}, "", ""});
    if (!started) {
      usage_failure(context_, started.error());
      return started.error().code == ErrorCode::kBusy ? 1 : 2;
    }
    // Hosts without an agent have said by now what memory they have.
    for (const Cell& cell : largest_cells()) {
      const Status fits = world_.fits(cell, sweep_.check);
      if (!fits) return usage_failure(context_, fits.error());
    }
    open_table();
    for (int cycle = 0; cycle < sweep_.cycles; ++cycle) {
      if (table_ && !json_ && sweep_.cycles > 1) {
        writer_->comment(fmt::format("Cycle {} of {}", cycle + 1, sweep_.cycles));
      }
      for (const DType dtype : sweep_.dtypes) {
        for (const RedOp redop : sweep_.redops) {
          for (const int root : sweep_.roots) {
            for (const uint64_t bytes : sweep_.sizes()) {
              if (interrupts() > 0 || !world_.broken().empty()) return close_table();
              row(bytes, dtype, redop, root);
            }
          }
        }
      }
    }
    return close_table();
  }

 private:
  WorldSpec world_spec(Reach reach, std::vector<ScenarioHost> hosts, const Logger& log,
                       Launched* launched, bool ranks_in_process) {
    WorldSpec spec{std::move(reach), std::move(hosts), options_, context_.argv, "", &log, launched};
    spec.caller = &caller_;
    spec.ranks_in_process = ranks_in_process;
    spec.notice = [this](const std::string& text) { caller_.say("plumbline: " + text); };
    return spec;
  }

  std::unique_ptr<CollWriter> make_writer() const {
    if (!table_) return std::make_unique<NcclWriter>(*context_.out);
    const OpRow& op = plumbline::row(sweep_.op);
    CollTableSpec spec;
    spec.op = op.name;
    spec.ranks = sweep_.ranks;
    for (const DType dtype : sweep_.dtypes) {
      spec.types.emplace_back(plumbline::row(dtype).nccl_name);
    }
    for (const RedOp redop : sweep_.redops) {
      if (op.reduces) spec.redops.emplace_back(plumbline::row(redop).nccl_name);
    }
    for (const int root : sweep_.roots) {
      if (op.rooted) spec.roots.push_back(std::to_string(root));
    }
    constexpr const char* kTimes[] = {"rank 0", "mean over the ranks", "fastest rank",
                                      "slowest rank"};  // -a
    spec.time = kTimes[sweep_.average];
    spec.in_place = op.has_in_place;
    spec.moves_data = sweep_.max_bytes > 0 && sweep_.op != Op::kBarrier;
    spec.checked = sweep_.check;
    const auto samples = static_cast<uint64_t>(sweep_.iterations);
    spec.enough_for_ci = median_ci_ranks(samples).has_value();
    spec.enough_for_p99 = quantile_supported(samples, 0.99);
    spec.width = context_.width;
    spec.colour = context_.out_colour;
    return std::make_unique<CollTable>(*context_.out, std::move(spec));
  }

  void open_table() {
    if (json_) return;
    NcclSetup setup;
    setup.program = nccl_program(to_string(sweep_.op));
    setup.algorithm = options_.text("algorithm");
    setup.transport = options_.text("transport");
    setup.min_bytes = sweep_.min_bytes;
    setup.max_bytes = sweep_.max_bytes;
    setup.step_is_factor = sweep_.step_bytes == 0;
    setup.step = setup.step_is_factor ? static_cast<uint64_t>(sweep_.factor) : sweep_.step_bytes;
    setup.warmup_iterations = sweep_.warmup;
    setup.iterations = sweep_.iterations;
    setup.aggregate = sweep_.aggregate;
    setup.validation = sweep_.check ? 1 : 0;
    std::vector<NcclDevice> devices;
    for (int rank = 0; rank < sweep_.ranks; ++rank) {
      const RankPlaceView place = world_.place(rank);
      devices.push_back({rank, 0, place.pid, place.host, 0, place.interface, place.address});
    }
    writer_->preamble(setup, devices);
    for (const std::string& note : sweep_.notes) writer_->comment(note);
    if (measures_again()) {
      writer_->comment(fmt::format("{} has no in-place form: those columns repeat it, not checked",
                                   to_string(sweep_.op)));
    }
    writer_->header();
  }

  // Of the sweep's cells those that need most memory.
  std::vector<Cell> largest_cells() const {
    std::vector<Cell> cells;
    const std::vector<uint64_t> sizes = sweep_.sizes();
    if (sizes.empty()) return cells;
    for (const DType dtype : sweep_.dtypes) {
      for (const RedOp redop : sweep_.redops) {
        for (const int root : sweep_.roots) {
          for (const bool in_place : {false, true}) {
            if (in_place && !plumbline::row(sweep_.op).has_in_place) continue;
            cells.push_back(cell_for(sizes.back(), dtype, redop, root, in_place));
          }
        }
      }
    }
    return cells;
  }

  int close_table() {
    if (!json_ && sweep_.check && verified_.operations > 0) {
      writer_->verified(verified_.verified, verified_.operations);
    }
    if (!json_ && table_ && sweep_.sync == "window") {
      writer_->comment(fmt::format("Clocks known to {}, {} late samples dropped",
                                   format_duration(clock_error_ns_), late_));
    } else if (!json_ && sweep_.sync == "window") {
      writer_->comment(fmt::format("Clock error at most   : {:.2f} us, late samples dropped : {}",
                                   clock_error_ns_ / 1000, late_));
    }
    if (!json_) writer_->footer();
    context_.out->flush();
    const RefusedConnections refused = world_.take_refused();
    if (refused.total > 0) caller_.say("plumbline: " + refused.text());
    if (interrupts() > 0) {
      *context_.err << "plumbline: interrupted; the rows above are finished, the others were not "
                       "measured\n";
      return 130;
    }
    if (wrong_) return 3;
    return failed_ ? 2 : 0;
  }

  Cell cell_for(uint64_t bytes, DType dtype, RedOp redop, int root, bool in_place) const {
    const Shape shape = shape_of(sweep_.op, dtype, sweep_.ranks, bytes);
    Cell cell;
    cell.kind = "bandwidth";
    cell.op = to_string(sweep_.op);
    cell.transport = options_.text("transport");
    cell.algorithm = options_.text("algorithm");
    cell.dtype = to_string(dtype);
    cell.redop = plumbline::row(sweep_.op).reduces ? to_string(redop) : "none";
    cell.root = root;
    cell.ranks = sweep_.ranks;
    cell.bytes = shape.bytes;
    cell.count = shape.count;
    cell.placement = in_place ? "in" : "out";
    cell.sync = sweep_.sync;
    cell.cache = sweep_.cache;
    return cell;
  }

  // nccl-tests fills the in-place columns of operations that have no such form as well, with times
  // that it does not check (src/alltoall.cu, src/sendrecv.cu), and programs leave rows without
  // numbers out.
  bool measures_again() const {
    return !json_ && !table_ && !plumbline::row(sweep_.op).has_in_place;
  }

  std::optional<Record> measured(const Cell& cell, bool check) {
    MeasureSettings settings;
    settings.fixed_iterations = sweep_.iterations;
    settings.fixed_warmup = sweep_.warmup;
    // nccl-tests' columns have no p99, and its number of operations is 20.
    settings.tail = !sweep_.iterations_given && (json_ || table_);
    settings.verify_iterations = check ? 1 : 0;
    settings.aggregate = sweep_.aggregate;
    settings.operation_timeout_ms = sweep_.timeout_ms;
    Expected<Measurement> done = world_.run(cell, settings);
    if (done) {
      if (const Status same = ran_as_asked(cell, *done); !same) done = fail(same.error());
    }
    if (!done) {
      failed_ = true;
      if (done.error().cause == kWrongDataCause) {
        wrong_ = true;
        writer_->spoiled();
      }
      *context_.err << "plumbline: " << cell.op << " " << cell.bytes
                    << " bytes: " << done.error().message() << "\n";
      return std::nullopt;
    }
    if (interrupts() > 0) return std::nullopt;
    return record_of(cell, std::move(*done));
  }

  std::optional<NcclSide> side(const Cell& cell) {
    const std::optional<Record> record = measured(cell, sweep_.check);
    if (!record) return std::nullopt;
    if (json_) *context_.out << to_line(*record) << "\n" << std::flush;
    if (file_) {
      if (const Status kept = file_->append(*record); !kept) usage_failure(context_, kept.error());
    }
    return side_of(*record);
  }

  // The same once more, for the in-place columns; no record, so that those of -J do not depend on
  // the format.
  std::optional<NcclSide> side_again(const Cell& cell) {
    const std::optional<Record> record = measured(cell, false);
    if (!record) return std::nullopt;
    NcclSide again = side_of(*record);
    again.wrong.reset();
    return again;
  }

  Record record_of(const Cell& cell, Measurement measurement) {
    Record record;
    record.suite_version = PLUMBLINE_VERSION;
    record.run_id = run_id_;
    record.time = utc_now_rfc3339();
    record.scenario = "coll";
    record.cell = cell;
    record.measurement = std::move(measurement);
    record.environment = world_.environment();
    recompute(record);
    record.noise = judge_noise(record, clock_.call_ns);
    wrong_ |= record.measurement.wrong.value_or(0) > 0;
    if (const auto count = verified_count(record.measurement)) {
      verified_.verified += count->verified;
      verified_.operations += count->operations;
    }
    auto& extra = record.measurement.extra;
    if (sweep_.sync == "window") {
      clock_error_ns_ = std::max(clock_error_ns_, extra[kClockError]);
      late_ += static_cast<uint64_t>(extra[kLateSamples]);
    }
    return record;
  }

  NcclSide side_of(const Record& record) const {
    std::vector<double> means;  // by rank
    for (const PerRank& rank : record.measurement.per_rank) means.push_back(rank.mean.value_or(0));
    double ns = 0;
    if (!means.empty()) {
      const auto [low, high] = std::minmax_element(means.begin(), means.end());
      double sum = 0;
      for (const double mean : means) sum += mean;
      const double choices[] = {means.front(), sum / static_cast<double>(means.size()), *low,
                                *high};
      ns = choices[sweep_.average];
    }
    NcclSide side;
    side.time_us = ns / 1e3;
    side.algbw = algbw_Bps(sweep_.op, record.cell.bytes, ns) / 1e9;
    side.busbw = busbw_Bps(sweep_.op, sweep_.ranks, record.cell.bytes, ns) / 1e9;
    if (sweep_.check) side.wrong = record.measurement.wrong;
    if (record.time_ns.p50) side.p50_us = *record.time_ns.p50 / 1e3;
    if (record.time_ns.p50_ci95) {
      side.ci_low_us = record.time_ns.p50_ci95->first / 1e3;
      side.ci_high_us = record.time_ns.p50_ci95->second / 1e3;
    }
    if (record.time_ns.p99) side.p99_us = *record.time_ns.p99 / 1e3;
    return side;
  }

  void row(uint64_t bytes, DType dtype, RedOp redop, int root) {
    NcclRow line;
    const Cell cell = cell_for(bytes, dtype, redop, root, false);
    line.size = cell.bytes;
    line.count = cell.count;
    line.type = plumbline::row(dtype).nccl_name;
    line.redop = plumbline::row(sweep_.op).reduces ? plumbline::row(redop).nccl_name : "none";
    line.root = root;
    line.out = side(cell);
    const bool goes_on = interrupts() == 0 && world_.broken().empty();
    if (plumbline::row(sweep_.op).has_in_place && goes_on) {
      line.in = side(cell_for(bytes, dtype, redop, root, true));
    } else if (measures_again() && goes_on) {
      line.in = side_again(cell);
    }
    if (!json_ && interrupts() == 0) writer_->row(line);
  }

  const CollSweep& sweep_;
  const OptionSet& options_;
  Context& context_;
  Caller& caller_;
  bool json_;
  bool table_;  // with columns of ours
  std::optional<RecordFile> file_;
  std::unique_ptr<CollWriter> writer_;
  World world_;
  std::string run_id_;
  ClockQuality clock_ = measure_clock();
  bool wrong_ = false, failed_ = false;
  VerifiedCount verified_;     // over all rows
  double clock_error_ns_ = 0;  // largest of all rows, window timing only
  uint64_t late_ = 0;          // samples, all rows
};

// Refuses an algorithm that cannot do this before anything starts.
Status check_algorithm(const CollSweep& sweep, const OptionSet& options) {
  ScheduleRequest request;
  request.op = sweep.op;
  request.size = sweep.ranks;
  request.count = 1;
  const auto found = find_algorithm(options.text("algorithm"), request);
  if (!found) return fail(found.error());
  return {};
}

// The N operations of a sample work on the same arrays, each over what the one before it left.
Status check_aggregates(const CollSweep& sweep, const OptionSet& options) {
  if (sweep.aggregate == 1 || verify_mode(options, sweep.check) != VerifyMode::kEvery) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("-m {} and --verify every: of {} operations on the same arrays only the "
                          "last one leaves a result that can be compared",
                          sweep.aggregate, sweep.aggregate),
              "leave out -m, or take --verify sampled");
}

Error too_many_ranks(int ranks, int places, bool asked_for) {
  if (!asked_for) {
    return Error{ErrorCode::kUsage,
                 fmt::format("{} ranks are needed, and the hosts have {} place{}", ranks, places,
                             places == 1 ? "" : "s"),
                 0, "without --ranks each host of the file gets one: name more hosts", ""};
  }
  return Error{ErrorCode::kUsage,
               fmt::format("--ranks {} but the hosts have {} places", ranks, places), 0,
               "give fewer ranks, or more places in the host file", ""};
}

// The sweep over the ranks that there are when --ranks says nothing: all of a launched world, or
// one on each host of a file.
tl::expected<CollSweep, std::vector<Error>> sweep_over(Args args, int ranks) {
  if (ranks > 0 && !args.has("ranks")) args.add("ranks", std::to_string(ranks));
  return parse_coll(args);
}

// Where the ranks run: nodes of a launcher, a file's hosts, or this machine. nullopt after printing
// why not, with the exit code in `code`.
std::optional<std::vector<ScenarioHost>> coll_hosts(const Launched* launched, const Args& args,
                                                    Context& context, int& code) {
  code = 1;
  if (launched != nullptr) return launched->hosts;
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

}  // namespace

int run_coll(const Args& args, Context& context) {
  const auto place = own_launch(args);
  if (!place) return usage_failure(context, place.error());
  if (const Status threads = check_ranks_in_process(args.has(kRanksInProcess), *place); !threads) {
    return rank_failure(*place, context, {threads.error()});
  }
  // Wrong letters are found by every rank before they wait for one another.
  int code = 1;
  std::optional<std::vector<ScenarioHost>> hosts;
  const bool one_each = !*place && args.has("hosts") && !args.has("ranks");
  if (one_each) {
    hosts = coll_hosts(nullptr, args, context, code);
    if (!hosts) return code;
    give_one_rank_each(*hosts);
  }
  const int ranks = one_each && hosts->size() > 1 ? places(*hosts) : 0;
  auto sweep = sweep_over(args, *place ? (*place)->size : ranks);
  if (!sweep) return rank_failure(*place, context, sweep.error());
  const auto options = resolve_options(args);
  if (!options) return rank_failure(*place, context, options.error());
  if (const Status ok = check_aggregates(*sweep, *options); !ok) {
    return rank_failure(*place, context, {ok.error()});
  }
  if (*place && args.has("hosts")) {
    return rank_failure(*place, context,
                        {Error{ErrorCode::kUsage, "--hosts under " + (*place)->program, 0,
                               "the launcher decides where ranks run: leave it out, or "
                               "add --launcher none and start one process",
                               ""}});
  }
  PlainCaller caller(*context.err);
  const LaunchCall call = launch_call(args, *options, context, caller, "coll", "");
  if (*place && (*place)->rank > 0) return follow_launch(**place, call);
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());
  watch_interrupts();
  const Logger log("coordinator", log_level(*options));
  std::unique_ptr<Launched> launched;
  if (*place) {
    auto led = lead_launch(**place, call, *program, log);
    if (!led) {
      usage_failure(context, led.error());
      return launch_exit_code(led.error());
    }
    launched = std::move(*led);
    sweep = sweep_over(args, static_cast<int>(launched->ranks.size()));
    if (!sweep) return usage_failure(context, sweep.error());
  }
  if (!hosts) hosts = coll_hosts(launched.get(), args, context, code);
  if (!hosts) return code;
  if (const Status here = check_ranks_in_process(args.has(kRanksInProcess), *hosts); !here) {
    return usage_failure(context, here.error());
  }
  if (const Status counted = count_core_places(*hosts, *options, caller); !counted) {
    usage_failure(context, counted.error());
    return 2;
  }
  if (sweep->ranks > places(*hosts) && !may_oversubscribe(*hosts)) {
    return usage_failure(context, too_many_ranks(sweep->ranks, places(*hosts), args.has("ranks")));
  }
  if (const Status ok = check_algorithm(*sweep, *options); !ok) {
    return usage_failure(context, ok.error());
  }
  std::optional<RecordFile> file;
  FileLock lock;
  if (args.has("output_file")) {
    const std::string path = args.get("output_file");
    std::error_code unknown;
    const std::filesystem::file_status there = std::filesystem::status(path, unknown);
    if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) {
      Expected<FileLock> taken = FileLock::take(path + ".lock", "the file " + path);
      if (!taken) return usage_failure(context, taken.error());
      lock = std::move(*taken);
    }
    Expected<RecordFile> opened = RecordFile::open(args.get("output_file"));
    if (!opened) return usage_failure(context, opened.error());
    file = std::move(*opened);
  }
  Expected<Reach> reach = make_reach(*program, *options, *hosts, caller);
  if (!reach) return usage_failure(context, reach.error());
  const std::string run_id = to_hex(random_token()).substr(0, 16);
  reach->run_id = run_id;
  setenv(kRunIdVariable, run_id.c_str(), 1);  // for what we start here
  std::optional<AgentSet> agents;
  if (any_by_ssh(*hosts) || wants_data_addresses(*hosts)) {
    agents.emplace(*hosts, *reach, *options);
    if (const auto failure = agents->first_failure()) {
      usage_failure(context, *failure);
      return 2;
    }
    auto found = agents->find_data_addresses();
    if (!found) {
      usage_failure(context, found.error());
      return 2;
    }
    *hosts = std::move(*found);
  }
  Coll coll(*sweep, *options, std::move(*hosts), launched.get(), *reach, log, context, caller, args,
            std::move(file), run_id);
  return coll.run(agents ? agents->memory() : HostMemory());
}

}  // namespace plumbline
