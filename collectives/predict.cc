#include "collectives/predict.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

namespace plumbline {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr int kMostRadicesTried = 64;  // lists of them

bool are_apart(const Topology& topology, int a, int b) {
  const std::pair<int, int> pair = std::minmax(a, b);
  return std::find(topology.apart.begin(), topology.apart.end(), pair) != topology.apart.end();
}

// Serves one after the other: when it has worked off `work` that was there at `from`.
double serve(double& busy_until, double from, double work) {
  busy_until = std::max(busy_until, from) + work;
  return busy_until;
}

}  // namespace

PredictedOperation::PredictedOperation(const AlgorithmRow& algorithm, ScheduleRequest request)
    : ranks_(request.size) {
  // Steps that go segment by segment follow one another as bytes do: larger ones change nothing
  // but their number.
  request.segment_bytes = std::numeric_limits<uint64_t>::max();
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    add_rank(algorithm.build(request), request.rank, request.elem_size);
  }
  match();
}

void PredictedOperation::add_rank(const Schedule& schedule, int rank, size_t elem_size) {
  const auto first = static_cast<uint32_t>(steps_.size());
  for (const plumbline::Step& step : schedule.steps) {
    const auto own = static_cast<uint32_t>(steps_.size());
    const uint64_t elems = step.kind == StepKind::kSend ? step.source.count : step.dst.count;
    Step& added = steps_.emplace_back();
    added.kind = step.kind;
    added.reduces = step.action == Action::kReduce || step.action == Action::kReduceScale;
    added.streams = step.streams_from >= 0;
    added.rank = rank;
    added.peer = step.peer;
    added.bytes = static_cast<double>(elems * elem_size);
    added.waits_for = static_cast<uint32_t>(step.after.size()) + (added.streams ? 1 : 0) +
                      (step.kind == StepKind::kRecv ? 1 : 0);
    messages_.push_back(step.message);
    for (const uint32_t before : step.after) steps_[first + before].after_end.push_back(own);
    if (added.streams) {
      steps_[first + static_cast<uint32_t>(step.streams_from)].after_start.push_back(own);
    }
  }
}

void PredictedOperation::match() {
  std::map<std::tuple<int, int, uint32_t>, int64_t> receives;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.kind != StepKind::kRecv) continue;
    receives[{step.peer, step.rank, messages_[i]}] = static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind != StepKind::kSend) continue;
    const auto found = receives.find({step.rank, step.peer, messages_[i]});
    if (found != receives.end()) step.partner = found->second;
  }
}

// One walk through all steps in the order of their times.
struct PredictedOperation::Clock {
  Clock(const PredictedOperation& operation, const Topology& topology)
      : steps(operation.steps_), t(topology), ranks(static_cast<size_t>(operation.ranks_)) {
    waits.reserve(steps.size());
    for (const Step& step : steps) waits.push_back(step.waits_for);
    ready.resize(steps.size(), 0.0);
    source_end.resize(steps.size(), 0.0);
    arrived.resize(steps.size(), 0.0);
    thread.resize(ranks, 0.0);
    out.resize(ranks, 0.0);
    in.resize(ranks, 0.0);
    link.resize(ranks * ranks, 0.0);
  }

  std::optional<double> run() {
    size_t done = 0;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (waits[i] == 0) queue.emplace(0.0, i);
    }
    for (; !queue.empty(); ++done) {
      const auto [time, i] = queue.top();
      queue.pop();
      const Step& step = steps[i];
      if (step.kind == StepKind::kSend && are_apart(t, step.rank, step.peer)) return std::nullopt;
      const double end = step.kind == StepKind::kSend   ? send(time, i)
                         : step.kind == StepKind::kRecv ? receive(time, i)
                                                        : work_locally(time, step);
      last = std::max(last, end);
      const double piece = std::min(step.bytes, static_cast<double>(kPipelinedBytes));
      for (const uint32_t next : step.after_start) {
        source_end[next] = end;
        release(next, std::min(end, time + t.message_ns + piece * ns_per_byte(step)));
      }
      for (const uint32_t next : step.after_end) release(next, end);
    }
    // Less than all: a cycle, which check_schedule() reports.
    return done == steps.size() ? std::optional(last) : std::nullopt;
  }

  void release(uint32_t i, double time) {
    ready[i] = std::max(ready[i], time);
    if (--waits[i] == 0) queue.emplace(ready[i], i);
  }

  static double per_byte(double bytes_per_s) { return kNsPerSecond / bytes_per_s; }
  // Of the rank that works on the step.
  double ns_per_byte(const Step& step) const {
    if (step.kind == StepKind::kLocal) return per_byte(t.reduce_bytes_per_s);
    return per_byte(t.rank_bytes_per_s) + (step.reduces ? per_byte(t.reduce_bytes_per_s) : 0.0);
  }
  double thread_work(double time, const Step& step) {
    return serve(thread[static_cast<size_t>(step.rank)], time,
                 t.message_ns + step.bytes * ns_per_byte(step));
  }

  double work_locally(double time, const Step& step) {
    return serve(thread[static_cast<size_t>(step.rank)], time, step.bytes * ns_per_byte(step));
  }

  double send(double time, uint32_t i) {
    const Step& step = steps[i];
    const auto from = static_cast<size_t>(step.rank), to = static_cast<size_t>(step.peer);
    const LinkModel& way = t.link(step.rank, step.peer);
    const double first = time + t.message_ns;
    double end = std::max(thread_work(time, step), source_end[i]);
    end = std::max(end, serve(out[from], first, step.bytes * per_byte(t.port_bytes_per_s)));
    end = std::max(end,
                   serve(link[from * ranks + to], first, step.bytes * per_byte(way.bytes_per_s)));
    if (step.partner >= 0) {
      const auto partner = static_cast<uint32_t>(step.partner);
      const double on_the_way = std::max(0.0, way.alpha_ns - 2 * t.message_ns);
      arrived[partner] = end + on_the_way;
      release(partner, first + on_the_way);
    }
    return end;
  }

  double receive(double time, uint32_t i) {
    const Step& step = steps[i];
    const double piece = std::min(step.bytes, static_cast<double>(kPipelinedBytes));
    double end = thread_work(time, step);
    end = std::max(end, serve(in[static_cast<size_t>(step.rank)], time,
                              step.bytes * per_byte(t.port_bytes_per_s)));
    // What came last is still to be taken.
    const double tail = step.bytes > piece ? piece * ns_per_byte(step) : 0.0;
    return std::max(end, arrived[i] + t.message_ns + tail);
  }

  using Due = std::pair<double, uint32_t>;
  const std::vector<Step>& steps;
  const Topology& t;
  const size_t ranks;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue;
  std::vector<uint32_t> waits;
  std::vector<double> ready, source_end, arrived;  // of each step
  std::vector<double> thread, out, in, link;       // busy until
  double last = 0;
};

