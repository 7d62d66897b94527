#include "runs/tuning/tune_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/clock.h"
#include "core/op.h"
#include "core/record/link.h"
#include "runs/conduct.h"
#include "runs/tuning/tuning_use.h"
#include "scenarios/expand.h"
#include "scenarios/placement.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

// Shares of the whole time.
constexpr double kCalibrationShare = 0.25, kCrossingShare = 0.5, kHeldOutShare = 0.25;
// The same questions so often, the best time counts: what else the machine does makes operations
// only slower.
constexpr int kTuneRounds = 3;
constexpr int64_t kLeastCellNs = 4 * kMillisecond, kMostCellNs = 250 * kMillisecond;
constexpr double kTimed = 0.5;  // share of a cell's time that is spent in timed operations
constexpr uint64_t kLeastSamples = 7, kMostSamples = 2000;
// About so many operations, verified and warm ones among them, a question takes for each sample.
constexpr int64_t kOperationsOfQuestion = 2 * kTuneRounds;
// Links of which one may be unlike the others are measured one by one: rounds of pairs, so that the
// time grows with the ranks and not with the pairs.
constexpr int kFewestUnlike = 3;  // hosts
constexpr uint64_t kLinkMessage = 64;
constexpr int64_t kLinkNs = 100 * kMillisecond;

// Whoever looks on, with an end of its own: the time of one of the three runs.
class StageCaller : public Caller {
 public:
  StageCaller(Caller& outer, Deadline end) : outer_(outer), end_(end) {}

  void say(const std::string& line) override { outer_.say(line); }
  void progress(const RunProgress& state) override {
    if (state.last != nullptr) take(*state.last);
    if (!state.over) outer_.progress(state);
  }
  Wish ask() override {
    const Wish wish = outer_.ask();
    return wish == Wish::kGoOn && end_.passed() ? Wish::kEnd : wish;
  }

  // By somebody, not by the clock.
  bool end_is_wanted() { return outer_.ask() != Wish::kGoOn; }
  bool time_is_up() const { return end_.passed(); }
  std::vector<MeasuredOperation> measured() const {
    std::vector<MeasuredOperation> all;
    for (const auto& [key, ns] : best_) {
      MeasuredOperation one = {std::get<0>(key), std::get<1>(key), std::get<2>(key), ns};
      const auto same = [&one](const MeasuredOperation& bad) {
        return bad.op == one.op && bad.bytes == one.bytes && bad.algorithm == one.algorithm;
      };
      if (std::none_of(failed_.begin(), failed_.end(), same)) all.push_back(std::move(one));
    }
    return all;
  }
  // Without times; also what failed in one of the rounds only.
  const std::vector<MeasuredOperation>& failed() const { return failed_; }
  const std::vector<HostFacts>& hosts() const { return hosts_; }
  // What link cells have found, or nothing where a pair is missing.
  std::vector<LinkModel> links() const {
    const auto found = [](const LinkModel& link) {
      return link.alpha_ns > 0 && link.bytes_per_s > 0;
    };
    return std::count_if(links_.begin(), links_.end(), found) == pairs_ ? links_
                                                                        : std::vector<LinkModel>();
  }

 private:
  void take_links(const Record& record) {
    const auto ranks = static_cast<int64_t>(record.cell.ranks);
    pairs_ = ranks * (ranks - 1);
    links_.resize(static_cast<size_t>(ranks * ranks));
    for (const LinkResult& link : record.measurement.links) {
      LinkModel& known = links_[pair_index(record.cell.ranks, link.from, link.to)];
      if (link.rtt && link.rtt->min) known.alpha_ns = *link.rtt->min / 2;
      if (link.rate_Bps) known.bytes_per_s = *link.rate_Bps;
    }
  }
  void take(const Record& record) {
    hosts_ = record.environment.hosts;
    if (record.cell.kind == CellKind::kLink) return take_links(record);
    const std::optional<Op> op = op_from(record.cell.op);
    const Outcome outcome = record.measurement.outcome;
    if (op && (outcome == Outcome::kFailed || outcome == Outcome::kError)) {
      failed_.push_back({*op, record.cell.bytes, record.cell.algorithm, 0});
    }
    if (outcome != Outcome::kPassed || !op || !record.time_ns.p50) return;
    const std::tuple key = {*op, record.cell.bytes, record.cell.algorithm};
    const auto [found, fresh] = best_.try_emplace(key, *record.time_ns.p50);
    if (!fresh) found->second = std::min(found->second, *record.time_ns.p50);
  }

