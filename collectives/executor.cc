#include "collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/prepared.h"
#include "core/units.h"

namespace plumbline {
namespace {

// How long a start may take to connect to peers in a lazy mesh.
constexpr int64_t kConnectNs = 30 * kSecond;

// FNV-1a over what all ranks must agree on.
class Fingerprint {
 public:
  void add(uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8) add_byte(static_cast<uint8_t>(value & 0xff));
  }
  void add(std::string_view text) {
    for (char c : text) add_byte(static_cast<uint8_t>(c));
    add(text.size());
  }
  uint32_t value() const { return hash_; }

 private:
  void add_byte(uint8_t byte) { hash_ = (hash_ ^ byte) * 16777619u; }
  uint32_t hash_ = 2166136261u;
};

uint32_t fingerprint(const OperationSpec& spec, std::string_view algorithm) {
  const OpRow& op = row(spec.op);
  Fingerprint print;
  print.add(std::string_view(op.name));
  print.add(std::string_view(to_string(spec.dtype)));
  print.add(std::string_view(op.reduces ? to_string(spec.redop) : ""));
  print.add(static_cast<uint64_t>(op.rooted ? spec.root : 0));
  print.add(spec.count);
  print.add(algorithm);
  if (spec.codec) print.add(to_string(spec.codec));
  if (spec.split) print.add(to_string(spec.split));
  if (!spec.purpose.empty()) print.add(spec.purpose);
  return print.value();
}

Status check_spec(const OperationSpec& spec, int size) {
  const OpRow& op = row(spec.op);
  if (op.rooted && (spec.root < 0 || spec.root >= size)) {
    return fail(ErrorCode::kConfig,
                fmt::format("root {} of {} is not a rank, there are {}", spec.root, op.name, size),
                fmt::format("use 0 to {}", size - 1));
  }
  if (spec.in_place && !allows_in_place(spec.op)) {
    return fail(ErrorCode::kConfig, fmt::format("{} cannot run in place", op.name));
  }
  if (spec.arrays != 1) {
    return fail(ErrorCode::kUsage, fmt::format("{} arrays are not one operation", spec.arrays),
                "prepare one for each part of the list");
  }
  const std::string senseless = op.reduces ? reduction_unsupported(spec.dtype, spec.redop) : "";
  if (!senseless.empty()) return fail(ErrorCode::kUnsupported, senseless);
  const std::string why =
      codec_unsupported(spec.codec, spec.op, spec.dtype, spec.redop, spec.count);
  if (!why.empty()) return fail(ErrorCode::kUnsupported, why);
  return {};
}

Status check_split(const Split& split, int ranks, const RankPairs& apart) {
  if (!split) return {};
  const std::string why = split_unsupported(split, ranks);
  if (!why.empty()) return fail(ErrorCode::kConfig, why);
  if (apart.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("groups {} where not all ranks are connected", to_string(split)),
              "take hosts that are all connected, or no groups");
}

// A group's schedule speaks of the group's numbers, channels of the ranks'.
void name_peers(const std::vector<int>& members, Schedule& schedule) {
  for (Step& step : schedule.steps) {
    if (step.peer >= 0) step.peer = members[static_cast<size_t>(step.peer)];
  }
}

}  // namespace

std::string OperationSpec::text(int size, const char* algorithm_name) const {
  const OpRow& op_row = row(op);
  std::string text = purpose.empty() ? op_row.name : purpose + ": " + op_row.name;
  if (op != Op::kBarrier) {
    const uint64_t ranks = op_row.per_rank_share ? static_cast<uint64_t>(size) : 1;
    text += fmt::format(" {}", to_string(dtype));
    if (op_row.reduces) text += fmt::format(" {}", to_string(redop));
    text += fmt::format(" {} (count {})", format_bytes(count * size_of(dtype) * ranks), count);
  }
  if (op_row.rooted) text += fmt::format(" root {}", root);
  text += std::string(" ") + algorithm_name;
  if (split) text += " in groups " + to_string(split);
  return codec ? text + " " + to_string(codec) : text;
}

