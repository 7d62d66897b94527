#include "scenarios/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/host/process_facts.h"
#include "core/units.h"

namespace plumbline {
namespace {

constexpr int64_t kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr int64_t kLeast = kSecond / 10, kMost = 1000 * kHour;
constexpr size_t kMostIdle = 16;
constexpr int kColdOperations = 8;  // told apart behind idle time
constexpr const char* kDefaultEvery = "5m";

Error flag_error(const char* flag, const std::string& text, const std::string& why) {
  return Error{ErrorCode::kUsage, fmt::format("--{} '{}': {}", flag, text, why), 0,
               fmt::format("write it like --{}", std::string_view(flag) == "idle"
                                                     ? "idle 1m,5m,25m"
                                                     : fmt::format("{} 5m (s, m or h)", flag)),
               ""};
}

Expected<int64_t> soak_time(const char* flag, const std::string& text) {
  const Expected<int64_t> ns = parse_duration(text);
  if (!ns) return fail(flag_error(flag, text, ns.error().what));
  if (*ns < kLeast || *ns > kMost) {
    return fail(flag_error(flag, text, "takes times from 100ms to 1000h"));
  }
  return *ns;
}

class WallClock : public SoakClock {
 public:
  int64_t now_ns() override { return monotonic_ns(); }
  bool sleep_until(int64_t ns, const std::function<bool()>& stop) override {
    constexpr int64_t kLookNs = 100 * kMillisecond;
    while (!stop()) {
      const int64_t left = ns - monotonic_ns();
      if (left <= 0) return true;
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kLookNs)));
    }
    return false;
  }
};

class Soak {
 public:
  Soak(const SoakRequest& request, CellRunner& ranks)
      : request_(request), ranks_(ranks), clock_(*request.clock), start_(clock_.now_ns()) {
    for (size_t i = 0; i < cells().size(); ++i) {
      if (cells()[i].skip.empty() && can_follow_idle(cells()[i].cell)) idle_cells_.push_back(i);
    }
  }

  SoakSummary all() {
    for (int64_t slot = 0; wait_for(slot);) {
      const int64_t begun = clock_.now_ns();
      ++summary_.rounds;
      if (request_.round_begins) request_.round_begins(summary_.rounds);
      if (!round() || !idle()) break;
      slot = next_slot(slot, clock_.now_ns() - begun);
    }
    return std::move(summary_);
  }

 private:
  const std::vector<PlanCell>& cells() const { return request_.run.plan->cells; }
  int64_t elapsed() const { return clock_.now_ns() - start_; }
  bool stopped() const { return ranks_.interrupted(); }

  void tell(const char* kind, const std::string& subject, const std::string& text) const {
    if (!request_.tell) return;
    SoakEvent event;
    event.kind = kind;
    event.subject = subject;
    event.text = text;
    event.at_ns = elapsed();
    event.round = summary_.rounds;
    request_.tell(std::move(event));
  }

  void phase(const std::string& doing) const {
    if (!request_.phase) return;
    request_.phase(fmt::format("round {}, {} of {}{}", summary_.rounds, soak_time_text(elapsed()),
                               soak_time_text(request_.plan.for_ns), doing));
  }

  // False: the time is over, or the user wants to stop.
  bool wait_for(int64_t slot) {
    const int64_t at = slot * request_.plan.every_ns;
    if (slot > 0 && (at >= request_.plan.for_ns || elapsed() >= request_.plan.for_ns)) {
      return false;
    }
    return sleep_until(start_ + at);
  }

  bool sleep_until(int64_t ns) {
    if (clock_.sleep_until(ns, [this] { return stopped(); }) && !stopped()) return true;
    summary_.counts.interrupted = true;
    return false;
  }

