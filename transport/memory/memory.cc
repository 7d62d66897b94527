#include "transport/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>

#include "transport/channel/fault.h"
#include "transport/channel/ring.h"
#include "transport/control/blame.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr size_t kMemoryRingBytes = 1 << 20;
constexpr int kNobody = -1, kCoordinator = -2;

// What the ranks of one world share.
struct Board {
  explicit Board(int size) : recorders(static_cast<size_t>(size)), left_ns(recorders.size()) {}

  std::vector<FlightRecorder> recorders;
  std::vector<std::atomic<int64_t>> left_ns;  // when a rank's group was destroyed, 0 = it lives
  std::atomic<bool> failed{false};
  std::mutex mutex;  // of the two below
  int first_rank = kNobody;
  Error first;
  std::condition_variable changed;  // failed, or somebody has sat down
};

class MemoryControl : public ControlPlane {
 public:
  MemoryControl(int rank, std::shared_ptr<Board> board) : rank_(rank), board_(std::move(board)) {}
  ~MemoryControl() override { board_->left_ns[mine()].store(monotonic_ns()); }

  bool failed() const override { return board_->failed.load(std::memory_order_acquire); }

  Error failure() const override {
    const std::lock_guard lock(board_->mutex);
    if (board_->first_rank == rank_ || board_->first_rank == kCoordinator) return board_->first;
    return ended_by(board_->first_rank, board_->first);
  }

  void abort(const Error& reason) override { fail_with(rank_, reason); }
  void give_up(const Error& reason) override { fail_with(kCoordinator, reason); }

  void begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) override {
    board_->recorders[mine()].begin_operation(sequence, op_hash, text);
  }
  void end_operation(uint32_t sequence) override {
    board_->recorders[mine()].end_operation(sequence);
  }
  void waiting(int peer, uint32_t step, int64_t last_progress_ns) override {
    board_->recorders[mine()].waiting(peer, step, last_progress_ns);
  }

  RankStatus query(int peer, Deadline, std::vector<FlightEntry>* recorder) override {
    const FlightRecorder& theirs = board_->recorders[static_cast<size_t>(peer)];
    RankStatus status = theirs.status(peer);
    const int64_t left = board_->left_ns[static_cast<size_t>(peer)].load();
    if (left != 0) status.age_ns = monotonic_ns() - left;
    if (recorder != nullptr) *recorder = theirs.entries();
    return status;
  }
  std::vector<FlightEntry> recorder() const override { return board_->recorders[mine()].entries(); }
  int wake_fd() const override { return -1; }

 private:
  size_t mine() const { return static_cast<size_t>(rank_); }

  void fail_with(int who, const Error& reason) {
    const std::lock_guard lock(board_->mutex);
    if (board_->failed.load(std::memory_order_relaxed)) return;
    board_->first = reason;
    board_->first_rank = who;
    board_->failed.store(true, std::memory_order_release);
    board_->changed.notify_all();
  }

  const int rank_;
  const std::shared_ptr<Board> board_;
};

using StreamRow = std::vector<std::unique_ptr<ByteStream>>;  // of one rank, by peer

// The streams of all ranks, by rank. `apart`: pairs that have none.
Expected<std::vector<StreamRow>> make_streams(int size, const std::vector<RankPair>& apart,
                                              const StreamMaker& make) {
  std::vector<StreamRow> rows(static_cast<size_t>(size));
  for (StreamRow& row : rows) row.resize(rows.size());
  const auto has_path = [&](int a, int b) {
    const auto same = [&](const RankPair& pair) {
      return pair == RankPair{a, b} || pair == RankPair{b, a};
    };
    return std::none_of(apart.begin(), apart.end(), same);
  };
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      if (!has_path(a, b)) continue;
      Expected<StreamEnds> ends = make(a, b, size);
      if (!ends) return fail(ends.error());
      rows[static_cast<size_t>(a)][static_cast<size_t>(b)] = std::move(ends->first);
      rows[static_cast<size_t>(b)][static_cast<size_t>(a)] = std::move(ends->second);
    }
  }
  return rows;
}

}  // namespace

// One group whose ranks are sitting down.
struct ThreadTable {
  explicit ThreadTable(const GroupSpec& spec)
      : size(spec.size),
        first_rank(spec.rank),
        agreed(agreed_text(spec)),
        board(std::make_shared<Board>(spec.size)),
        present(static_cast<size_t>(spec.size), false) {}

  // The ranks that have not come; of board->mutex.
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < present.size(); ++rank) {
      if (!present[rank]) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
  }

  const int size, first_rank;
  const std::string agreed;
  const std::shared_ptr<Board> board;
  std::vector<StreamRow> streams;  // each row is taken by its rank
  std::vector<bool> present;       // of board->mutex
};

namespace {

// A claim of a rank that is a thread: it claims nothing, for the meeting is its place.
class ThreadClaim : public TransportClaim {
 public:
  ThreadClaim(ThreadMeeting& meeting, const char* name, StreamMaker make)
      : meeting_(meeting), name_(name), make_(std::move(make)) {}