OperationSeat seat_of(const OperationSpec& spec, const Group& group) {
  if (!spec.split) return {group.rank(), group.size()};
  const std::vector<int> members = members_of(spec.split, group.size(), group.rank());
  const auto self = std::find(members.begin(), members.end(), group.rank());
  return {static_cast<int>(self - members.begin()), static_cast<int>(members.size())};
}

struct Executor::Impl {
  Impl(Group& g, const KernelSet& k, RankPairs pairs)
      : kernels(k), apart(std::move(pairs)), window(kSliceBytes), host{&g, window.get(), 0, 0, 0,
                                                                       {}} {
    turn_done = [this] { return waited_for->done() || host.local_work > 0; };
  }

  Group& group() { return *host.group; }
  // Ends all work: every rank is told, no channel calls back any more, and later calls get the
  // same error.
  Status break_down(const Error& error);
  // A deadline has passed: finds out who is at fault.
  Status time_out(const Prepared& prepared, const Error& error);
  Status start(Prepared& prepared, const void* in, void* out, float* residual,
               Deadline connect_deadline);
  // Runs one slice of the oldest long local work; false = nobody has any.
  Expected<bool> run_slice();

  const KernelSet& kernels;
  const RankPairs apart;
  AlignedBytes window;
  PreparedHost host;
  const Prepared* waited_for = nullptr;
  std::function<bool()> turn_done;  // for Group::wait, made once
  std::optional<Error> failure;
};

Executor::Executor(Group& group, const KernelSet& kernels, RankPairs apart)
    : impl_(std::make_unique<Impl>(group, kernels, std::move(apart))) {}

Executor::~Executor() = default;

const RankPairs& Executor::apart() const { return impl_->apart; }

Expected<Executor::PreparedPtr> Executor::prepare(const OperationSpec& spec) {
  const Group& group = impl_->group();
  const Status groups = check_split(spec.split, group.size(), impl_->apart);
  if (!groups) return fail(groups.error());
  const OperationSeat seat = seat_of(spec, group);
  const Status status = check_spec(spec, seat.size);
  if (!status) return fail(status.error());
  const Codec codec = seat.size > 1 ? spec.codec : Codec{};
  ScheduleRequest request;
  request.op = spec.op;
  request.redop = spec.redop;
  request.rank = seat.rank;
  request.size = seat.size;
  request.root = spec.root;
  request.count = spec.op == Op::kBarrier ? 0 : spec.count;
  request.elem_size = size_of(spec.dtype);
  request.in_place = spec.in_place;
  request.segment_bytes = spec.segment_bytes;
  request.apart = &impl_->apart;
  request.codec = codec;
  std::unique_ptr<SparseExchange> sparse;
  if (codec.sparse()) {
    const uint64_t kept = kept_elements(codec, spec.count);
    sparse = std::make_unique<SparseExchange>(
        SparseExchange::Shape{spec.count, kept, seat.rank, seat.size, spec.redop == RedOp::kAvg},
        impl_->kernels);
    request = moving_request(request);
  }
  const Expected<const AlgorithmRow*> algorithm =
      find_algorithm(spec.algorithm, request, spec.small_bytes);
  if (!algorithm) return fail(algorithm.error());
  const std::string name = full_name(**algorithm, request);
  PreparedTraits traits{spec,
                        *algorithm,
                        request,
                        spec.text(seat.size, name.c_str()),
                        fingerprint(spec, name),
                        std::move(sparse)};
  Schedule schedule = build_schedule(**algorithm, request);
  if (spec.split) name_peers(members_of(spec.split, group.size(), group.rank()), schedule);
  Expected<Array> scratch = group.allocate(schedule.scratch_elems * request.elem_size);
  if (!scratch) return fail(scratch.error());
  return PreparedPtr(
      new Prepared(impl_->host, impl_->kernels, std::move(traits), schedule, std::move(*scratch)),
      [](Prepared* prepared) { delete prepared; });
}

std::string Executor::algorithm_of(const Prepared& prepared) {
  return full_name(*prepared.traits().algorithm, prepared.traits().request);
}

ScheduleCost Executor::cost_of(const Prepared& prepared) {
  const ScheduleRequest& request = prepared.traits().request;
  return plumbline::cost_of(build_schedule(*prepared.traits().algorithm, request),
                            request.elem_size);
}

void Executor::time_parts(Prepared& prepared, TimeParts* into) { prepared.time_parts(into); }

