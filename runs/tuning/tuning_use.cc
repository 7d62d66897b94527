#include "runs/tuning/tuning_use.h"

#include <fmt/format.h>

#include <filesystem>

#include "collectives/cell_run.h"
#include "collectives/schedule.h"
#include "core/encode.h"
#include "core/op.h"
#include "runs/history.h"
#include "scenarios/placement.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyLength = 8;  // hex digits
constexpr const char* kUsualTuning = "auto";
constexpr const char* kNoTuning = "none";

bool names_file(const OptionSet& options) {
  const std::string& asked = options.text("tuning");
  return asked != kUsualTuning && asked != kNoTuning;
}

Error not_of_use(const std::string& path, const std::string& why) {
  return {ErrorCode::kConfig, fmt::format("tuning {} cannot be used: {}", path, why), 0, kTuneAgain,
          ""};
}

// Of groups a tuning, which is about all ranks, says nothing.
bool leaves_the_choice(const Cell& cell) {
  return cell.algorithm == "auto" && cell.engine == kNativeEngine && cell.split.empty() &&
         row(cell.kind).collective;
}

// Where the ranks of a cell will be, as far as that is known before they start.
TuningPlace place_of(const Cell& cell, const OptionSet& options,
                     const std::vector<ScenarioHost>& hosts, bool ranks_in_process,
                     const std::string& machine) {
  TuningPlace place;
  const std::string& asked = cell.transport == "auto" ? options.text("transport") : cell.transport;
  if (const auto transport = find_transport(asked, ranks_in_process)) {
    place.transport = (*transport)->name;
  }
  place.hosts = tuned_hosts(hosts, place_ranks(hosts, world_of(cell)));
  if (!machine.empty()) place.machines.assign(place.hosts.size(), machine);
  return place;
}

}  // namespace

std::vector<std::string> tuned_hosts(const std::vector<ScenarioHost>& hosts,
                                     const std::vector<size_t>& places) {
  std::vector<std::string> words;
  for (const size_t host : places) {
    words.push_back(hosts[host].local ? kTunedHere : hosts[host].name);
  }
  return words;
}

Expected<std::string> usual_tuning_path(const TuningPlace& place) {
  const Expected<std::string> state = state_folder();
  if (!state) return fail(state.error());
  std::string key;
  for (const std::string& host : place.hosts) key += host + "\n";
  const std::string file = fmt::format("{}-{}-{}.json", place.transport, place.hosts.size(),
                                       to_hex(sha256(key)).substr(0, kKeyLength));
  return (fs::path(*state) / "tuning" / file).string();
}

Expected<FoundTuning> find_tuning(const OptionSet& options, const TuningPlace& place) {
  FoundTuning found;
  if (options.text("tuning") == kNoTuning) return found;
  const bool named = names_file(options);
  std::string path = options.text("tuning");
  if (!named) {
    const Expected<std::string> usual = usual_tuning_path(place);
    std::error_code unknown;
    if (!usual || !fs::exists(*usual, unknown)) return found;
    path = *usual;
  }
  Expected<Tuning> tuning = read_tuning(path);
  const std::string why = tuning ? why_not_used(*tuning, place) : std::string();
  if (named && !tuning) return fail(tuning.error());
  // Of several worlds it may be about one: check_tuning() has seen to that.
  TuningPlace before = place;
  before.machines.clear();
  if (named && !why.empty() && why_not_used(*tuning, before).empty()) {
    return fail(not_of_use(path, why));
  }
  if (tuning && why.empty()) {
    found.use = TuningInUse{std::move(path), std::move(*tuning)};
    return found;
  }
  found.note =
      fmt::format("{}: {}", tuning ? not_of_use(path, why).what : tuning.error().what, kTuneAgain);
  return found;
}

Status check_tuning(const Plan& plan, const OptionSet& options,
                    const std::vector<ScenarioHost>& hosts, bool ranks_in_process,
                    const std::string& machine) {
  if (!names_file(options)) return {};
  const std::string& path = options.text("tuning");
  const Expected<Tuning> tuning = read_tuning(path);
  if (!tuning) return fail(tuning.error());
  std::string why;
  for (const PlanCell& planned : plan.cells) {
    if (!leaves_the_choice(planned.cell)) continue;
    why = why_not_used(*tuning, place_of(planned.cell, options, hosts, ranks_in_process, machine));
    if (why.empty()) return {};
  }
  if (why.empty()) return {};  // nobody asks it
  return fail(not_of_use(path, why));
}

std::string algorithm_with(const Tuning& tuning, const Cell& cell, const OptionSet& options,
                           const RankPairs& apart, bool own_cables) {
  const std::optional<Op> op = op_from(cell.op);
  const std::optional<DType> dtype = dtype_from(cell.dtype);
  if (!leaves_the_choice(cell) || !op || !dtype) return cell.algorithm;
  const std::vector<TunedRange> ranges = tuning.ranges();
  ScheduleRequest request = schedule_request_of(cell, *op, *dtype);
  request.topology = &tuning.model.topology;
  if (!apart.empty()) request.apart = &apart;
  request.tuned = &ranges;
  request.own_cables = own_cables;
  const auto small = static_cast<uint64_t>(options.integer("small_msg_threshold"));
  const Expected<const AlgorithmRow*> found = find_algorithm(cell.algorithm, request, small);
  return found ? full_name(**found, request) : cell.algorithm;
}

}  // namespace plumbline
