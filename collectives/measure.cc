#include "collectives/measure.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "collectives/cell_run.h"
#include "collectives/list_work.h"
#include "collectives/start_sync.h"
#include "collectives/time_parts.h"
#include "collectives/verifier.h"
#include "core/record/record.h"

namespace plumbline {
namespace {

constexpr uint64_t kSamplesKept = 10'000;  // in the record; all go into the histogram
constexpr double kConverged = 0.02;        // warm-up: three medians in a row this close
constexpr int64_t kWarmupCapNs = 300'000'000;
constexpr uint64_t kFirstBlock = 30;  // samples before the stop rule is first asked
constexpr int kWarmMeetings = 9;
// Operations that are taken apart after the timed ones: for so long, and no more than so many.
constexpr int64_t kApartNs = 10 * kMillisecond, kMostApart = 64;

// What this rank has sent and used so far, verification left out.
struct Totals {
  Usage usage;
  uint64_t operations = 0;
  EngineTraffic sent;
};

// The mean operation; nothing where none has ended.
std::optional<TimeSplit> split_of(const TimeParts& parts) {
  if (parts.operations == 0) return std::nullopt;
  const auto mean = [&](int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(parts.operations);
  };
  TimeSplit split;
  split.operations = parts.operations;
  split.total = mean(parts.total_ns);
  split.queue = mean(parts.queue_ns);
  split.sync = mean(parts.waits[static_cast<size_t>(Stall::kPeerLate)]);
  split.reduce = mean(parts.local_ns);
  split.network = std::max(0.0, split.total - split.queue - split.sync - split.reduce);
  return split;
}

// One cell being measured on one rank.
class Meter {
 public:
  Meter(const Cell& cell, const MeasureSettings& settings, const MeasureContext& context,
        const OperationSpec& spec, VerifyMode mode, EngineWork& work)
      : cell_(cell),
        settings_(settings),
        context_(context),
        work_(work),
        spec_(spec),
        exchange_(*context.executor, settings.operation_timeout_ms),
        own_clocks_(*context.group, monotonic_ns, ClockLimits{}, context.executor->apart()),
        start_(make_start_sync(cell.sync, *context.group, exchange_,
                               context.clocks != nullptr ? *context.clocks : own_clocks_,
                               settings.operation_timeout_ms)),
        slots_(slots_of(cell, mode)),
        verifier_(work, slots_.all(), mode, settings.verify_seed) {}

  Expected<Measurement> run() {
    if (!start_) return fail(ErrorCode::kConfig, "unknown sync '" + cell_.sync + "'");
    prepare();
    Status done = settings_.cold_operations > 0 ? cold_operations() : first_operation();
    if (done) done = verify_before();
    if (done && timing_ != CellTiming::kNothing) {
      const bool sustained = timing_ == CellTiming::kSustained;
      done = warm_up();
      const Totals before = totals_now();
      if (done) done = sustained ? keep_going() : sampled();
      finish_totals(before);
      if (done && !sustained) done = start_->describe(result_);
      if (done) done = take_apart();
    }
    if (done && settings_.cold_operations > 0) done = warm_meeting();
    if (done) done = agree_on_outcome();
    if (!done) return fail(done.error());
    return std::move(result_);
  }

 private:
  void prepare() {
    for (size_t slot = 0; slot < slots_.all(); ++slot) verifier_.fill(slot);
    const auto aggregate = static_cast<uint64_t>(std::max(1, settings_.aggregate));
    verifiable_ = aggregate == 1 || !spec_.in_place;
    together_.emplace(BackToBack::Setup{&work_, in_flight_of(cell_), &exchange_, &verifier_,
                                        &aside_, slots_, aggregate, verifiable_,
                                        settings_.operation_timeout_ms});
    sent_per_operation_ = static_cast<int64_t>(work_.sent_bytes());
    // Rank 0's record is the cell's.
    if (context_.group->rank() == 0) describe_cost();
    context_.engine->describe(result_.resolved);
    result_.resolved.algorithm = work_.algorithm();
    if (spec_.split) result_.resolved.group_ranks = group_ranks(cell_);
  }

