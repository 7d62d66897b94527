// The checker against spoiled schedules: whatever is taken out, swapped or doubled in a right
// schedule must be noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule.h"
#include "collectives/schedule_builder.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

// A row's build is a plain function, so what it spoils stands here. One thread.
const AlgorithmRow* original = nullptr;
std::function<void(const ScheduleRequest&, Schedule&)> spoil;

Schedule build_spoiled(const ScheduleRequest& request) {
  Schedule schedule = original->build(request);
  spoil(request, schedule);
  return schedule;
}

std::string check_spoiled(const AlgorithmRow& algorithm, const ScheduleRequest& request,
                          std::function<void(const ScheduleRequest&, Schedule&)> how) {
  original = &algorithm;
  spoil = std::move(how);
  AlgorithmRow row = algorithm;
  row.build = build_spoiled;
  return check_schedule(row, request);
}

// What is wrong with a schedule that stands for every rank, or one written per rank.
std::string check_custom(const ScheduleRequest& request,
                         Schedule (*build)(const ScheduleRequest&)) {
  const AlgorithmRow row{
      request.op, "custom", "", "", [](const ScheduleRequest&) { return std::string(); }, build};
  return check_schedule(row, request);
}

std::vector<ScheduleRequest> some_requests(const AlgorithmRow& algorithm) {
  // For trees: 1 - 0 - 2 - 3, and what more ranks there are at 2.
  static const RankPairs kApart = {{0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {3, 4}};
  std::vector<ScheduleRequest> all;
  for (int size : {2, 3, 4, 5}) {
    for (bool in_place : {false, true}) {
      ScheduleRequest q;
      q.op = algorithm.op;
      q.size = size;
      if (std::string(algorithm.name) == "tree") q.apart = &kApart;
      q.root = row(q.op).rooted ? 1 : 0;
      q.count = 11;
      q.redop = RedOp::kAvg;
      q.in_place = in_place;
      q.segment_bytes = 16;
      if (in_place && !allows_in_place(q.op)) continue;
      if (!algorithm.unsupported(q).empty()) continue;
      all.push_back(q);
      if (algorithm.parameter.form != ParameterForm::kRadices) continue;
      // Large arrays, straight from the wire and in pieces; and one group of all.
      q.elem_size = 1 << 20;
      all.push_back(q);
      q.parameter.radices = {size};
      all.push_back(q);
    }
  }
  return all;
}

void remove_step(Schedule& schedule, size_t index) {
  const auto gone = static_cast<uint32_t>(index);
  schedule.steps.erase(schedule.steps.begin() + static_cast<std::ptrdiff_t>(index));
  for (Step& step : schedule.steps) {
    std::erase(step.after, gone);
    for (uint32_t& dep : step.after) dep -= dep > gone ? 1 : 0;
    if (step.streams_from == static_cast<int32_t>(gone)) step.streams_from = -1;
    if (step.streams_from > static_cast<int32_t>(gone)) --step.streams_from;
  }
}

// Calls visit(algorithm, request, rank, index of a step of this rank).
void for_each_step(
    const std::function<void(const AlgorithmRow&, const ScheduleRequest&, int, size_t)>& visit) {
  test::RowShare share;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (ScheduleRequest q : some_requests(algorithm)) {
      ASSERT_EQ(check_schedule(algorithm, q), "");
      for (int rank = 0; rank < q.size; ++rank) {
        q.rank = rank;
        const size_t steps = algorithm.build(q).steps.size();
        for (size_t i = 0; i < steps; ++i) {
          if (share.runs(std::string(to_string(q.op)) + algorithm.name))
            visit(algorithm, q, rank, i);
        }
      }
    }
  }
}

std::string where(const AlgorithmRow& algorithm, const ScheduleRequest& q, int rank, size_t step) {
  return std::string(to_string(q.op)) + " " + algorithm.name + " n=" + std::to_string(q.size) +
         (q.in_place ? " in place" : "") + " rank " + std::to_string(rank) + " step " +
         std::to_string(step);
}

TEST(Checker, NoticesEveryMissingStep) {
  for_each_step([](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
      if (r.rank == rank) remove_step(s, i);
    });
    EXPECT_NE(wrong, "") << where(a, q, rank, i);
  });
}

