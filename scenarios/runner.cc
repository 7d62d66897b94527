#include "scenarios/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/clock.h"
#include "core/record/record.h"
#include "core/stats/noise.h"
#include "scenarios/estimate.h"

namespace plumbline {
namespace {

constexpr int kStartAttempts = 2;  // failures in a row to start the ranks that end the run

double seconds_since(int64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) * 1e-9;
}

// What the plan says of the cells that are not done yet.
double estimated_s(const PlanRequest& request) {
  double sum = 0;
  for (const PlanCell& cell : request.plan->cells) {
    if (request.finished_ids.count(cell.id) == 0) sum += cell.estimated_s;
  }
  return sum * request.rounds;
}

Measurement skipped(const std::string& reason) {
  Measurement measurement;
  measurement.outcome = Outcome::kSkipped;
  measurement.reason = reason;
  return measurement;
}

Measurement error_measurement(const Error& error) {
  Measurement measurement;
  measurement.outcome = Outcome::kError;
  measurement.reason = error.message();
  measurement.cause = error.cause.empty() ? to_string(error.code) : error.cause;
  return measurement;
}

class Run {
 public:
  Run(const PlanRequest& request, CellRunner& ranks)
      : request_(request), ranks_(ranks), eta_(estimated_s(request)) {}

  RunSummary all() {
    for (int round = 0; round < request_.rounds; ++round) {
      if (!once()) break;
    }
    return std::move(summary_);
  }

 private:
  // One round; false = the run ends here.
  bool once() {
    for (const PlanCell& cell : request_.plan->cells) {
      if (request_.finished_ids.count(cell.id) != 0) {
        ++summary_.resumed;
        ++done_;
        continue;
      }
      if (ranks_.interrupted()) summary_.interrupted = true;
      if (summary_.interrupted) return false;
      tell(&cell, nullptr);
      const int64_t start = monotonic_ns();
      if (!one(cell)) return false;
      eta_.done(cell.estimated_s, seconds_since(start));
      ++done_;
      tell(nullptr, &summary_.records.back());
    }
    return true;
  }

  // Measures and records one cell; false = the run ends here.
  bool one(const PlanCell& cell) {
    if (!cell.skip.empty()) return record(cell, skipped(cell.skip));
    if (!ready(cell)) return false;
    const Expected<Measurement> measured = ranks_.run(cell);
    if (!measured) {
      // An interrupt that tears the group down is no fault of the cell.
      if (measured.error().code == ErrorCode::kInterrupted || ranks_.interrupted()) {
        summary_.interrupted = true;
        return false;
      }
      return record(cell, error_measurement(measured.error()));
    }
    if (measured->stop_reason == "interrupted") {
      summary_.interrupted = true;
      return false;
    }
    const std::string option = ranks_.environment().options["transport"].value;
    const Status same = ran_as_asked(cell.cell, *measured, option.empty() ? "auto" : option);
    if (!same) {
      return record(cell, error_measurement(same.error()));
    }
    return record(cell, *measured);
  }

  // Ranks for this cell. One failure may be the echo of a broken group (a port that is not free
  // yet), so it is tried again; the next failure ends the run.
  bool ready(const PlanCell& cell) {
    for (int attempt = 1;; ++attempt) {
      const Status status = ranks_.ensure_world(world_of(cell.cell));
      if (status) return true;
      if (ranks_.interrupted() || status.error().code == ErrorCode::kInterrupted) {
        summary_.interrupted = true;
        return false;
      }
      // Ranks that cannot be started again at all: a launcher's.
      if (status.error().code == ErrorCode::kAborted) {
        summary_.stopped = status.error().message();
        return false;
      }
      if (attempt == kStartAttempts) {
        summary_.stopped = fmt::format("{} ranks could not be started, {} times in a row: {}",
                                       cell.cell.ranks, attempt, status.error().message());
        summary_.start_failure = summary_.stopped;
        return false;
      }
      if (request_.notice) {
        request_.notice(fmt::format("{} ranks are started again: {}", cell.cell.ranks,
                                    status.error().message()));
      }
    }
  }

  bool record(const PlanCell& cell, Measurement measurement) {
    Record record;
    record.suite_version = PLUMBLINE_VERSION;
    record.run_id = request_.run_id;
    record.time = utc_now_rfc3339();
    record.scenario = request_.scenario->name;
    record.question = request_.scenario->question;
    record.plan_hash = request_.plan->hash;
    record.seed = request_.plan->seed;
    record.cell = cell.cell;
    record.measurement = std::move(measurement);
    record.environment = ranks_.environment();
    if (!request_.command.empty()) record.environment.command = request_.command;
    recompute(record);
    record.noise = judge_noise(record, clock_.call_ns);
    if (request_.mark) request_.mark(record);
    if (request_.file != nullptr) {
      if (const Status written = request_.file->append(record); !written) {
        summary_.stopped = fmt::format("records cannot be written: {}", written.error().message());
        return false;
      }
    }
    count(summary_, record);
    if (!request_.gather) summary_.records.clear();
    summary_.records.push_back(std::move(record));
    return true;
  }

  void tell(const PlanCell* current, const Record* last) {
    if (!request_.progress) return;
    const size_t total = request_.plan->cells.size() * static_cast<size_t>(request_.rounds);
    request_.progress({done_, total, seconds_since(start_ns_), eta_.seconds(), current, last, ""});
  }

  const PlanRequest& request_;
  CellRunner& ranks_;
  RunSummary summary_;
  Eta eta_;
  size_t done_ = 0;
  const int64_t start_ns_ = monotonic_ns();
  const ClockQuality clock_ = measure_clock();
};

class Repetition {
 public:
  explicit Repetition(const RepeatRequest& request) : request_(request) {}