  void describe_cost() {
    const RankPairs& apart = context_.executor->apart();
    if (const auto floor = floor_of(cell_, *context_.options, apart)) {
      result_.extra[row(floor->manner).key] = static_cast<double>(floor->bytes);
    }
    if (const auto cost = operation_cost_of(cell_, *context_.options, apart)) {
      result_.extra[kCostDepth] = cost->depth;
      result_.extra[kCostWire] = cost->wire_bytes;
      result_.extra[kCostReduce] = cost->reduce_bytes;
      result_.extra[kCostCopy] = cost->copy_bytes;
    }
  }

  Deadline watchdog() const { return Deadline::after_ms(settings_.operation_timeout_ms); }

  Status once(size_t slot) { return work_.run(slot, watchdog()); }

  Status first_operation() {
    if (const Status ready = exchange_.barrier(); !ready) return ready;
    const int64_t start = monotonic_ns();
    const Status done = once(0);
    result_.first_op_ns = monotonic_ns() - start;
    verifier_.ran(1);
    if (done && verifier_.on()) verifier_.check(0);
    return done;
  }

  // After idle time. Ranks are told to measure at slightly different moments: the one that comes
  // last waits for nobody, so that the shortest meeting is the path's own. Nothing stands between
  // the operations; what the last one left in each array is verified after them.
  Status cold_operations() {
    const int64_t start = monotonic_ns();
    if (const Status ready = exchange_.barrier(); !ready) return ready;
    std::vector<int64_t> times = {-(monotonic_ns() - start)};
    for (int i = 0; i < settings_.cold_operations; ++i) {
      const int64_t before = monotonic_ns();
      if (const Status done = once(static_cast<size_t>(i) % slots_.ordinary); !done) return done;
      times.push_back(monotonic_ns() - before);
    }
    result_.first_op_ns = times[1];
    verify_cold();
    if (const Status done = exchange_.max(times); !done) return done;
    result_.extra[kColdMeeting] = static_cast<double>(-times[0]);
    for (int i = 1; i <= settings_.cold_operations; ++i) {
      result_.extra[cold_op_key(i)] = static_cast<double>(times[static_cast<size_t>(i)]);
    }
    return {};
  }

  // Repeated in place, an operation works on its own result, which no pattern describes.
  void verify_cold() {
    const auto count = static_cast<size_t>(settings_.cold_operations);
    verifier_.ran(count);
    for (size_t slot = 0; verifier_.on() && slot < std::min(count, slots_.ordinary); ++slot) {
      const bool repeated = slot + slots_.ordinary < count;
      if (!repeated || !spec_.in_place) verifier_.check(slot);
    }
  }

  // The same meeting while everything is warm: the median of several, each as the rank that came
  // last saw it.
  Status warm_meeting() {
    std::vector<int64_t> times;
    for (int i = 0; i < kWarmMeetings; ++i) {
      const int64_t start = monotonic_ns();
      if (const Status ready = exchange_.barrier(); !ready) return ready;
      times.push_back(-(monotonic_ns() - start));
    }
    if (const Status done = exchange_.max(times); !done) return done;
    std::vector<double> meetings;
    for (const int64_t time : times) meetings.push_back(static_cast<double>(-time));
    result_.extra[kWarmMeeting] = median(std::move(meetings));
    return {};
  }

  Status verify_before() {
    for (int i = 0; i < settings_.verify_iterations; ++i) {
      verifier_.fill(0);
      if (const Status done = once(0); !done) return done;
      verifier_.ran(1);
      verifier_.check(0);
    }
    return {};
  }

  bool fixed() const { return settings_.fixed_iterations > 0; }
  uint64_t fixed_iterations() const { return static_cast<uint64_t>(settings_.fixed_iterations); }

  // Durations of `count` operations on this rank.
  Status block(uint64_t count, std::vector<int64_t>& durations) {
    if (const Status ready = start_->before_block(); !ready) return ready;
    int64_t window_ns = 0;
    return start_->apart() ? apart(count, durations)
                           : together_->timed(count, interrupted_, durations, window_ns);
  }

  // They start together, and there is time between them: every single one gets fresh data and is
  // verified, unless only the last one is to be. The arrays of a round are filled before its first
  // operation: what this rank had written just before would lie in its cache.
  Status apart(uint64_t count, std::vector<int64_t>& durations) {
    durations.resize(count);
    for (uint64_t first = 0; first < count; first += slots_.ordinary) {
      const std::span round =
          std::span(durations).subspan(first, std::min<uint64_t>(slots_.ordinary, count - first));
      const bool last = first + round.size() == count;
      if (const Status done = round_apart(round, last); !done) return done;
    }
    return {};
  }