// Both ends forget a message: nothing is unmatched, but something is missing.
TEST(Checker, NoticesEveryMissingMessage) {
  for_each_step([](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const Step step = a.build(q).steps[i];
    if (step.kind != StepKind::kSend) return;
    const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
      if (r.rank == rank) remove_step(s, i);
      if (r.rank != step.peer) return;
      for (size_t k = 0; k < s.steps.size(); ++k) {
        const Step& other = s.steps[k];
        if (other.kind != StepKind::kRecv || other.peer != rank) continue;
        if (other.message != step.message) continue;
        remove_step(s, k);
        return;
      }
    });
    // The answer to a stream or pingpong of which only the acknowledgement is lost counts too.
    EXPECT_NE(wrong, "") << where(a, q, rank, i);
  });
}

TEST(Checker, NoticesEveryDoubledStep) {
  for_each_step([](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const Step step = a.build(q).steps[i];
    if (step.kind == StepKind::kLocal && step.action == Action::kCopy) return;  // harmless
    const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
      if (r.rank == rank) s.steps.push_back(s.steps[i]);
    });
    EXPECT_NE(wrong, "") << where(a, q, rank, i);
  });
}

TEST(Checker, NoticesEveryShiftedRange) {
  for_each_step([](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    if (q.op == Op::kBarrier) return;
    const Step step = a.build(q).steps[i];
    const bool sends = step.kind == StepKind::kSend;
    if ((sends ? step.source : step.dst).count == 0) return;  // an acknowledgement
    for (int64_t by : {-1, 1}) {
      const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
        if (r.rank != rank) return;
        Range& range = sends ? s.steps[i].source : s.steps[i].dst;
        range.begin += static_cast<uint64_t>(by);
      });
      EXPECT_NE(wrong, "") << where(a, q, rank, i) << " by " << by;
    }
  });
}

TEST(Checker, NoticesEverySwapOfTwoReceives) {
  for_each_step([](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const Schedule plain = a.build(q);
    for (size_t k = i + 1; k < plain.steps.size(); ++k) {
      const Step &x = plain.steps[i], &y = plain.steps[k];
      if (x.kind != StepKind::kRecv || y.kind != StepKind::kRecv) continue;
      if (x.dst.count != y.dst.count || x.dst == y.dst || x.dst.count == 0) continue;
      // Parts of different elements; scratch of equal contributions may be exchanged freely.
      if (x.dst.buffer != BufferId::kOut || y.dst.buffer != BufferId::kOut) continue;
      const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
        if (r.rank == rank) std::swap(s.steps[i].dst, s.steps[k].dst);
      });
      EXPECT_NE(wrong, "") << where(a, q, rank, i) << " and " << k;
    }
  });
}

TEST(Checker, NoticesEveryLostOrder) {
  size_t needed = 0;
  for_each_step([&](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const Step step = a.build(q).steps[i];
    if (step.after.empty() && step.streams_from < 0) return;
    // Without a power of two the last round of the barrier only repeats what was heard before.
    if (q.op == Op::kBarrier && (q.size & (q.size - 1)) != 0) return;
    const std::string wrong = check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
      if (r.rank != rank) return;
      s.steps[i].after.clear();
      s.steps[i].streams_from = -1;
    });
    EXPECT_NE(wrong, "") << where(a, q, rank, i);
    ++needed;
  });
  EXPECT_GT(needed, 300u);
}

TEST(Checker, NoticesMissingAndDoubleDivision) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (!row(algorithm.op).reduces) continue;
    for (const ScheduleRequest& q : some_requests(algorithm)) {
      const auto replace = [&](Action from, Action to) {
        return check_spoiled(algorithm, q, [=](const ScheduleRequest&, Schedule& s) {
          for (Step& step : s.steps) step.action = step.action == from ? to : step.action;
        });
      };
      EXPECT_NE(replace(Action::kReduceScale, Action::kReduce), "") << algorithm.name;
      const std::vector<Step> steps = algorithm.build(q).steps;
      const bool between = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
        return step.action == Action::kReduce;
      });
      if (!between) continue;  // has only the last reduction
      EXPECT_NE(replace(Action::kReduce, Action::kReduceScale), "") << algorithm.name;
    }
  }
}

