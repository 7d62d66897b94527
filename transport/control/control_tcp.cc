#include "transport/control/control_tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/host/resource_hint.h"

namespace plumbline {
namespace {

constexpr int64_t kTellNs = 2 * kSecond;

class TcpControlImpl : public TcpControl {
 public:
  TcpControlImpl(ControlConfig config, std::unique_ptr<ControlState> state)
      : config_(std::move(config)),
        state_(std::move(state)),
        rank_(config_.identity.rank),
        thread_([this] { ControlLoop(config_, *state_, recorder_).run(); }) {}

  ~TcpControlImpl() override {
    state_->request_stop();
    thread_.join();
  }

  bool failed() const override { return state_->failed(); }
  Error failure() const override { return state_->failure(); }
  void abort(const Error& reason) override { state_->fail(rank_, reason); }
  void give_up(const Error& reason) override { state_->fail(ControlState::kCoordinator, reason); }

  void begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) override {
    recorder_.begin_operation(sequence, op_hash, text);
  }
  void end_operation(uint32_t sequence) override { recorder_.end_operation(sequence); }
  void waiting(int peer, uint32_t step, int64_t last_progress_ns) override {
    recorder_.waiting(peer, step, last_progress_ns);
  }

  RankStatus query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder) override {
    if (peer != rank_) return state_->query(peer, deadline, recorder);
    if (recorder != nullptr) *recorder = recorder_.entries();
    return recorder_.status(rank_);
  }
  std::vector<FlightEntry> recorder() const override { return recorder_.entries(); }
  int wake_fd() const override { return state_->failed_fd(); }

  Status establish(Deadline deadline) override {
    const int64_t start = monotonic_ns();
    if (state_->wait_connected(config_.eager, deadline)) {
      state_->set_established();
      return {};
    }
    if (!state_->failed()) {
      state_->fail(rank_, missing(monotonic_ns() - start));
    } else if (state_->abort_message().origin == rank_ || !config_.apart.empty()) {
      // Others are still looking for this rank: it stays to tell them why there is no group. (Where
      // not all are connected, they may hear it from nobody else.)
      state_->wait_told(Deadline::at_ns(std::min(deadline.at_ns(), monotonic_ns() + kTellNs)));
    }
    return fail(state_->failure());
  }

  Expected<std::unique_ptr<ByteStream>> take_data(int peer, Deadline deadline) override {
    return state_->take_data(peer, deadline);
  }

 private:
  // Names every rank that is not there, and what is known of it.
  Error missing(int64_t waited_ns) const {
    std::string list;
    int count = 0;
    const std::vector<PeerProgress> peers = state_->progress();
    for (int peer = 0; peer < static_cast<int>(peers.size()); ++peer) {
      const PeerProgress& p = peers[static_cast<size_t>(peer)];
      if (peer == rank_ || (p.linked && (p.data || !config_.eager))) continue;
      ++count;
      const char* silence = peer < rank_ ? "it has not called" : "no answer yet";
      list += fmt::format("{}rank {} on {}: {}{}", list.empty() ? "" : "; ", peer,
                          config_.endpoints[static_cast<size_t>(peer)].host,
                          p.linked ? "control connection stands, data connection missing: " : "",
                          p.note.empty() ? silence : p.note);
    }
    return {ErrorCode::kTimeout,
            fmt::format("rank {}: {} of {} ranks missing after {:.1f} s ({})", rank_, count,
                        peers.size(), static_cast<double>(waited_ns) / 1e9, list),
            0,
            "are these ranks running, and are their ports (--port-base and up) open? "
            "connect_timeout_ms sets the "
            "patience",
            "rank.missing"};
  }

  const ControlConfig config_;
  FlightRecorder recorder_;
  const std::unique_ptr<ControlState> state_;
  const int rank_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

Expected<std::shared_ptr<TcpControl>> TcpControl::start(ControlConfig config) {
  auto state = ControlState::create(config.identity.rank, config.identity.size, config.apart,
                                    config.heartbeat_ns);
  if (!state) return fail(state.error());
  try {
    return std::make_shared<TcpControlImpl>(std::move(config), std::move(*state));
  } catch (const std::system_error& error) {
    return fail_errno(ErrorCode::kSystem, "start the control thread", error.code().value(),
                      resource_hint(error.code().value()));
  }
}

}  // namespace plumbline