  // The grid stays; starts that have passed meanwhile are left out. Idle time that is longer than
  // the grid is as the user wants it: that is told once.
  int64_t next_slot(int64_t slot, int64_t took) {
    const int64_t every = request_.plan.every_ns;
    const int64_t next = std::max(slot + 1, (elapsed() + every - 1) / every);
    const int64_t missed = next - slot - 1;
    if (missed == 0) return next;
    summary_.late += missed;
    const std::string starts =
        fmt::format("{} start{} passed over", missed, missed == 1 ? "" : "s");
    if (took - idled_ns_ > every) {
      tell(
          "round", "",
          fmt::format("round {} took {}{}, longer than --every {}: {}", summary_.rounds,
                      soak_time_text(took - idled_ns_),
                      idled_ns_ > 0 ? " beside its idle time" : "", soak_time_text(every), starts));
    } else if (!std::exchange(idle_told_, true)) {
      tell("round", "",
           fmt::format("a round with its idle time is longer than --every {}: here {}, and so on "
                       "with every idle time like it",
                       soak_time_text(every), starts));
    }
    return next;
  }

  size_t idle_cell() const {
    const size_t lengths = std::max<size_t>(1, request_.plan.idle_ns.size());
    return idle_cells_[idle_turn_ / lengths % idle_cells_.size()];
  }

  // All cells, turned so that the one that is to be measured after the idle time comes last: the
  // connections that then lie idle are its own.
  bool round() {
    Plan plan = *request_.run.plan;
    if (!request_.plan.idle_ns.empty()) {
      const auto last = static_cast<std::ptrdiff_t>(idle_cell());
      std::rotate(plan.cells.begin(), plan.cells.begin() + last + 1, plan.cells.end());
    }
    if (summary_.rounds > 1) {
      std::erase_if(plan.cells, [](const PlanCell& cell) { return !cell.skip.empty(); });
    }
    phase("");
    return measure(plan, 0);
  }

  // False: the soak ends here.
  bool measure(const Plan& plan, int64_t idle_ns) {
    PlanRequest request = request_.run;
    request.plan = &plan;
    request.finished_ids.clear();
    request.notice = [&](const std::string& text) { tell("ranks", "", text); };
    request.mark = [&](Record& record) {
      record.soak = SoakMark{summary_.rounds, elapsed(), idle_ns, resident_bytes()};
    };
    const Expected<RunSummary> one = run_plan(request, ranks_);
    if (!one) {
      summary_.counts.stopped = one.error().message();
      return false;
    }
    add(summary_.counts, *one);
    world_stands_ = one->start_failure.empty();
    for (const Record& record : one->records) {
      const bool error = record.measurement.outcome == Outcome::kError;
      world_stands_ = !error;
      if (error)
        tell("cell", cell_id(record), "a cell ended in error: " + record.measurement.reason);
    }
    if (!one->start_failure.empty()) {
      // A host that restarts comes back: the next round tries again.
      ++summary_.counts.errors;
      tell("cell", "", one->start_failure);
    } else if (!one->stopped.empty()) {
      summary_.counts.stopped = one->stopped;
      return false;
    }
    return !one->interrupted;
  }

  // The idle time whose turn it is, and the cell behind it. False: the soak ends here.
  bool idle() {
    idled_ns_ = 0;
    if (request_.plan.idle_ns.empty()) return true;
    const std::vector<int64_t>& lengths = request_.plan.idle_ns;
    const int64_t length = lengths[idle_turn_ % lengths.size()];
    if (elapsed() + length > request_.plan.for_ns) {
      tell("round", "", fmt::format("no time left for {} of idle time", soak_time_text(length)));
      ++idle_turn_;
      return true;
    }
    if (!world_stands_) {
      tell("round", "", "no idle time: there are no connected ranks that could lie idle");
      return true;
    }
    phase(fmt::format(", idle for {}", soak_time_text(length)));
    const int64_t from = clock_.now_ns();
    if (!sleep_until(from + length)) return false;
    Plan plan = *request_.run.plan;
    plan.cells = {cells()[idle_cell()]};
    plan.cells.front().cold_operations = kColdOperations;
    const int64_t idled = clock_.now_ns() - from;
    ++idle_turn_;
    ++summary_.idle_done;
    const bool on = measure(plan, length);
    idled_ns_ = idled;
    return on;
  }

