// `plumbline tune`: which algorithm is best on these very machines, kept as a file that the
// algorithm `auto` goes by from then on.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/scenario_source.h"
#include "core/file.h"
#include "core/host/process_facts.h"
#include "core/json.h"
#include "core/stats/stats.h"
#include "core/text.h"
#include "core/units.h"
#include "launch/process.h"
#include "reports/tables.h"
#include "runs/plan_of.h"
#include "runs/ranks/rank_places.h"
#include "runs/tuning/tune_run.h"
#include "runs/tuning/tuning_use.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

constexpr int kMostTuneRanks = 64;
constexpr int64_t kLeastTuneTime = 1'000'000'000, kMostTuneTime = int64_t{24} * 3600'000'000'000;
constexpr int kTuneInterrupted = 130;

tl::unexpected<Error> tune_usage(std::string what, std::string hint) {
  return tl::unexpected<Error>(usage_error(std::move(what), std::move(hint)));
}

Status read_ops(const Args& args, TuneSpec& spec) {
  const std::vector<Op> known = tunable_ops();
  std::vector<std::string> names;
  for (const Op op : known) names.emplace_back(to_string(op));
  for (const std::string& name : args.all("op")) {
    const std::optional<Op> op = op_from(name);
    if (!op || std::find(known.begin(), known.end(), *op) == known.end()) {
      return tune_usage(
          fmt::format("--op {}: no operation with several algorithms", in_quotes(name)),
          hint_for(name, names));
    }
    spec.ops.push_back(*op);
  }
  return {};
}

Status read_sizes(const Args& args, TuneSpec& spec) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 32;
  for (const auto& [key, value] :
       {std::pair("minbytes", &spec.min_bytes), std::pair("maxbytes", &spec.max_bytes)}) {
    if (!args.has(key)) continue;
    const Expected<uint64_t> bytes = parse_bytes_nccl(args.get(key));
    if (!bytes)
      return tune_usage(fmt::format("--{}: {}", key, bytes.error().what), bytes.error().hint);
    if (*bytes < 4 || *bytes > kMostBytes) {
      return tune_usage(fmt::format("--{} {}", key, args.get(key)), "use sizes from 4 to 4G");
    }
    *value = *bytes;
  }
  if (spec.min_bytes <= spec.max_bytes) return {};
  return tune_usage(
      fmt::format("--minbytes {} is larger than --maxbytes {}", spec.min_bytes, spec.max_bytes),
      "exchange them");
}

Status read_time(const Args& args, TuneSpec& spec) {
  if (!args.has("max-time")) return {};
  const Expected<int64_t> time = parse_duration(args.get("max-time"));
  if (!time || *time < kLeastTuneTime || *time > kMostTuneTime) {
    return tune_usage(fmt::format("--max-time {}", in_quotes(args.get("max-time"))),
                      "use a time from 1s to 24h, as 60s");
  }
  spec.max_time_ns = *time;
  return {};
}

// As `coll` has it: of several hosts one rank each, else as many as --ranks says, 2 by default.
Status settle_ranks(const Args& args, std::vector<ScenarioHost>& hosts, TuneSpec& spec) {
  const bool one_each = !args.has("ranks") && hosts.size() > 1;
  for (ScenarioHost& host : hosts) {
    if (!one_each) break;
    host.ranks = 1;
    host.ranks_of_cores = false;
  }
  const Expected<int64_t> ranks =
      flag_number(args, "ranks", one_each ? places(hosts) : 2, 2, kMostTuneRanks);
  if (!ranks) return fail(ranks.error());
  spec.ranks = static_cast<int>(*ranks);
  if (spec.ranks > kMostTuneRanks) {
    return tune_usage(fmt::format("{} ranks", spec.ranks),
                      fmt::format("tune takes at most {}", kMostTuneRanks));
  }
  if (spec.ranks <= places(hosts) || all_local(hosts)) return {};
  return tune_usage(fmt::format("{} ranks but the hosts have {} places", spec.ranks, places(hosts)),
                    "give fewer ranks, or more places in the host file");
}