  // Each in a slot of its own.
  Status round_apart(std::span<int64_t> durations, bool last_round) {
    const auto aggregate = static_cast<uint64_t>(std::max(1, settings_.aggregate));
    const bool all = verifier_.on() && verifier_.mode() != VerifyMode::kLast;
    const bool one = verifier_.on() && last_round;
    const size_t checked = all ? 0 : one ? durations.size() - 1 : durations.size();
    for (size_t slot = checked; slot < durations.size(); ++slot) {
      aside([&] { verifier_.fill(slot); });
    }
    for (size_t slot = 0; slot < durations.size(); ++slot) {
      if (const Status ready = start_->begin(); !ready) return ready;
      for (uint64_t k = 0; k < aggregate; ++k) {
        if (const Status done = once(slot); !done) return done;
      }
      durations[slot] = start_->end() / static_cast<int64_t>(aggregate);
      verifier_.ran(aggregate);
    }
    for (size_t slot = checked; verifiable_ && slot < durations.size(); ++slot) {
      aside([&] { verifier_.check(slot); });
    }
    return {};
  }

  template <typename Work>
  void aside(const Work& work) {
    const UsageAside measured(aside_);
    work();
  }

  bool interrupted() const { return context_.interrupted && context_.interrupted(); }

  // Every rank's view combined: per sample the slowest rank, elapsed and interrupted the largest.
  Status agree(std::vector<int64_t>& slowest, int64_t& elapsed_ns, bool& stop) {
    slowest.push_back(elapsed_ns);
    slowest.push_back(interrupted() ? 1 : 0);
    const Status done = exchange_.max(slowest);
    if (!done) return done;
    stop = slowest.back() != 0;
    slowest.pop_back();
    elapsed_ns = slowest.back();
    slowest.pop_back();
    return {};
  }

  Status warm_up() {
    std::vector<int64_t> durations;
    if (settings_.fixed_warmup >= 0) {
      result_.warmup_iterations = static_cast<uint64_t>(settings_.fixed_warmup);
      result_.warmup_converged = true;
      return start_->apart() ? apart(result_.warmup_iterations, durations)
                             : together_->untimed(result_.warmup_iterations, interrupted_);
    }
    const int64_t cap = std::min(kWarmupCapNs, settings_.stop.max_time_ns / 2);
    const int64_t start = monotonic_ns();
    std::vector<double> medians;
    uint64_t count = 1;
    while (true) {
      const uint64_t before = verifier_.operations();
      if (const Status done = block(count, durations); !done) return done;
      result_.warmup_iterations += verifier_.operations() - before;
      std::sort(durations.begin(), durations.end());
      std::vector<int64_t> view = {durations[durations.size() / 2]};
      int64_t elapsed = monotonic_ns() - start;
      bool stop = false;
      if (const Status done = agree(view, elapsed, stop); !done) return done;
      medians.push_back(static_cast<double>(view[0]));
      typical_ns_ = std::max<int64_t>(view[0], 1);
      result_.warmup_converged = converged(medians);
      if (result_.warmup_converged || elapsed >= cap || stop) return {};
      // Blocks of about a millisecond, at least ten operations once the time allows.
      count = static_cast<uint64_t>(std::clamp<int64_t>(kMillisecond / typical_ns_, 3, 100));
    }
  }

  static bool converged(const std::vector<double>& medians) {
    if (medians.size() < 4) return false;  // the first block holds a single, cold operation
    const auto last = medians.end() - 3;
    const auto [low, high] = std::minmax_element(last, medians.end());
    return *high - *low <= kConverged * *low;
  }