  Caller& outer_;
  const Deadline end_;
  std::map<std::tuple<Op, uint64_t, std::string>, double> best_;
  std::vector<MeasuredOperation> failed_;
  std::vector<HostFacts> hosts_;
  std::vector<LinkModel> links_;
  int64_t pairs_ = -1;
};

PlanCell link_cell(const TuneRequest& request, const char* measure, uint64_t bytes) {
  PlanCell planned;
  Cell& cell = planned.cell;
  cell.kind = CellKind::kLink;
  cell.op = kLinkOp;
  cell.measure = measure;
  cell.transport = request.run.options.text("transport");
  cell.dtype = "u8";
  cell.redop = "none";
  cell.ranks = request.spec.ranks;
  cell.bytes = cell.count = bytes;
  planned.stop.max_time_ns = planned.throughput_time_ns = kLinkNs;
  planned.id = cell_id(cell);
  return planned;
}

PlanCell cell_of(const MeasuredOperation& question, const TuneRequest& request, int64_t time_ns) {
  PlanCell planned;
  Cell& cell = planned.cell;
  cell.kind = CellKind::kLatency;
  cell.op = to_string(question.op);
  cell.transport = request.run.options.text("transport");
  cell.algorithm = question.algorithm;
  cell.redop = row(question.op).reduces ? "sum" : "none";
  cell.root = row(question.op).rooted ? 0 : -1;
  cell.ranks = request.spec.ranks;
  cell.bytes = question.bytes;
  cell.count = shape_of(question.op, DType::kF32, request.spec.ranks, question.bytes).count;
  cell.placement = row(question.op).has_in_place ? "in" : "out";
  planned.stop.min_n = kLeastSamples;
  planned.stop.max_n = kMostSamples;
  planned.stop.max_time_ns = time_ns;
  planned.id = cell_id(cell);
  return planned;
}

// One of the three runs.
class TuneStage {
 public:
  TuneStage(const TuneRequest& request, Caller& caller, double share, uint64_t seed)
      : request_(request),
        budget_ns_(static_cast<int64_t>(share * static_cast<double>(request.spec.max_time_ns))),
        seed_(seed),
        caller_(caller, Deadline::after_ns(budget_ns_)) {}

  Questions at_random(Questions questions) const {
    SplitMix64 random(seed_);
    shuffle(questions, random);
    return questions;
  }
  // Where time is short, what takes long by this model comes last.
  Questions shortest_first(Questions questions, const Topology& topology) const {
    if (questions.empty()) return questions;
    AskingTime time;
    time.room_ns = budget_ns_;
    time.slot_ns =
        static_cast<int64_t>(static_cast<double>(kTuneRounds * cell_ns(questions)) / kTimed);
    time.least_operations = kOperationsOfQuestion * int64_t{kLeastSamples};
    time.most_operations = kOperationsOfQuestion * int64_t{kMostSamples};
    return in_order(std::move(questions), topology, time, seed_);
  }
  // In this order. `links`: those of all pairs first.
  Expected<std::vector<MeasuredOperation>> measure(const Questions& questions, bool links = false) {
    if (questions.empty()) return std::vector<MeasuredOperation>();
    auto prepared = prepare_run(stage_request(questions, links), caller_);
    if (!prepared) return fail(prepared.error().errors.front());
    std::vector<PreparedRun> runs;
    runs.push_back(std::move(*prepared));
    const Conducted done = conduct(std::move(runs), caller_);
    if (done.refused) return fail(*done.refused);
    const std::vector<MeasuredOperation> measured = caller_.measured();
    if (caller_.end_is_wanted()) {
      return fail(ErrorCode::kInterrupted, "interrupted; nothing was written");
    }
    if (measured.empty()) {
      if (caller_.time_is_up()) {
        return fail(ErrorCode::kTimeout,
                    fmt::format("tune: none of {} operations was measured within {:.1f} s, the "
                                "share of --max-time for this step",
                                questions.size(), static_cast<double>(budget_ns_) / 1e9),
                    "give it more time");
      }
      return fail(ErrorCode::kSystem, "tune: no operation could be measured",
                  "plumbline doctor says why ranks cannot reach one another");
    }
    return measured;
  }