  std::string endpoint() const override { return {}; }

  Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) override {
    const Deadline deadline = Deadline::after_ms(spec.options->integer("connect_timeout_ms"));
    if (Status status = check_spec(spec); !status) return fail(status.error());
    const auto fault = parse_fault(spec.options->text("fault"));
    if (!fault) return fail(fault.error());
    Expected<std::shared_ptr<ThreadTable>> table = meeting_.sit_down(spec, make_);
    if (!table) return fail(table.error());
    const auto control = std::make_shared<MemoryControl>(spec.rank, (*table)->board);
    if (spec.started) spec.started(control);
    if (Status all = wait_for_all(**table, *control, deadline); !all) return fail(all.error());
    StreamRow streams = std::move((*table)->streams[static_cast<size_t>(spec.rank)]);
    for (size_t peer = 0; peer < streams.size(); ++peer) {
      if (!streams[peer]) continue;
      streams[peer] =
          wrap_fault(*fault, spec.rank, static_cast<int>(peer), std::move(streams[peer]));
    }
    return std::make_unique<Group>(spec.rank, spec.size, spec.id, std::move(streams), nullptr,
                                   control, channel_options(spec), wait_options(spec),
                                   std::make_shared<PairTransports>(name_, spec.size));
  }

 private:
  static Status wait_for_all(ThreadTable& table, MemoryControl& control, Deadline deadline) {
    std::unique_lock lock(table.board->mutex);
    const auto settled = [&] { return control.failed() || table.missing().empty(); };
    const auto left = std::chrono::nanoseconds(std::max<int64_t>(deadline.remaining_ns(), 0));
    table.board->changed.wait_for(lock, left, settled);
    const std::vector<int> missing = table.missing();
    lock.unlock();
    if (!control.failed() && !missing.empty()) {
      control.abort(Error{ErrorCode::kTimeout,
                          fmt::format("of {} ranks in this process these have not come: {}",
                                      table.size, fmt::join(missing, ", ")),
                          0, "look for what their threads said before", "rank.late", missing});
    }
    if (control.failed()) return fail(control.failure());
    return {};
  }

  ThreadMeeting& meeting_;
  const char* const name_;
  const StreamMaker make_;
};

}  // namespace

Expected<std::shared_ptr<ThreadTable>> ThreadMeeting::sit_down(const GroupSpec& spec,
                                                               const StreamMaker& make) {
  const std::string key = fmt::format("{} {}", to_hex(spec.token), spec.id);
  const std::scoped_lock lock(mutex_);
  std::erase_if(tables_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<ThreadTable> table = tables_[key].lock();
  if (!table) {
    table = std::make_shared<ThreadTable>(spec);
    Expected<std::vector<StreamRow>> streams = make_streams(spec.size, spec.apart, make);
    if (!streams) return fail(streams.error());
    table->streams = std::move(*streams);
    tables_[key] = table;
  }
  if (table->size != spec.size) {
    return fail(Error{ErrorCode::kMismatch,
                      fmt::format("rank {} counts {} ranks, rank {} counts {}", spec.rank,
                                  spec.size, table->first_rank, table->size),
                      0, "start all ranks with the same size", "config.mismatch"});
  }
  const std::string agreed = agreed_text(spec);
  if (agreed != table->agreed) {
    return fail(Error{ErrorCode::kMismatch,
                      "the options of the ranks differ: " +
                          config_differences(table->agreed, table->first_rank, agreed, spec.rank),
                      0, "give all ranks the same options", "config.mismatch"});
  }
  const std::scoped_lock seats(table->board->mutex);
  if (table->present[static_cast<size_t>(spec.rank)]) {
    return fail_about({spec.rank}, ErrorCode::kConfig,
                      fmt::format("rank {} is there twice", spec.rank),
                      "give every rank a number of its own");
  }
  table->present[static_cast<size_t>(spec.rank)] = true;
  table->board->changed.notify_all();
  return table;
}

std::string threads_unavailable(const char* name, bool ranks_in_process) {
  if (ranks_in_process) return {};
  return fmt::format(
      "{} joins the threads of one process, and ranks are processes of their own without "
      "--ranks-in-process",
      name);
}

std::string no_site(const RankSite&) { return {}; }

Expected<std::unique_ptr<TransportClaim>> claim_among_threads(const ClaimSpec& spec,
                                                              const char* name, StreamMaker make) {
  if (spec.meeting == nullptr) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("transport {}: {}", name, threads_unavailable(name, false)));
  }
  return std::make_unique<ThreadClaim>(*spec.meeting, name, std::move(make));
}

Expected<std::unique_ptr<TransportClaim>> claim_memory(const ClaimSpec& spec) {
  return claim_among_threads(spec, "memory", [](int a, int b, int size) {
    return make_memory_streams(a, b, ring_bytes_of(size, kMemoryRingBytes));
  });
}

std::vector<std::unique_ptr<Group>> make_memory_groups(int size,
                                                       const ChannelOptions& channel_options,
                                                       const WaitOptions& wait_options,
                                                       size_t ring_bytes,
                                                       const StreamWrapper& wrap) {
  const StreamMaker make = [ring_bytes](int a, int b, int ranks) {
    return make_memory_streams(
        a, b, ring_bytes != 0 ? ring_bytes : ring_bytes_of(ranks, kMemoryRingBytes));
  };
  std::vector<StreamRow> streams = *make_streams(size, {}, make);  // rings never fail
  for (size_t self = 0; wrap && self < streams.size(); ++self) {
    for (size_t peer = 0; peer < streams.size(); ++peer) {
      if (self == peer) continue;
      auto& stream = streams[self][peer];
      stream = wrap(static_cast<int>(self), static_cast<int>(peer), std::move(stream));
    }
  }
  auto board = std::make_shared<Board>(size);
  std::vector<std::unique_ptr<Group>> groups;
  groups.reserve(streams.size());
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<Group>(
        rank, size, 1, std::move(streams[static_cast<size_t>(rank)]), nullptr,
        std::make_shared<MemoryControl>(rank, board), channel_options, wait_options,
        std::make_shared<PairTransports>("memory", size)));
  }
  return groups;
}

}  // namespace plumbline