  Status sampled() {
    std::vector<int64_t> samples;  // slowest rank, in time order
    std::vector<int64_t> durations;
    const int64_t start = monotonic_ns();
    uint64_t tried = 0;  // late ones too
    uint64_t count = fixed() ? fixed_iterations() : first_block();
    while (true) {
      if (const Status done = block(count, durations); !done) return done;
      tried += durations.size();
      std::vector<int64_t> own = durations;
      start_->mark_late(durations);
      int64_t elapsed = monotonic_ns() - start;
      bool stop = false;
      if (const Status done = agree(durations, elapsed, stop); !done) return done;
      start_->drop_late(durations, own);
      mine_.insert(mine_.end(), own.begin(), own.end());
      samples.insert(samples.end(), durations.begin(), durations.end());
      result_.elapsed_ns = elapsed;
      result_.stop_reason = stop ? "interrupted" : why_stop(samples, tried, elapsed);
      if (!result_.stop_reason.empty()) break;
      const bool short_of_fixed = fixed() && samples.size() < fixed_iterations();
      count = short_of_fixed ? fixed_iterations() - samples.size()
                             : next_block(tried, samples.size(), elapsed);
    }
    result_.iterations = samples.size();
    keep(samples);
    return {};
  }

  // Late samples are made up for, but not without end.
  std::string why_stop(const std::vector<int64_t>& samples, uint64_t tried, int64_t elapsed) const {
    if (!fixed()) {
      std::string reason = plumbline::stop_reason(settings_.stop, samples, elapsed);
      return reason == "ci" && goes_on_for_tail(samples.size(), elapsed) ? "" : reason;
    }
    const bool enough = samples.size() >= fixed_iterations();
    if (enough && goes_on_for_tail(samples.size(), elapsed)) return "";
    return enough || tried >= kMostTries * fixed_iterations() ? "count" : "";
  }

  // The median is known well enough; are the operations so fast that a p99 costs little more?
  bool goes_on_for_tail(uint64_t have, int64_t elapsed) const {
    const bool wanted = fixed() ? settings_.tail : row(cell_.kind).headline == Headline::kTime;
    const bool allowed = fixed() || settings_.stop.max_n >= kTailSamples;
    if (!wanted || !allowed || have == 0 || have >= kTailSamples) return false;
    const double whole = static_cast<double>(elapsed) / static_cast<double>(have) * kTailSamples;
    return whole <= static_cast<double>(tail_time_ns());
  }
  int64_t tail_time_ns() const {
    return fixed() ? kTailTimeNs : std::min(kTailTimeNs, settings_.stop.max_time_ns);
  }

  // No more than the rule's caps allow; every rank has the same typical time.
  uint64_t first_block() const {
    const auto fits = static_cast<uint64_t>(settings_.stop.max_time_ns / typical_ns_) + 1;
    return std::max<uint64_t>(1, std::min({kFirstBlock, settings_.stop.max_n, fits}));
  }

  // Half as many again, but never far beyond the time or count that is left.
  uint64_t next_block(uint64_t tried, uint64_t have, int64_t elapsed) const {
    const uint64_t most = fixed() ? kTailSamples : settings_.stop.max_n;
    const int64_t longest = fixed() ? kTailTimeNs : settings_.stop.max_time_ns;
    const auto per_sample = std::max<int64_t>(1, elapsed / static_cast<int64_t>(tried));
    const int64_t left = std::max<int64_t>(0, longest - elapsed);
    const auto fits = static_cast<uint64_t>(left / per_sample) + 1;
    return std::max<uint64_t>(1, std::min({have / 2 + 1, fits, most - std::min(most, have)}));
  }

  void keep(const std::vector<int64_t>& samples) {
    for (const int64_t sample : samples) result_.hist.add(sample);
    const auto kept = std::min<uint64_t>(samples.size(), kSamplesKept);
    result_.samples_ns.assign(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(kept));
  }

  // A fixed number of operations, agreed from the warm-up's typical time, with k in flight. Where
  // there are stops, what they take counts: the cell ends at the first one after its time.
  Status keep_going() {
    const auto k = in_flight_of(cell_);
    const auto total = static_cast<uint64_t>(std::clamp<int64_t>(
        settings_.throughput_time_ns / typical_ns_, static_cast<int64_t>(4 * k), 2'000'000));
    const int64_t end = monotonic_ns() + settings_.throughput_time_ns;
    const auto enough = [&](uint64_t timed) {
      return interrupted() || (timed >= 4 * k && monotonic_ns() >= end);
    };
    int64_t elapsed = 0;
    if (const Status done = together_->timed(total, enough, mine_, elapsed); !done) return done;
    std::vector<int64_t> samples = mine_;
    bool stop = false;
    if (const Status done = agree(samples, elapsed, stop); !done) return done;
    result_.elapsed_ns = elapsed;
    result_.stop_reason = stop ? "interrupted" : "time";
    result_.iterations = samples.size();
    result_.ops_per_s = static_cast<double>(samples.size()) * 1e9 / static_cast<double>(elapsed);
    result_.bytes_per_s = *result_.ops_per_s * static_cast<double>(cell_.bytes);
    keep(samples);
    return {};
  }