std::optional<double> PredictedOperation::time_ns(const Topology& topology) const {
  if (!topology.has_rates() || topology.ranks() != ranks_) return std::nullopt;
  return Clock(*this, topology).run();
}

std::optional<double> predict_ns(const AlgorithmRow& algorithm, const ScheduleRequest& request) {
  if (request.size > kMostPredictedRanks) return std::nullopt;
  return PredictedOperation(algorithm, request).time_ns(*request.topology);
}

namespace {

// Every list of at least two whose product is n, in every order; at most kMostRadicesTried.
void add_products(int n, std::vector<int>& so_far, std::vector<std::vector<int>>& all) {
  if (static_cast<int>(all.size()) >= kMostRadicesTried) return;
  if (n == 1) {
    if (!so_far.empty()) all.push_back(so_far);
    return;
  }
  for (int radix = n; radix >= 2; --radix) {
    if (n % radix != 0) continue;
    so_far.push_back(radix);
    add_products(n / radix, so_far, all);
    so_far.pop_back();
  }
}

// `order`: one in which a ring may be faster than as usual, if it is of so many ranks.
std::vector<AlgorithmParameter> shapes_of(const AlgorithmRow& row, int ranks,
                                          const std::vector<int>& order) {
  std::vector<AlgorithmParameter> shapes = {{}};
  if (row.parameter.form == ParameterForm::kRadices) {
    std::vector<std::vector<int>> products;
    std::vector<int> so_far;
    add_products(ranks, so_far, products);
    for (std::vector<int>& radices : products) shapes.push_back({std::move(radices), 0, {}});
  } else if (row.parameter.form == ParameterForm::kNumber) {
    const int most = std::min(row.parameter.most, std::max(row.parameter.least, ranks));
    for (int number = row.parameter.least; number <= most; number *= 2) {
      shapes.push_back({{}, number, {}});
      if (row.parameter.takes_order && is_order_of(order, static_cast<size_t>(ranks))) {
        shapes.push_back({{}, number, order});
      }
    }
  }
  return shapes;
}

}  // namespace

std::vector<std::string> candidates_for(const ScheduleRequest& request) {
  static const std::vector<int> kUsual;
  const std::vector<int>& order = request.topology != nullptr ? request.topology->ring : kUsual;
  std::vector<std::string> names;
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.op != request.op) continue;
    if (is_tree(row) && apart_of(request).empty()) continue;
    ScheduleRequest q = request;
    for (AlgorithmParameter& shape : shapes_of(row, request.size, order)) {
      q.parameter = std::move(shape);
      if (!row.unsupported(q).empty()) continue;
      std::string name = full_name(row, q);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

std::optional<PredictedChoice> fastest_predicted(ScheduleRequest& request) {
  std::optional<PredictedChoice> best;
  AlgorithmParameter parameter;
  for (const std::string& name : candidates_for(request)) {
    ScheduleRequest q = request;
    const Expected<const AlgorithmRow*> row = find_algorithm(name, q);
    if (!row) continue;
    const std::optional<double> time = predict_ns(**row, q);
    if (!time || (best && *time >= best->time_ns)) continue;
    best = {*row, *time};
    parameter = q.parameter;
  }
  if (best) request.parameter = parameter;
  return best;
}

}  // namespace plumbline