  RepeatSummary all() {
    const std::vector<bool> swapped = second_side_first(request_.launches, request_.seed);
    for (int number = 1; number <= request_.launches; ++number) {
      const bool swap = request_.sides.size() == 2 && swapped[static_cast<size_t>(number - 1)];
      for (size_t turn = 0; turn < request_.sides.size(); ++turn) {
        if (!one(request_.sides[swap ? request_.sides.size() - 1 - turn : turn], number)) {
          return std::move(summary_);
        }
      }
    }
    return std::move(summary_);
  }

 private:
  // False: the run ends here.
  bool one(const RepeatSide& side, int number) {
    PlanRequest request = side.run;
    request.finished_ids.clear();
    for (const Record& record : of_launch(side.earlier, number, request_.series)) {
      if (record.measurement.outcome != Outcome::kError) {
        request.finished_ids.insert(cell_id(record.cell));
      }
    }
    request.mark = [&](Record& record) {
      record.launch = LaunchMark{number, request_.series, side.name};
    };
    if (request_.phase) {
      request_.phase(fmt::format("launch {}/{}{}{}", number, request_.launches,
                                 side.name.empty() ? "" : " of " + side.name,
                                 request_.series > 1 ? ", again" : ""));
    }
    const Expected<RunSummary> done = run_plan(request, *side.ranks);
    if (side.end) side.end();
    if (!done) {
      summary_.counts.stopped = done.error().message();
      return false;
    }
    add(summary_.counts, *done);
    summary_.counts.stopped = done->stopped;
    if (done->interrupted || !done->stopped.empty()) return false;
    ++summary_.launches;
    return true;
  }

  const RepeatRequest& request_;
  RepeatSummary summary_;
};

}  // namespace

Expected<RunSummary> run_plan(const PlanRequest& request, CellRunner& ranks) {
  if (request.scenario == nullptr || request.plan == nullptr) {
    return fail(ErrorCode::kUsage, "run_plan needs a scenario and its plan");
  }
  return Run(request, ranks).all();
}

void count(RunSummary& summary, const Record& record) {
  switch (record.measurement.outcome) {
    case Outcome::kPassed:
      ++summary.passed;
      break;
    case Outcome::kFailed:
      ++summary.failed;
      break;
    case Outcome::kSkipped:
      ++summary.skipped;
      break;
    case Outcome::kError:
      ++summary.errors;
      break;
  }
  summary.wrong += record.measurement.wrong.value_or(0);
  if (record.measurement.cause == kWrongDataCause) ++summary.spoiled;
}

void add(RunSummary& all, const RunSummary& one) {
  all.passed += one.passed;
  all.failed += one.failed;
  all.skipped += one.skipped;
  all.errors += one.errors;
  all.wrong += one.wrong;
  all.spoiled += one.spoiled;
  all.interrupted = all.interrupted || one.interrupted;
}

int exit_code(const RunSummary& summary) {
  if (summary.interrupted) return 130;
  if (summary.wrong > 0 || summary.spoiled > 0) return 3;
  const bool nothing_measured = summary.passed == 0 && summary.resumed == 0;
  if (summary.errors > 0 || summary.failed > 0 || !summary.stopped.empty()) return 2;
  return nothing_measured ? 2 : 0;
}

Expected<std::set<std::string>> finished_cells(const std::vector<Record>& records, const Plan& plan,
                                               const std::string& suite_version) {
  std::set<std::string> done;
  for (const Record& record : records) {
    if (record.soak) {
      return fail(ErrorCode::kConfig, "cannot resume: the records are those of a soak (run --for)",
                  "choose another output folder");
    }
    if (record.plan_hash != plan.hash) {
      return fail(ErrorCode::kConfig,
                  fmt::format("cannot resume: the records belong to plan {:.12}, this plan is "
                              "{:.12}",
                              record.plan_hash, plan.hash),
                  "use the same scenario, filter and options, or another output folder");
    }
    if (record.suite_version != suite_version) {
      return fail(ErrorCode::kConfig,
                  fmt::format("cannot resume: the records were made by plumbline {}, this is {}",
                              record.suite_version, suite_version),
                  "use that version, or another output folder");
    }
    if (record.measurement.outcome != Outcome::kError) done.insert(cell_id(record.cell));
  }
  return done;
}

Expected<RepeatSummary> run_repeated(const RepeatRequest& request) {
  if (request.sides.empty() || request.sides.size() > 2) {
    return fail(ErrorCode::kUsage, "run_repeated takes one side or two");
  }
  if (request.launches < 1 || request.launches > kMostLaunches) {
    return fail(ErrorCode::kUsage,
                fmt::format("run_repeated takes 1 to {} launches", kMostLaunches));
  }
  for (const RepeatSide& side : request.sides) {
    if (side.run.scenario == nullptr || side.run.plan == nullptr || side.ranks == nullptr) {
      return fail(ErrorCode::kUsage, "run_repeated needs a scenario, its plan and ranks per side");
    }
  }
  return Repetition(request).all();
}

std::vector<bool> second_side_first(int launches, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> out;
  for (int i = 0; i < launches; ++i) out.push_back((random() & 1U) != 0);
  return out;
}

std::vector<Record> of_launch(const std::vector<Record>& records, int64_t number, int64_t series) {
  std::vector<Record> out;
  std::copy_if(records.begin(), records.end(), std::back_inserter(out), [&](const Record& record) {
    return record.launch && record.launch->number == number && record.launch->series == series;
  });
  return out;
}

}  // namespace plumbline