  const StageCaller& heard() const { return caller_; }

 private:
  // Of the timed operations of each cell; there is one at least.
  int64_t cell_ns(const Questions& questions) const {
    const auto count = static_cast<int64_t>(questions.size()) * kTuneRounds;
    const auto share =
        static_cast<int64_t>(kTimed * static_cast<double>(budget_ns_) / static_cast<double>(count));
    return std::clamp(share, kLeastCellNs, kMostCellNs);
  }
  RunRequest stage_request(const Questions& questions, bool links) const {
    RunRequest run = request_.run;
    const int64_t time_ns = cell_ns(questions);
    run.cells = [this, questions, links, time_ns](const std::vector<ScenarioHost>& /*hosts*/)
        -> tl::expected<std::vector<PlanCell>, std::vector<Error>> {
      std::vector<PlanCell> cells;
      if (links)
        cells = {link_cell(request_, "latency", kLinkMessage), link_cell(request_, "stream", 0)};
      for (const MeasuredOperation& question : questions) {
        cells.push_back(cell_of(question, request_, time_ns));
      }
      return cells;
    };
    run.rounds = kTuneRounds;
    run.keep = Keep::kNothing;
    run.probes = run.keep_history = false;
    run.look.reset();
    return run;
  }

  const TuneRequest& request_;
  const int64_t budget_ns_;
  const uint64_t seed_;
  StageCaller caller_;
};

// Who is where; machines are added when the ranks have told of them.
Expected<TuningPlace> place_before(const TuneRequest& request) {
  const RunRequest& run = request.run;
  const auto transport = find_transport(run.options.text("transport"), run.ranks_in_process);
  if (!transport) return fail(transport.error());
  WorldShape shape;
  shape.ranks = request.spec.ranks;
  TuningPlace place;
  place.transport = (*transport)->name;
  place.hosts = tuned_hosts(run.scenario.hosts, place_ranks(run.scenario.hosts, shape));
  return place;
}

// Whether there are links to tell apart, over a transport whose addresses can be measured.
bool unlike_links(const TuningPlace& place) {
  const std::set<std::string> hosts(place.hosts.begin(), place.hosts.end());
  const auto transport = find_transport(place.transport, false);
  // Ranks that share a host and its memory are not joined by what cells of kind link measure.
  const bool may_share = place.transport == "auto" && hosts.size() < place.hosts.size();
  return static_cast<int>(hosts.size()) >= kFewestUnlike && transport &&
         (*transport)->takes_ports && !may_share;
}

// `facts`: of the hosts that take part, in the order of their names.
Expected<std::vector<std::string>> machines_of(const TuneRequest& request,
                                               const std::vector<HostFacts>& facts) {
  const std::vector<ScenarioHost>& hosts = request.run.scenario.hosts;
  WorldShape shape;
  shape.ranks = request.spec.ranks;
  const std::vector<size_t> places = place_ranks(hosts, shape);
  std::map<std::string, std::string> machines;
  for (const size_t host : places) machines[hosts[host].name];
  if (machines.size() != facts.size()) {
    return fail(ErrorCode::kSystem, fmt::format("tune: {} of {} hosts said what they are",
                                                facts.size(), machines.size()));
  }
  auto next = facts.begin();
  for (auto& [name, text] : machines) text = machine_text(*next++);
  std::vector<std::string> of_ranks;
  for (const size_t host : places) of_ranks.push_back(machines[hosts[host].name]);
  return of_ranks;
}

// What is usual depends on it.
TuneRequest with_own_cables(TuneRequest request) {
  WorldShape shape;
  shape.ranks = request.spec.ranks;
  const std::vector<ScenarioHost>& hosts = request.run.scenario.hosts;
  request.spec.own_cables = have_own_cables(hosts, place_ranks(hosts, shape));
  return request;
}