Expected<TuneSpec> spec_of(const Args& args) {
  TuneSpec spec;
  Status read = read_ops(args, spec);
  if (read) read = read_sizes(args, spec);
  if (read) read = read_time(args, spec);
  if (!read) return fail(read.error());
  const Expected<std::optional<uint64_t>> seed = seed_flag(args);
  if (!seed) return fail(seed.error());
  spec.seed = seed->value_or(fresh_seed());
  return spec;
}

std::string file_of(const Args& args) {
  return args.has("hosts") ? args.get("hosts") : args.get("file");
}

Status check_place(const Args& args, const OptionSet& options) {
  const auto place = own_launch(args);
  if (!place) return fail(place.error());
  if (*place) {
    return tune_usage("tune under " + (*place)->program,
                      "start it once, with a host file; runs under the launcher take its file with "
                      "--tuning FILE");
  }
  if (options.text("algorithm") != "auto") {
    return tune_usage("tune --algorithm " + options.text("algorithm"),
                      "leave it out: tune compares all algorithms");
  }
  return {};
}

// ---- what is shown ----

std::string sizes_text(const TunedRange& range) {
  return fmt::format("{} - {}", format_bytes(range.from_bytes), format_bytes(range.to_bytes));
}

std::string gain_text(double gain) { return fmt::format("{:.2f}x", gain); }

Table table_of_rows(const std::vector<TunedRow>& rows) {
  Table table;
  table.columns = {{"", "operation", "", true},
                   {"", "sizes", "", true},
                   {"", "algorithm", "", true},
                   {"", "instead of", "", true},
                   {"", "gain"}};
  for (const TunedRow& row : rows) {
    const bool other = row.usual != row.range.algorithm;
    table.rows.push_back({{to_string(row.range.op), sizes_text(row.range), row.range.algorithm,
                           other ? row.usual : "",
                           !other     ? ""
                           : row.gain ? gain_text(*row.gain)
                                      : "predicted"},
                          other ? Tone::kGood : Tone::kPlain});
  }
  return table;
}

Table table_of_held_out(const std::vector<HeldOut>& rows) {
  Table table;
  table.columns = {{"", "operation", "", true},
                   {"", "size"},
                   {"", "algorithm", "", true},
                   {"", "time"},
                   {"", "gain"},
                   {"", "predicted"},
                   {"", "error"}};
  for (const HeldOut& row : rows) {
    table.rows.push_back(
        {{to_string(row.op), format_bytes(row.bytes), row.algorithm, format_duration(row.ns),
          row.algorithm == row.usual || !row.usual_ns ? "" : gain_text(row.gain()),
          format_duration(row.predicted_ns), fmt::format("{:.0f}%", 100 * row.error())}});
  }
  return table;
}

void print_tune_table(const Table& table, const Context& context) {
  for (const std::string& line : to_text(table, context.width, context.out_colour, nullptr)) {
    *context.out << line << "\n";
  }
}

double held_out_error(const TuneResult& result) {
  std::vector<double> errors;
  for (const HeldOut& row : result.held_out) errors.push_back(row.error());
  return median(std::move(errors));
}

void show(const TuneResult& result, const std::string& path, const Context& context) {
  const Tuning& tuning = result.tuning;
  *context.out << fmt::format("{} ranks, transport {}\n\n", tuning.ranks(), tuning.place.transport);
  print_tune_table(table_of_rows(tuning.table), context);
  *context.out << "\nSizes that decided nothing, measured by other ranks in another order:\n\n";
  print_tune_table(table_of_held_out(result.held_out), context);
  *context.out << fmt::format(
      "\nThe model is off by {:.0f}% (median) at these sizes, {:.0f}% at those that it was fitted "
      "to.\n",
      100 * held_out_error(result), 100 * tuning.model.median_error);
  if (result.unmeasured > 0) {
    *context.out << fmt::format(
        "Not measured for want of time: {} of {} operations (--max-time).\n", result.unmeasured,
        result.unmeasured + result.measured);
  }
  *context.out << fmt::format("Kept in {}, which the algorithm auto goes by from now on.\n",
                              printable(path));
}

