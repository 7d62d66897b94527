// Roofs: the same path, without our stack. See measure.h.

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "collectives/measure.h"
#include "collectives/roof_verbs.h"
#include "collectives/start_sync.h"
#include "collectives/verifier.h"
#include "kernels/kernels.h"
#include "transport/channel/raw.h"
#include "transport/peer_memory.h"

namespace plumbline {
namespace {

constexpr int kMaxSamples = 2000;
constexpr uint64_t kReducedBytes = 256u << 10;  // at least, in one sample
constexpr int64_t kTogetherNs = 2'000'000;      // of samples between two agreements
constexpr int64_t kMostTogether = 64;
constexpr size_t kLargeMessage = 64u << 10;  // bytes
constexpr size_t kRoofChunk = 256u
                              << 10;  // bytes per write and read of raw streams: they stay in cache

// One roof on one rank. Only ranks 0 and 1 move bytes; the others wait in the barrier between
// samples.
class Roof {
 public:
  Roof(const Cell& cell, const MeasureSettings& settings, const MeasureContext& context)
      : cell_(cell),
        settings_(settings),
        context_(context),
        exchange_(*context.executor, settings.operation_timeout_ms),
        takes_part_(context.group->size() > 1 && context.group->rank() < 2) {}

  static bool known(std::string_view op) { return find_run(op) != nullptr; }
  static bool over_path(std::string_view op) { return find_run(op)->over_path; }

  Expected<Measurement> run() {
    const RoofRun& how = *find_run(cell_.op);
    Status done = exchange_.barrier();
    if (done && how.prepare != nullptr) done = (this->*how.prepare)();
    if (done) done = how.sample == nullptr ? messages() : samples(how);
    if (!done) return fail(done.error());
    for (const int64_t sample : samples_) result_.hist.add(sample);
    result_.samples_ns = samples_;
    result_.iterations = samples_.size();
    result_.resolved.transport = context_.group->transport_name();
    result_.resolved.algorithm = mapped_.value_or(false) ? "mapped"
                                 : verbs_ && *verbs_     ? "verbs"
                                                         : "none";
    return std::move(result_);
  }

 private:
  // How each roof is measured.
  struct RoofRun {
    const char* op;
    bool over_path;             // between ranks 0 and 1; else every rank by itself
    Status (Roof::*prepare)();  // what it works on; null = nothing of its own
    // The stream is null where it is not over the path. null = many messages in one go.
    Status (Roof::*sample)(ByteStream* stream, int64_t& ns);
  };
  static const RoofRun* find_run(std::string_view op) {
    static constexpr RoofRun kRuns[] = {
        {"raw_pingpong", true, nullptr, nullptr},
        {"raw_exchange", true, nullptr, nullptr},
        {"raw_stream", true, nullptr, &Roof::stream},
        {"raw_duplex", true, nullptr, &Roof::duplex},
        {"array_stream", true, &Roof::arrays, &Roof::stream},
        {"array_duplex", true, &Roof::arrays, &Roof::duplex},
        {"reduce_kernel", false, &Roof::kernel, &Roof::reduce},
        {"memcpy", false, &Roof::arrays, &Roof::copy},
    };
    const auto* const found = std::find_if(std::begin(kRuns), std::end(kRuns),
                                           [op](const RoofRun& run) { return op == run.op; });
    return found == std::end(kRuns) ? nullptr : found;
  }

  // Arrays of the cell's size, of the group as those of an operation; several that take turns where
  // its memory is to be cold. Zeros, so that no arithmetic meets numbers that a processor is slow
  // with.
  struct Arrays {
    Array from, to;
    MappedBytes theirs = {};  // the peer's `from`, where it is mapped
  };
  uint64_t bytes() const { return std::max<uint64_t>(cell_.bytes, 1); }
  Status arrays() {
    const size_t slots = slots_of(cell_, VerifyMode::kNone).ordinary;
    for (size_t i = 0; i < slots; ++i) {
      Expected<Array> from = context_.group->allocate(bytes());
      if (!from) return fail(from.error());
      Expected<Array> to = context_.group->allocate(bytes());
      if (!to) return fail(to.error());
      std::memset(from->data, 0, bytes());
      std::memset(to->data, 0, bytes());
      arrays_.push_back({std::move(*from), std::move(*to)});
    }
    return {};
  }
  Status kernel() {
    const auto dtype = dtype_from(cell_.dtype);
    const auto redop = redop_from(cell_.redop);
    if (!dtype || !redop || cell_.bytes < size_of(*dtype)) {
      return fail(ErrorCode::kConfig, "roof reduce_kernel: no reduction " + cell_.redop + " of " +
                                          std::to_string(cell_.bytes) + " B of " + cell_.dtype);
    }
    reduce_ = context_.kernels->reduce(*dtype, *redop, context_.options->flag("fast_math"));
    elements_ = cell_.bytes / size_of(*dtype);
    return arrays();
  }
  Arrays& next_arrays() { return arrays_[turn_++ % arrays_.size()]; }
  RawArrays raw_arrays() {
    if (arrays_.empty()) return {};
    const Arrays& one = next_arrays();
    return {one.from.data, one.to.data};
  }