// The three runs, one after the other, and what follows from each.
class Tuner {
 public:
  Tuner(TuneRequest request, Caller& caller)
      : request_(with_own_cables(std::move(request))), caller_(caller) {}

  Expected<TuneResult> tune() {
    Expected<TuningPlace> place = place_before(request_);
    if (!place) return fail(place.error());
    tuning_.place = std::move(*place);
    tuning_.version = PLUMBLINE_VERSION;
    Status done = calibrate();
    if (done) done = find_crossings();
    if (done) done = judge();
    if (!done) return fail(done.error());
    tuning_.made = utc_now_rfc3339();
    return std::move(result_);
  }

 private:
  using Measured = Expected<std::vector<MeasuredOperation>>;

  Measured measure(TuneStage& stage, const char* what, const Questions& questions,
                   bool links = false) {
    if (!request_.run.quiet) {
      caller_.say(fmt::format("plumbline: {}: {} operation{}", what, questions.size(),
                              questions.size() == 1 ? "" : "s"));
    }
    Measured measured = stage.measure(questions, links);
    if (measured) {
      result_.measured += measured->size();
      result_.unmeasured += questions.size() - measured->size();
    }
    const std::vector<MeasuredOperation>& failed = stage.heard().failed();
    failed_.insert(failed_.end(), failed.begin(), failed.end());
    return measured;
  }
  Status fit() {
    Expected<FittedModel> model = fit_model(start_, known_);
    if (!model) return fail(model.error());
    tuning_.model = std::move(*model);
    return {};
  }

  Status calibrate() {
    TuneStage stage(request_, caller_, kCalibrationShare, spec_.seed);
    Measured measured = measure(stage, "rates of the model", stage.at_random(calibration_of(spec_)),
                                unlike_links(tuning_.place));
    if (!measured) return fail(measured.error());
    Expected<std::vector<std::string>> machines = machines_of(request_, stage.heard().hosts());
    if (!machines) return fail(machines.error());
    tuning_.place.machines = std::move(*machines);
    start_.host_of = numbers_of(tuning_.place.hosts);
    start_.links = stage.heard().links();
    known_ = std::move(*measured);
    return fit();
  }

  Status find_crossings() {
    TuneStage stage(request_, caller_, kCrossingShare, spec_.seed + 1);
    const Topology& topology = tuning_.model.topology;
    const Questions asked = stage.shortest_first(near_crossings(spec_, topology), topology);
    Measured measured = measure(stage, "algorithms that it cannot tell apart", asked);
    if (!measured) return fail(measured.error());
    known_.insert(known_.end(), measured->begin(), measured->end());
    const Status fitted = fit();
    tuning_.table = table_of(spec_, topology, {asked, *measured, failed_});
    decided_ = std::move(*measured);
    return fitted;
  }

  Status judge() {
    TuneStage stage(request_, caller_, kHeldOutShare, spec_.seed + 2);
    const Measured measured = measure(stage, "sizes that decide nothing",
                                      stage.at_random(held_out_of(spec_, tuning_.table, decided_)));
    if (!measured) return fail(measured.error());
    result_.held_out = judge_held_out(spec_, tuning_, *measured);
    return {};
  }

  const TuneRequest request_;
  Caller& caller_;
  const TuneSpec& spec_ = request_.spec;
  TuneResult result_;
  Tuning& tuning_ = result_.tuning;
  Topology start_;                          // what is known of the links
  std::vector<MeasuredOperation> known_;    // that the model is fitted to
  std::vector<MeasuredOperation> decided_;  // that the table follows from
  std::vector<MeasuredOperation> failed_;   // in any of the runs
};

}  // namespace

Expected<TuneResult> tune(const TuneRequest& request, Caller& caller) {
  TuneRequest without = request;
  Expected<OptionSet> options = without.run.options.with("tuning", "none", "plumbline tune");
  if (!options) return fail(options.error());
  without.run.options = std::move(*options);
  return Tuner(std::move(without), caller).tune();
}

}  // namespace plumbline