nlohmann::ordered_json held_out_json(const std::vector<HeldOut>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const HeldOut& row : rows) {
    list.push_back({{"op", to_string(row.op)},
                    {"bytes", row.bytes},
                    {"algorithm", row.algorithm},
                    {"usual", row.usual},
                    {"time_ns", row.ns},
                    {"usual_time_ns", row.usual_ns},
                    {"predicted_ns", row.predicted_ns},
                    {"gain", row.gain()},
                    {"error", row.error()}});
  }
  return list;
}

std::string result_json(const TuneResult& result, const std::string& path) {
  const nlohmann::ordered_json root = {
      {"schema", 1},
      {"file", path},
      {"tuning", nlohmann::ordered_json::parse(tuning_json(result.tuning))},
      {"held_out", held_out_json(result.held_out)},
      {"held_out_error", held_out_error(result)},
      {"measured", result.measured},
      {"unmeasured", result.unmeasured}};
  return printable_json(json_text(root));
}

// The file's own folder is made where it is the usual one.
Expected<std::string> keep(const TuneResult& result, const Args& args) {
  std::string path = args.get("out");
  if (path.empty()) {
    const Expected<std::string> usual = usual_tuning_path(result.tuning.place);
    if (!usual) return fail(usual.error());
    path = *usual;
    std::error_code code;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), code);
    if (code) return fail_errno(ErrorCode::kSystem, "create the folder of " + path, code.value());
  }
  const Status kept = replace_text_file(path, tuning_json(result.tuning),
                                        "choose a place that can be written with --out");
  if (!kept) return fail(kept.error());
  return path;
}

int tune_failure(Context& context, const Error& error) {
  usage_failure(context, error);
  if (error.code == ErrorCode::kInterrupted) return kTuneInterrupted;
  return error.code == ErrorCode::kSystem ? 2 : 1;
}

}  // namespace

int run_tune(const Args& args, Context& context) {
  Expected<TuneSpec> spec = spec_of(args);
  if (!spec) return usage_failure(context, spec.error());
  auto options = resolve_options(args);
  if (!options) return usage_failure(context, options.error());
  if (const Status fits = check_place(args, *options); !fits) {
    return usage_failure(context, fits.error());
  }
  std::optional<std::vector<ScenarioHost>> hosts = local_hosts(1);
  if (!file_of(args).empty()) hosts = read_hosts(file_of(args), context);
  if (!hosts) return 1;
  Status settled = exclude_hosts(args.all("exclude"), *hosts);
  if (settled) settled = settle_ranks(args, *hosts, *spec);
  if (!settled) return usage_failure(context, settled.error());
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());
  TuneRequest request;
  request.spec = std::move(*spec);
  request.run.program = *program;
  request.run.scenario.name = "tune";
  request.run.scenario.hosts = std::move(*hosts);
  request.run.options = std::move(*options);
  request.run.permitted.binaries = true;  // as a host file of the user's own says
  request.run.ranks_in_process = args.has(kRanksInProcess);
  request.run.quiet = args.has("quiet");
  request.run.command = context.argv;
  watch_interrupts();
  PlainCaller caller(*context.err);
  const Expected<TuneResult> result = tune(request, caller);
  if (!result) return tune_failure(context, result.error());
  const Expected<std::string> path = keep(*result, args);
  if (!path) return usage_failure(context, path.error());
  if (args.has("json")) {
    *context.out << result_json(*result, *path);
  } else {
    show(*result, *path, context);
  }
  return 0;
}

}  // namespace plumbline