  // A few more operations, after those that are timed, with a look at the clock wherever they go
  // from one thing to another. The ranks agree on how many.
  Status take_apart() {
    if (result_.iterations == 0 || result_.stop_reason == "interrupted") return {};
    const int64_t each =
        std::max<int64_t>(1, result_.elapsed_ns / static_cast<int64_t>(result_.iterations));
    const auto count = static_cast<uint64_t>(std::clamp(kApartNs / each, int64_t{1}, kMostApart));
    TimeParts parts;
    if (!work_.time_parts(&parts)) return {};
    const Verifier::Counts counts = verifier_.counts();
    std::vector<int64_t> durations;
    int64_t window_ns = 0;
    const bool together = timing_ == CellTiming::kSustained || !start_->apart();
    const Status done = together ? together_->timed(count, interrupted_, durations, window_ns)
                                 : apart(count, durations);
    work_.time_parts(nullptr);
    verifier_.go_back_to(counts);
    result_.per_rank.front().split = split_of(parts);
    return done;
  }

  Totals totals_now() const {
    return {usage_now() - aside_, verifier_.operations(), context_.engine->traffic()};
  }

  void grant_buffers(PerRank& mine) const {
    const auto smaller = [](std::optional<uint64_t>& least, const std::optional<uint64_t>& bytes) {
      if (bytes) least = std::min(least.value_or(*bytes), *bytes);
    };
    for (const auto& stream : context_.group->stream_stats()) {
      if (!stream) continue;
      smaller(mine.send_buffer_bytes, stream->send_buffer);
      smaller(mine.recv_buffer_bytes, stream->recv_buffer);
    }
  }

  void finish_totals(const Totals& before) {
    const Totals after = totals_now();
    const Usage used = after.usage - before.usage;
    PerRank mine;
    mine.rank = context_.group->rank();
    mine.host = context_.host;
    const TimeSummary summary = summarize(mine_);
    mine.p50 = summary.p50;
    mine.p99 = summary.p99;
    if (!mine_.empty()) {
      double sum = 0;
      for (const int64_t value : mine_) sum += static_cast<double>(value);
      mine.mean = sum / static_cast<double>(mine_.size());
    }
    mine.wire_bytes = after.sent.wire_bytes - before.sent.wire_bytes;
    mine.cpu_ns = used.cpu_ns;
    mine.context_switches = used.switches;
    mine.retransmits = after.sent.retransmits - before.sent.retransmits;
    if (after.sent.counters && before.sent.counters) {
      mine.counters = *after.sent.counters - *before.sent.counters;
    }
    grant_buffers(mine);
    result_.per_rank = {mine};
    involuntary_ = used.involuntary;
    result_.extra[kMeasuredOperations] = static_cast<double>(after.operations - before.operations);
  }

  // Wrong elements and bytes are summed over the ranks, so that every rank reports the same
  // outcome.
  Status agree_on_outcome() {
    std::vector<int64_t> totals = {static_cast<int64_t>(verifier_.wrong()), sent_per_operation_,
                                   involuntary_};
    if (const Status done = exchange_.sum(totals); !done) return done;
    result_.wire_bytes = static_cast<uint64_t>(totals[1]);
    if (timing_ != CellTiming::kNothing) {
      result_.extra[kInvoluntarySwitches] = static_cast<double>(totals[2]);
    }
    describe_verification();
    if (const Status done = agree_on_error(); !done) return done;
    if (verifier_.verified() > 0) {
      result_.wrong = static_cast<uint64_t>(totals[0]);
      result_.verified = totals[0] == 0 && verified() == verifier_.operations();
      if (totals[0] > 0) {
        result_.outcome = Outcome::kFailed;
        result_.cause = kWrongDataCause;
        result_.reason = std::to_string(totals[0]) + " wrong elements over all ranks";
        std::vector<int64_t> operations = {static_cast<int64_t>(verifier_.wrong_operations())};
        if (const Status done = exchange_.max(operations); !done) return done;
        result_.extra[kWrongOperations] = static_cast<double>(operations[0]);
      }
    }
    return {};
  }