TEST(Checker, NoticesEveryLostOperandOfManyAndEveryDoubleOne) {
  size_t seen = 0;
  for_each_step([&](const AlgorithmRow& a, const ScheduleRequest& q, int rank, size_t i) {
    const size_t more = a.build(q).steps[i].more.size();
    for (size_t k = 0; k < more; ++k) {
      const auto with = [&](const std::function<void(Step&)>& how) {
        return check_spoiled(a, q, [&](const ScheduleRequest& r, Schedule& s) {
          if (r.rank == rank) how(s.steps[i]);
        });
      };
      const auto at = static_cast<std::ptrdiff_t>(k);
      EXPECT_NE(with([=](Step& s) { s.more.erase(s.more.begin() + at); }), "")
          << where(a, q, rank, i);
      EXPECT_NE(with([=](Step& s) { s.more[k] = s.source; }), "") << where(a, q, rank, i);
      EXPECT_NE(with([=](Step& s) { --s.more[k].count; }), "") << where(a, q, rank, i);
      ++seen;
    }
  });
  EXPECT_GT(seen, 20u);
}

ScheduleRequest two_ranks(Op op, uint64_t count) {
  ScheduleRequest q;
  q.op = op;
  q.size = 2;
  q.count = count;
  return q;
}

TEST(Checker, NoticesADeadlockThatBuffersWouldHide) {
  // Both send first and receive when the send has ended: works only while the network buffers.
  const std::string wrong =
      check_custom(two_ranks(Op::kBidirectional, 4), [](const ScheduleRequest& q) {
        ScheduleBuilder b(q);
        const StepId sent = b.send(1 - q.rank, 0, ScheduleBuilder::in(0, 4));
        b.recv(1 - q.rank, 0, ScheduleBuilder::out(0, 4), {sent});
        return b.finish();
      });
  EXPECT_NE(wrong.find("circle"), std::string::npos) << wrong;
}

TEST(Checker, NoticesAnInputThatIsOverwrittenWhileItIsSent) {
  const auto build = [](const ScheduleRequest& q) {
    ScheduleBuilder b(q);
    const Range in = ScheduleBuilder::in(0, 4), out = ScheduleBuilder::out(0, 4);
    b.send(1 - q.rank, 0, in);
    b.recv_reduce(1 - q.rank, 0, in, out, true);
    return b.finish();
  };
  ScheduleRequest q = two_ranks(Op::kAllreduce, 4);
  EXPECT_EQ(check_custom(q, build), "");  // out of place it is right
  q.in_place = true;
  EXPECT_NE(check_custom(q, build), "");
}

TEST(Checker, RefusesMalformedSteps) {
  const auto broken = [](std::function<void(Schedule&)> how) {
    ScheduleRequest q = two_ranks(Op::kAllreduce, 4);
    return check_spoiled(**find_algorithm("ring", q), q,
                         [=](const ScheduleRequest&, Schedule& s) { how(s); });
  };
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].peer = 2; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].peer = -1; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].after = {0}; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].source.begin = ~uint64_t{0}; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[1].dst.buffer = BufferId::kIn; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[2].streams_from = 0; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[1].dst.count = 1; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].message = 9; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[0].action = Action::kReduce; }), "");
  EXPECT_NE(broken([](Schedule& s) { s.steps[1].more = {s.steps[1].dst}; }), "");
}

TEST(Checker, NoticesABarrierThatForgetsSomebody) {
  ScheduleRequest q;
  q.op = Op::kBarrier;
  q.size = 3;
  const auto everybody_asks_rank_0 = [](const ScheduleRequest& r) {
    ScheduleBuilder b(r);
    for (int peer = 1; r.rank == 0 && peer < r.size; ++peer) {
      b.send_token(peer, 0, {b.recv_token(peer, 0)});  // answers before all have come
    }
    if (r.rank != 0) {
      b.send_token(0, 0);
      b.recv_token(0, 0);
    }
    return b.finish();
  };
  EXPECT_NE(check_custom(q, everybody_asks_rank_0), "");
}

}  // namespace
}  // namespace plumbline