  Deadline watchdog() const { return Deadline::after_ms(settings_.operation_timeout_ms); }

  // Leaves framed traffic on the path between ranks 0 and 1. Raw bytes must not reach an end that
  // still reads frames, so the last frame goes from 0 to 1 (nothing framed is under way from 1 to 0
  // then), and rank 1 sends the first raw byte.
  Expected<ByteStream*> raw_path() {
    if (const Status go = exchange_.follow_rank_zero(); !go) return fail(go.error());
    if (!takes_part_) return nullptr;
    const int self = context_.group->rank();
    const Expected<Channel*> channel = context_.group->channel(1 - self, watchdog());
    if (!channel) return fail(channel.error());
    ByteStream& stream = (*channel)->stream(bytes());
    // Large messages that have a stream of their own go there in larger pieces.
    chunk_ = &stream == &(*channel)->stream() ? kRoofChunk : (*channel)->write_bytes(bytes());
    // Whoever waits for this rank meanwhile must learn whom it waits for.
    context_.group->control().waiting(1 - self, 0, monotonic_ns());
    const Status open =
        raw_pingpong(stream, self == 1, 1, 1, context_.group->wait_options(), watchdog(), nullptr);
    if (!open) return fail(open.error());
    return &stream;
  }

  // Repeats samples until the stop rule holds, with the slower end's time as the sample. They
  // follow one another as operations do, for about kTogetherNs, and are agreed on after that: one
  // that stands alone behind the waiting for an agreement finds a processor at rest, and small ones
  // would take it for the path.
  Status samples(const RoofRun& how) {
    const int64_t start = monotonic_ns();
    size_t together = 1;
    for (bool first = true;; first = false) {
      std::vector<int64_t> view(together);
      if (const Status done = some_samples(how, view); !done) return done;
      view.push_back(monotonic_ns() - start);
      view.push_back(context_.interrupted && context_.interrupted() ? 1 : 0);
      if (const Status done = exchange_.max(view); !done) return done;
      const int64_t elapsed = view[together], interrupted = view[together + 1];
      // The first sample warms the path up.
      if (!first) samples_.insert(samples_.end(), view.begin(), view.end() - 2);
      result_.elapsed_ns = elapsed;
      result_.stop_reason = stop_reason(settings_.stop, samples_, elapsed);
      if (interrupted != 0) result_.stop_reason = "interrupted";
      if (!result_.stop_reason.empty() && !samples_.empty()) return {};
      const int64_t least = *std::min_element(view.begin(), view.end() - 2);
      together = static_cast<size_t>(
          std::clamp<int64_t>(kTogetherNs / std::max<int64_t>(least, 1), 1, kMostTogether));
    }
  }
  // Whoever moves no bytes has zeros.
  Status some_samples(const RoofRun& how, std::vector<int64_t>& times) {
    ByteStream* stream = nullptr;
    if (how.over_path) {
      const Expected<ByteStream*> path = raw_path();
      if (!path) return fail(path.error());
      if (*path == nullptr) return {};
      stream = *path;
    }
    for (int64_t& ns : times) {
      if (const Status done = (this->*how.sample)(stream, ns); !done) return done;
    }
    return {};
  }

  Status copy(ByteStream* /*stream*/, int64_t& ns) {
    const Arrays& one = next_arrays();
    const int64_t start = monotonic_ns();
    std::memcpy(one.to.data, one.from.data, bytes());
    ns = monotonic_ns() - start;
    return {};
  }