  const SoakRequest& request_;
  CellRunner& ranks_;
  SoakClock& clock_;
  const int64_t start_;
  SoakSummary summary_;
  std::vector<size_t> idle_cells_;  // in the plan
  size_t idle_turn_ = 0;
  int64_t idled_ns_ = 0;       // in this round
  bool idle_told_ = false;     // that idle time is longer than the grid
  bool world_stands_ = false;  // the last cell left connected ranks behind
};

}  // namespace

Expected<SoakPlan> parse_soak(const std::string& whole, const std::string& every,
                              const std::string& idle) {
  SoakPlan plan;
  const Expected<int64_t> for_ns = soak_time("for", whole);
  if (!for_ns) return fail(for_ns.error());
  const Expected<int64_t> every_ns = soak_time("every", every.empty() ? kDefaultEvery : every);
  if (!every_ns) return fail(every_ns.error());
  plan.for_ns = *for_ns;
  plan.every_ns = *every_ns;
  for (size_t begin = 0; !idle.empty() && begin <= idle.size();) {
    const size_t comma = std::min(idle.find(',', begin), idle.size());
    const Expected<int64_t> ns = soak_time("idle", idle.substr(begin, comma - begin));
    if (!ns) return fail(ns.error());
    if (*ns > plan.for_ns) {
      return fail(flag_error("idle", idle, "a time is longer than --for " + whole));
    }
    plan.idle_ns.push_back(*ns);
    begin = comma + 1;
  }
  if (plan.idle_ns.size() > kMostIdle) {
    return fail(flag_error("idle", idle, fmt::format("takes at most {} times", kMostIdle)));
  }
  return plan;
}

std::string soak_time_text(int64_t ns) {
  const auto whole = static_cast<int64_t>(std::llround(static_cast<double>(ns) * 1e-9));
  if (ns < 10 * kSecond) return fmt::format("{:.3g} s", static_cast<double>(ns) * 1e-9);
  if (ns < 2 * kMinute) return fmt::format("{} s", whole);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60, seconds = whole % 60;
  std::string text = hours > 0 ? fmt::format("{} h", hours) : "";
  if (minutes > 0) text += fmt::format("{}{} min", text.empty() ? "" : " ", minutes);
  if (seconds > 0 && hours == 0) text += fmt::format(" {} s", seconds);
  return text;
}

std::unique_ptr<SoakClock> make_soak_clock() { return std::make_unique<WallClock>(); }

bool can_follow_idle(const Cell& cell) { return row(cell.kind).times_operations(); }

Status check_soak(const SoakPlan& soak, const Plan& plan) {
  if (soak.idle_ns.empty()) return {};
  for (const PlanCell& cell : plan.cells) {
    if (cell.skip.empty() && can_follow_idle(cell.cell)) return {};
  }
  return fail(ErrorCode::kUsage,
              "--idle: no cell of this plan has operations that could be told apart behind idle "
              "time",
              "add one of kind latency, bandwidth or throughput, or leave --idle out");
}

Expected<SoakSummary> run_soak(const SoakRequest& request, CellRunner& ranks) {
  if (request.run.scenario == nullptr || request.run.plan == nullptr || request.clock == nullptr ||
      request.plan.every_ns <= 0 || request.plan.for_ns <= 0) {
    return fail(ErrorCode::kUsage, "run_soak needs a scenario, its plan, times and a clock");
  }
  if (const Status idle = check_soak(request.plan, *request.run.plan); !idle) {
    return fail(idle.error());
  }
  return Soak(request, ranks).all();
}

}  // namespace plumbline
