#include "scenarios/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace plumbline {
namespace {

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