bool Executor::done(const Prepared& prepared) { return prepared.done(); }

Status Executor::Impl::break_down(const Error& error) {
  failure = error;
  if (!group().control().failed()) group().control().abort(error);
  for (Prepared* prepared : host.active) prepared->abandon(error);
  host.active.clear();
  return fail(error);
}

Status Executor::Impl::time_out(const Prepared& prepared, const Error& error) {
  // The oldest operation holds up the others.
  const Prepared& stuck = host.active.empty() ? prepared : *host.active.front();
  const Prepared::Pending pending = stuck.pending();
  if (pending.peer < 0) return break_down(error);
  // Other ranks give up at about the same time and ask what this one waits for.
  group().control().waiting(pending.peer, pending.message, pending.last_progress_ns);
  const Error blamed =
      group().blame(pending.peer, pending.sequence, pending.message, stuck.traits().text);
  // Who asked first knows best: by now ranks on the way may have given up already.
  return break_down(group().control().failed() ? group().control().failure() : blamed);
}

Status Executor::Impl::start(Prepared& prepared, const void* in, void* out, float* residual,
                             Deadline connect_deadline) {
  if (failure) return fail(*failure);
  if (prepared.in_flight()) {
    return fail(ErrorCode::kUsage, prepared.traits().text + " is in flight already",
                "prepare it once for each that is outstanding");
  }
  if (group().control().failed()) return break_down(group().control().failure());
  const Status connected = prepared.connect(connect_deadline);
  if (!connected) return break_down(connected.error());
  ++host.sequence;
  prepared.start(in, out, residual);
  return {};
}

Expected<bool> Executor::Impl::run_slice() {
  for (Prepared* prepared : host.active) {
    const Expected<bool> ran = prepared->run_slice();
    if (!ran) return fail(break_down(ran.error()).error());
    if (*ran) return true;  // it may have completed and left the list
  }
  return false;
}

Status Executor::start(Prepared& prepared, const void* in, void* out, float* residual) {
  const bool connected = prepared.connected();
  return impl_->start(prepared, in, out, residual,
                      connected ? Deadline::never() : Deadline::after_ns(kConnectNs));
}

Expected<bool> Executor::progress() {
  Impl& impl = *impl_;
  if (impl.failure) return fail(*impl.failure);
  const Expected<bool> moved = impl.group().progress();
  if (!moved) return fail(impl.break_down(moved.error()).error());
  if (impl.host.local_work == 0) return moved;
  const Expected<bool> ran = impl.run_slice();
  return ran ? Expected<bool>(*moved || *ran) : ran;
}

bool Executor::busy() const { return !impl_->host.active.empty(); }

void Executor::tell() const {
  if (!busy()) return;
  impl_->group().note_time();
  const Prepared::Pending pending = impl_->host.active.front()->pending();
  impl_->group().control().waiting(pending.peer, pending.message, pending.last_progress_ns);
}

Status Executor::wait(Prepared& prepared, Deadline deadline) {
  Impl& impl = *impl_;
  impl.waited_for = &prepared;
  while (!prepared.done()) {
    if (impl.failure) return fail(*impl.failure);
    if (!prepared.in_flight()) {
      return fail(ErrorCode::kUsage,
                  "waiting for " + prepared.traits().text + ", which has not begun");
    }
    if (impl.host.local_work == 0) {
      const Status status = impl.group().wait(impl.turn_done, deadline);
      if (status) continue;
      if (status.error().code != ErrorCode::kTimeout) return impl.break_down(status.error());
      return impl.time_out(prepared, status.error());
    }
    const Expected<bool> moved = progress();
    if (!moved) return fail(moved.error());
    if (deadline.passed() && !prepared.done()) {
      return impl.time_out(prepared, {ErrorCode::kTimeout,
                                      "the deadline passed in local work",
                                      0,
                                      "give the operation more time",
                                      {}});
    }
  }
  return {};
}

Status Executor::run(Prepared& prepared, const void* in, void* out, Deadline deadline,
                     float* residual) {
  const Status started = impl_->start(prepared, in, out, residual, deadline);
  return started ? wait(prepared, deadline) : started;
}

}  // namespace plumbline