  // Of compressed results: the largest error over the ranks. Numbers that are not negative are
  // ordered as their bits are.
  Status agree_on_error() {
    const std::optional<ResultError> error = work_.error();
    if (!error || verifier_.verified() == 0) return {};
    std::vector<int64_t> most = {std::bit_cast<int64_t>(error->max_abs),
                                 std::bit_cast<int64_t>(error->max_rel)};
    if (const Status done = exchange_.max(most); !done) return done;
    result_.extra[kMaxErrorAbs] = std::bit_cast<double>(most[0]);
    result_.extra[kMaxErrorRel] = std::bit_cast<double>(most[1]);
    return {};
  }

  // The same numbers on every rank. Operations without data have nothing that could be wrong.
  uint64_t verified() const {
    return verifier_.on() && cell_.bytes == 0 ? verifier_.operations() : verifier_.verified();
  }
  void describe_verification() {
    result_.extra[kOperations] = static_cast<double>(verifier_.operations());
    result_.extra[kVerifiedOperations] = static_cast<double>(verified());
    if (slots_.check > 0 && verifier_.mode() == VerifyMode::kSampled) {
      result_.extra[kVerifySeed] = settings_.verify_seed;
    }
  }

  const Cell& cell_;
  const MeasureSettings& settings_;
  const MeasureContext& context_;
  EngineWork& work_;
  const CellTiming timing_ = row(cell_.kind).timing;
  OperationSpec spec_;
  Exchange exchange_;
  ClockSync own_clocks_;  // where the context has none
  std::unique_ptr<StartSync> start_;
  SlotCounts slots_;
  Verifier verifier_;
  std::optional<BackToBack> together_;
  BackToBack::Enough interrupted_ = [this](uint64_t) { return interrupted(); };
  Usage aside_;                // by verification
  bool verifiable_ = true;     // a sample's result can be compared
  std::vector<int64_t> mine_;  // this rank's own durations, ns
  int64_t typical_ns_ = 1;
  int64_t sent_per_operation_ = 0, involuntary_ = 0;
  Measurement result_;
};

}  // namespace

Expected<OperationSpec> operation_of(const Cell& cell, const OptionSet& options) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  const auto redop = redop_from(cell.redop);
  if (!op) return fail(ErrorCode::kConfig, "unknown operation '" + cell.op + "'");
  if (!dtype) return fail(ErrorCode::kConfig, "unknown dtype '" + cell.dtype + "'");
  const std::string why = arrays_unsupported(cell);
  if (!why.empty()) return fail(ErrorCode::kUnsupported, why);
  const std::string no_groups = groups_unsupported(cell);
  if (!no_groups.empty()) return fail(ErrorCode::kUnsupported, no_groups);
  OperationSpec spec;
  spec.op = *op;
  spec.arrays = cell.arrays;
  spec.dtype = *dtype;
  spec.redop = redop.value_or(RedOp::kSum);
  spec.root = std::max(cell.root, 0);
  spec.split = parse_split(cell.split).value_or(Split{});
  spec.count = shape_of(*op, *dtype, group_ranks(cell), cell.bytes).count;
  spec.in_place = cell.placement == "in" && row(*op).has_in_place;
  spec.algorithm = cell.algorithm;
  const Expected<Codec> codec = parse_codec(cell.compression);
  if (!codec) return fail(codec.error());
  spec.codec = *codec;
  spec.fast_math = options.flag("fast_math");
  spec.small_bytes = static_cast<uint64_t>(options.integer("small_msg_threshold"));
  return spec;
}

Expected<Measurement> measure(const Cell& cell, const MeasureSettings& settings,
                              const MeasureContext& context) {
  const Expected<OperationSpec> spec = operation_of(cell, *context.options);
  if (!spec) return fail(spec.error());
  const VerifyMode mode = verify_mode(*context.options, settings.verify_iterations > 0);
  const Expected<std::unique_ptr<EngineWork>> work =
      context.engine->prepare(*spec, slots_of(cell, mode).all(), in_flight_of(cell));
  if (!work) return fail(work.error());
  return Meter(cell, settings, context, *spec, mode, **work).run();
}

}  // namespace plumbline
