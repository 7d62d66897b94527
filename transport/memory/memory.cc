#include "transport/memory/memory.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <string>

#include "transport/control/flight_recorder.h"
#include "transport/memory/memory_stream.h"

namespace plumbline {
namespace {

// What the ranks of one world share.
struct Board {
  explicit Board(int size) : recorders(static_cast<size_t>(size)), left_ns(recorders.size()) {}

  std::vector<FlightRecorder> recorders;
  std::vector<std::atomic<int64_t>> left_ns;  // when a rank's group was destroyed, 0 = it lives
  std::atomic<bool> failed{false};
  std::mutex mutex;  // of the two below
  int first_rank = -1;
  Error first;
};

class MemoryControl : public ControlPlane {
 public:
  MemoryControl(int rank, std::shared_ptr<Board> board) : rank_(rank), board_(std::move(board)) {}
  ~MemoryControl() override { board_->left_ns[mine()].store(monotonic_ns()); }

  bool failed() const override { return board_->failed.load(std::memory_order_acquire); }

  Error failure() const override {
    const std::lock_guard lock(board_->mutex);
    Error error = board_->first;
    if (board_->first_rank == rank_) return error;
    error.what =
        fmt::format("rank {} ended the operation: {}", board_->first_rank, board_->first.message());
    error.code = ErrorCode::kAborted;
    error.sys_errno = 0;
    error.hint.clear();
    return error;
  }

  void abort(const Error& reason) override {
    const std::lock_guard lock(board_->mutex);
    if (board_->failed.load(std::memory_order_relaxed)) return;
    board_->first = reason;
    board_->first_rank = rank_;
    board_->failed.store(true, std::memory_order_release);
  }

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

  const int rank_;
  const std::shared_ptr<Board> board_;
};

}  // namespace

std::vector<std::unique_ptr<Group>> make_memory_groups(int size,
                                                       const ChannelOptions& channel_options,
                                                       const WaitOptions& wait_options,
                                                       size_t ring_bytes,
                                                       const StreamWrapper& wrap) {
  const size_t ranks = static_cast<size_t>(size);
  std::vector<std::vector<std::unique_ptr<ByteStream>>> streams(ranks);
  for (auto& row : streams) row.resize(ranks);
  const auto place = [&](int self, int peer, std::unique_ptr<ByteStream> stream) {
    if (wrap) stream = wrap(self, peer, std::move(stream));
    streams[static_cast<size_t>(self)][static_cast<size_t>(peer)] = std::move(stream);
  };
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      auto [end_a, end_b] = make_memory_streams(a, b, ring_bytes);
      place(a, b, std::move(end_a));
      place(b, a, std::move(end_b));
    }
  }
  auto board = std::make_shared<Board>(size);
  std::vector<std::unique_ptr<Group>> groups;
  groups.reserve(ranks);
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<Group>(
        rank, size, 1, std::move(streams[static_cast<size_t>(rank)]), nullptr,
        std::make_shared<MemoryControl>(rank, board), channel_options, wait_options, "memory"));
  }
  return groups;
}

}  // namespace plumbline