  // As a schedule reduces what it receives: into the array that holds the other operand. Small ones
  // several times, so that looking at the clock takes no part of it.
  Status reduce(ByteStream* /*stream*/, int64_t& ns) {
    const auto times = static_cast<int64_t>(std::clamp<uint64_t>(kReducedBytes / bytes(), 1, 64));
    const int64_t start = monotonic_ns();
    for (int64_t i = 0; i < times; ++i) {
      const Arrays& one = next_arrays();
      reduce_(one.to.data, one.to.data, one.from.data, elements_);
    }
    ns = (monotonic_ns() - start) / times;
    return {};
  }

  Status stream(ByteStream* stream, int64_t& ns) {
    const bool sends = context_.group->rank() == 0;
    const Expected<bool> mapped = map_arrays(*stream);
    if (!mapped) return fail(mapped.error());
    if (*mapped) return copy_theirs(*stream, !sends, sends, ns);
    if (arrays_.empty()) {
      const Expected<VerbsRoof*> verbs = verbs_over(*stream);
      if (!verbs) return fail(verbs.error());
      if (*verbs != nullptr) {
        return (*verbs)->one_way(sends, *stream, context_.group->wait_options(), watchdog(), ns);
      }
    }
    return raw_stream(*stream, sends, cell_.bytes, chunk_, context_.group->wait_options(),
                      watchdog(), &ns, raw_arrays());
  }

  Status duplex(ByteStream* stream, int64_t& ns) {
    const Expected<bool> mapped = map_arrays(*stream);
    if (!mapped) return fail(mapped.error());
    if (*mapped) return copy_theirs(*stream, true, true, ns);
    return raw_duplex(*stream, cell_.bytes, chunk_, context_.group->wait_options(), watchdog(), &ns,
                      raw_arrays());
  }

  // Large messages do not go through the stream where a pair maps each other's arrays; then neither
  // does their roof. Both ends come to the same answer, once.
  Expected<bool> map_arrays(ByteStream& stream) {
    if (mapped_) return *mapped_;
    const Expected<Channel*> channel =
        context_.group->channel(1 - context_.group->rank(), watchdog());
    if (!channel) return fail(channel.error());
    PeerMemory* const memory = arrays_.empty() ? nullptr : (*channel)->memory_for(bytes());
    bool all = memory != nullptr && memory->abilities().maps;
    for (size_t i = 0; memory != nullptr && i < arrays_.size(); ++i) {
      const Expected<bool> one = map_one(stream, *memory, arrays_[i]);
      if (!one) return fail(one.error());
      all = all && *one;
    }
    mapped_ = all;
    return all;
  }

  // The two swap the keys of their arrays: a byte that says how long, none = there is no way.
  Expected<bool> map_one(ByteStream& stream, PeerMemory& memory, Arrays& one) {
    std::array<std::byte, 1 + MemoryKey::kMostPacked> ours{}, theirs{};
    const std::optional<MemoryKey> key =
        memory.expose({one.from.data, bytes()}, MessageUse::kUnknown);
    const bool maps = key && key->reach == MemoryReach::kMap;
    if (maps) {
      const PackedKey packed = pack_key(*key);
      ours[0] = static_cast<std::byte>(packed_size(*key));
      std::copy(packed.begin(), packed.end(), ours.begin() + 1);
    }
    const Status swapped =
        raw_duplex(stream, ours.size(), ours.size(), context_.group->wait_options(), watchdog(),
                   nullptr, {ours.data(), theirs.data()});
    if (!swapped) return fail(swapped.error());
    const auto length = std::to_integer<size_t>(theirs[0]);
    if (!maps || length == 0) return false;
    const std::optional<MemoryKey> of_peer =
        length < theirs.size() ? unpack_key(std::span(theirs).subspan(1, length)) : std::nullopt;
    if (!of_peer) {
      return fail(ErrorCode::kProtocol, "the key of the peer's array is none",
                  "do all ranks run the same version of plumbline?");
    }
    Expected<MappedBytes> mapped = memory.map(*of_peer, bytes());
    if (!mapped) return fail(mapped.error());
    one.theirs = std::move(*mapped);
    return true;
  }

  // Where the two ranks talk over RDMA: what the verbs alone bring. Both ends come to the same
  // answer, once.
  Expected<VerbsRoof*> verbs_over(ByteStream& stream) {
    if (!verbs_) {
      auto joined = VerbsRoof::join(stream, bytes(), cell_.op == "raw_pingpong",
                                    context_.group->wait_options(), watchdog());
      if (!joined) return fail(joined.error());
      verbs_ = std::move(*joined);
    }
    return verbs_->get();
  }

  Status copy_theirs(ByteStream& stream, bool takes, bool taken, int64_t& ns) {
    const Arrays& one = next_arrays();
    const std::span<const std::byte> theirs =
        takes ? one.theirs.bytes.first(bytes()) : std::span<const std::byte>();
    return raw_copy(stream, theirs, one.to.data, taken, context_.group->wait_options(), watchdog(),
                    &ns);
  }

  // Many round trips or exchanges in one go; rank 0 has the samples and gives them to all.
  Status messages() {
    const size_t size = bytes();
    const auto round = [&](int count, std::vector<int64_t>& out) -> Status {
      const Expected<ByteStream*> stream = raw_path();
      if (!stream) return fail(stream.error());
      if (*stream == nullptr) return {};
      const WaitOptions wait = context_.group->wait_options();
      if (cell_.op == "raw_exchange") {
        return raw_exchange(**stream, size, count, wait, watchdog(), &out);
      }
      const bool begins = context_.group->rank() == 0;
      const Expected<VerbsRoof*> verbs = verbs_over(**stream);
      if (!verbs) return fail(verbs.error());
      if (*verbs != nullptr) return (*verbs)->round_trips(begins, count, wait, watchdog(), &out);
      return raw_pingpong(**stream, begins, size, count, wait, watchdog(), &out);
    };
    // Where a large one takes long, a few must do.
    const bool large = size > kLargeMessage;
    std::vector<int64_t> warm;
    if (const Status done = round(large ? 5 : 50, warm); !done) return done;
    std::sort(warm.begin(), warm.end());
    std::vector<int64_t> typical = {warm.empty() ? 1 : std::max<int64_t>(warm[warm.size() / 2], 1)};
    if (context_.group->rank() != 0) typical[0] = 1;
    if (const Status done = exchange_.max(typical); !done) return done;
    const auto count = static_cast<int>(std::clamp<int64_t>(
        settings_.stop.max_time_ns / 4 / typical[0], large ? 11 : 100, kMaxSamples));
    const int64_t start = monotonic_ns();
    std::vector<int64_t> mine;
    if (const Status done = round(count, mine); !done) return done;
    result_.elapsed_ns = monotonic_ns() - start;
    mine.resize(static_cast<size_t>(count));
    if (context_.group->rank() != 0) std::fill(mine.begin(), mine.end(), 0);
    if (const Status done = exchange_.max(mine); !done) return done;
    samples_ = std::move(mine);
    result_.stop_reason = "count";
    return {};
  }

  const Cell& cell_;
  const MeasureSettings& settings_;
  const MeasureContext& context_;
  Exchange exchange_;
  bool takes_part_;
  size_t chunk_ = kRoofChunk;  // bytes of one call, of the path that is measured
  std::vector<Arrays> arrays_;
  size_t turn_ = 0;
  std::optional<bool> mapped_;                       // the peer's arrays are; none = not tried yet
  std::optional<std::unique_ptr<VerbsRoof>> verbs_;  // none = not tried yet; null = there are none
  ReduceFn reduce_ = nullptr;
  uint64_t elements_ = 0;
  std::vector<int64_t> samples_;
  Measurement result_;
};

}  // namespace

Expected<Measurement> measure_roof(const Cell& cell, const MeasureSettings& settings,
                                   const MeasureContext& context) {
  if (!Roof::known(cell.op)) return fail(ErrorCode::kConfig, "unknown roof '" + cell.op + "'");
  const RankPairs& apart = context.executor->apart();
  const bool connected = std::find(apart.begin(), apart.end(), std::pair(0, 1)) == apart.end();
  if (Roof::over_path(cell.op) && (context.group->size() < 2 || !connected)) {
    Measurement skipped;
    skipped.outcome = Outcome::kSkipped;
    skipped.reason = connected ? "a bare-socket roof needs two ranks"
                               : "a bare-socket roof needs ranks 0 and 1 to be connected";
    return skipped;
  }
  Roof roof(cell, settings, context);
  Expected<Measurement> measured = roof.run();
  const int self = context.group->rank();
  if (measured || self > 1 || context.group->size() < 2) return measured;
  // A bare stream knows no names, and nobody else hears of it.
  return fail(context.group->fail_stream(1 - self, measured.error(), "bare-socket " + cell.op));
}

}  // namespace plumbline
