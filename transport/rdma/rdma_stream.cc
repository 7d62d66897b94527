#include "transport/rdma/rdma_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace plumbline {
namespace {

// For what was sent to leave, at the end.
constexpr int64_t kFinishMs = 250;
// How often the ends of UC compare what was sent and what came, while nothing comes, and for how
// long less may have come; of the time between two looks, only so much counts as kCompareNs, since
// who was not on a processor has not looked.
constexpr int64_t kCompareNs = 100 * kMillisecond, kLostNs = 500 * kMillisecond;
// Frames may come behind the end of the connection, by another way.
constexpr int64_t kBehindNs = 200 * kMillisecond;
// Between two looks at the clock while nothing comes.
constexpr unsigned kIdleLooks = 256;
// Address and key of exposed memory.
constexpr size_t kKeyBytes = 8 + 4;

class RdmaStream : public ByteStream, private PeerMemory {
 public:
  RdmaStream(std::unique_ptr<ByteStream> tcp, int self, int peer, bool counted_on,
             const std::function<Expected<RdmaRails>()>& make,
             std::function<void(const std::string&)> stays, std::shared_ptr<RdmaArrays> arrays)
      : tcp_(std::move(tcp)),
        peer_(peer),
        terms_(std::in_place, *tcp_, self, peer, counted_on, make),
        stays_(std::move(stays)),
        arrays_(std::move(arrays)) {}
  ~RdmaStream() override { end(); }

  Expected<bool> ready() override {
    if (up_ || plain_) return true;
    if (error_) return fail(*error_);
    if (closed_) return fail(ended("come to terms with"));
    if (Status status = come_to_terms(); !status) {
      error_ = status.error();
      terms_.reset();
      return fail(*error_);
    }
    return up_ || plain_;
  }
  ByteStream* settled() override { return plain_ ? tcp_.get() : this; }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (!up_) {
      const Expected<bool> now = ready();
      if (!now) return fail(now.error());
      if (!up_) return plain_ ? tcp_->write_some(buffers) : size_t{0};
    }
    if (closed_ || error_ || over_) return fail(error_ ? *error_ : ended("write to"));
    look();  // a place or a credit may have come back
    if (error_) return fail(*error_);
    const Expected<size_t> sent = send_frames(buffers);
    if (sent && *sent == 0 && ++idle_ % kIdleLooks == 0) compare();
    return sent;
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    if (!up_) {
      const Expected<bool> now = ready();
      if (!now) return fail(now.error());
      if (!up_) return plain_ ? tcp_->read_some(buffers) : size_t{0};
    }
    size_t total = 0;
    for (const iovec& buffer : buffers) {
      size_t filled = 0;
      while (filled < buffer.iov_len) {
        const std::span<const std::byte> there = readable();
        if (there.empty()) break;
        const size_t part = std::min(there.size(), buffer.iov_len - filled);
        std::memcpy(static_cast<std::byte*>(buffer.iov_base) + filled, there.data(), part);
        consumed(part);
        filled += part;
      }
      total += filled;
      if (filled < buffer.iov_len) {
        if (total == 0 && over_or_failed()) return fail(error_ ? *error_ : ended("read from"));
        break;
      }
    }
    return total;
  }

  std::span<const std::byte> readable() override {
    if (!up_ || closed_) return {};
    RdmaRail& rail = in();
    if (rail.is_empty()) {
      look();
      if (rail.is_empty()) {
        if (++idle_ % kIdleLooks == 0) compare();
        return {};
      }
    }
    idle_ = 0;
    return rail.front();
  }
  bool shows_all() const override { return up_ && !closed_ && !error_ && !over_; }
  void consumed(size_t bytes) override {
    RdmaRail& rail = in();
    const bool last = bytes == rail.front().size();
    if (Status done = rail.consume(bytes); !done) return fail_with(done.error());
    if (last) ++frames_in_;
    if (Status told = rail.tell(); !told) fail_with(told.error());
  }

  PeerMemory* peer_memory() override { return up_ && arrays_ && !is_unreliable() ? this : nullptr; }

  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    if (plain_) return tcp_->add_to(poll, reads, writes);
    const bool told = tcp_->add_to(poll, true, terms_ && terms_->has_to_write());
    bool all = told;
    for (const auto& rail : rails_) {
      if (rail->event_fd() >= 0) {
        poll.push_back(poll_entry(rail->event_fd(), true, false));
      } else {
        all = false;
      }
    }
    return all;
  }
  bool told_by_poll() const override { return plain_ && tcp_->told_by_poll(); }

  bool arm(bool reads, bool writes) override {
    if (!up_) {
      const Expected<bool> now = ready();
      return !now || *now || (terms_ && terms_->is_trying());
    }
    for (const auto& rail : rails_) {
      if (Status armed = rail->arm(); !armed) {
        fail_with(armed.error());
        return true;
      }
    }
    const bool moved = look();
    compare();
    return moved || over_or_failed() || (reads && !in().is_empty()) || (writes && out().room());
  }

  StreamStats stats() const override {
    StreamStats stats = tcp_->stats();
    if (!up_) return stats;
    uint64_t bytes = 0;
    for (const auto& rail : rails_) {
      bytes += rail->port()->frame_bytes() * static_cast<uint64_t>(rail->requests());
    }
    stats.send_buffer = stats.recv_buffer = bytes;
    return stats;
  }

  void keep_up() override {
    if (up_) compare();
  }
  std::vector<std::shared_ptr<RdmaPort>> rdma_ports() const override {
    std::vector<std::shared_ptr<RdmaPort>> ports;
    for (const auto& rail : rails_) ports.push_back(rail->port());
    return ports;
  }
  void close() override { end(); }

 private:
  // A read that waits for the rail, or is under way, from its ticket on.
  struct Read {
    uint32_t ticket;
    uint64_t from;
    uint32_t remote_key;
    std::span<std::byte> to;
    bool begun = false, ended = false, bounces = false;
  };

  PeerAbilities abilities() const override { return {.reads = true}; }
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, MessageUse) override {
    const std::optional<RdmaKeys> keys = arrays_->keys_of(rails_.front()->port(), buffer);
    if (!keys) return std::nullopt;
    MemoryKey key;
    key.reach = MemoryReach::kRead;
    const uint64_t address = reinterpret_cast<uintptr_t>(buffer.data());
    std::memcpy(key.bytes.data(), &address, sizeof address);
    std::memcpy(key.bytes.data() + sizeof address, &keys->remote, sizeof keys->remote);
    key.size = kKeyBytes;
    return key;
  }
  Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                std::span<std::byte> to) override {
    if (error_) return fail(*error_);  // its rails may be stopped
    if (key.size != kKeyBytes || offset > bytes || to.size() > bytes - offset ||
        to.size() > RdmaRail::kBounceBytes) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("rank {} offers memory in words that are not RDMA's", peer_));
    }
    uint64_t address = 0;
    uint32_t remote_key = 0;
    std::memcpy(&address, key.bytes.data(), sizeof address);
    std::memcpy(&remote_key, key.bytes.data() + sizeof address, sizeof remote_key);
    reads_.push_back({next_ticket_++, address + offset, remote_key, to});
    if (Status begun = begin_reads(); !begun) return fail(begun.error());
    return reads_.back().ticket;
  }
  Expected<bool> read_done(uint64_t ticket) override {
    look();
    if (error_) return fail(*error_);
    if (Status begun = begin_reads(); !begun) return fail(begun.error());
    const auto read = std::find_if(reads_.begin(), reads_.end(),
                                   [&](const Read& one) { return one.ticket == ticket; });
    if (read == reads_.end() || !read->ended) return false;
    if (read->bounces) {
      std::memcpy(read->to.data(), rails_.front()->bounce().data(), read->to.size());
      bounce_taken_ = false;
    }
    reads_.erase(read);
    return true;
  }
  void end_transfers() override {
    reads_.clear();
    for (const auto& rail : rails_) rail->stop();
    fail_with({ErrorCode::kPeerLost,
               fmt::format("RDMA with rank {}: this rank has given the operation up", peer_), 0,
               "read the first error of the group", ""});
  }

  // Those that can. Memory that is no array's comes by way of one that is registered.
  Status begin_reads() {
    RdmaRail& rail = *rails_.front();
    for (Read& read : reads_) {
      if (read.begun) continue;
      std::span<std::byte> to = read.to;
      std::optional<RdmaKeys> keys = arrays_->keys_of(rail.port(), to);
      if (!keys) {
        if (bounce_taken_) continue;
        to = rail.bounce().first(to.size());
        keys = RdmaKeys{rail.local_key(), 0};
        read.bounces = true;
      }
      const Expected<bool> begun =
          rail.start_read(read.ticket, read.from, read.remote_key, to, keys->local);
      if (!begun) return fail(begun.error());
      if (!*begun) {
        read.bounces = false;
        return {};
      }
      read.begun = true;
      if (read.bounces) bounce_taken_ = true;
    }
    return {};
  }
  void note_reads() {
    while (const std::optional<uint32_t> ticket = rails_.front()->read_ended()) {
      for (Read& read : reads_) {
        if (read.ticket == *ticket) read.ended = true;
      }
    }
  }

  bool is_unreliable() const { return rails_.front()->port()->qp_type() == kUnreliable; }
  RdmaRail& in() const { return *rails_[frames_in_ % rails_.size()]; }
  RdmaRail& out() const { return *rails_[frames_out_ % rails_.size()]; }
  bool over_or_failed() const { return closed_ || error_ || over_; }

  Expected<size_t> send_frames(std::span<const iovec> buffers) {
    size_t total = 0, at = 0, into = 0;  // the buffer, and how much of it is taken
    while (at < buffers.size() && out().room()) {
      std::byte* const frame = out().next_out();
      size_t filled = 0;
      while (at < buffers.size() && filled < out().most_bytes()) {
        const size_t part = std::min(buffers[at].iov_len - into, out().most_bytes() - filled);
        if (part > 0) {
          std::memcpy(frame + filled, static_cast<const std::byte*>(buffers[at].iov_base) + into,
                      part);
        }
        filled += part;
        into += part;
        if (into == buffers[at].iov_len) {
          ++at;
          into = 0;
        }
      }
      if (filled == 0) break;
      if (Status sent = out().send(filled); !sent) {
        fail_with(sent.error());
        return fail(*error_);
      }
      ++frames_out_;
      total += filled;
    }
    return total;
  }

  // Takes what has come on every rail; true = something has.
  bool look() {
    if (error_ || over_) return false;
    bool all_ended = true, any_moved = false;
    for (const auto& rail : rails_) {
      const Expected<bool> moved = rail->poll();
      const Status told = moved ? rail->tell() : Status();
      if (!moved || !told) {
        fail_with(moved ? told.error() : moved.error());
        return true;
      }
      any_moved = any_moved || *moved;
      all_ended = all_ended && rail->ended() && rail->is_empty();
    }
    over_ = all_ended;
    if (any_moved) less_ns_ = 0;
    if (!reads_.empty()) note_reads();
    return any_moved;
  }

  // What the connection says beside the frames: that the other end is gone, and, of UC, how many it
  // has sent.
  void compare() {
    if (over_or_failed()) return;
    const int64_t now = monotonic_ns();
    const bool unreliable = is_unreliable();
    if (unreliable && now - told_ns_ > kCompareNs) tell_sent(now);
    if (!hear()) {
      look();  // what came before the end
      if (!in().is_empty() || over_) return;
      if (gone_ns_ == 0) gone_ns_ = now;
      if (now - gone_ns_ > kBehindNs && !error_) error_ = gone_;
      return;
    }
    if (unreliable) find_lost(now);
  }

  void tell_sent(int64_t now) {
    std::array<uint32_t, kMostRails> sent{};
    for (size_t i = 0; i < rails_.size(); ++i) sent[i] = rails_[i]->sent();
    if (sent == told_sent_ || !outbox_.empty()) return flush();
    told_sent_ = sent;
    told_ns_ = now;
    const auto bytes = std::as_bytes(std::span(sent));
    outbox_.assign(bytes.begin(), bytes.end());
    flush();
  }
  void flush() {
    if (outbox_.empty()) return;
    const iovec rest{outbox_.data(), outbox_.size()};
    const Expected<size_t> sent = tcp_->write_some({&rest, 1});
    if (!sent) return;  // hear() finds it
    outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<ptrdiff_t>(*sent));
  }
  // false = the connection has ended, and gone_ says why.
  bool hear() {
    while (!gone_) {
      const iovec room{inbox_.data() + inbox_got_, inbox_.size() - inbox_got_};
      const Expected<size_t> got = tcp_->read_some({&room, 1});
      if (!got) {
        gone_ = got.error();
        break;
      }
      inbox_got_ += *got;
      if (inbox_got_ < inbox_.size()) return true;
      inbox_got_ = 0;
      std::memcpy(peer_sent_.data(), inbox_.data(), inbox_.size());
    }
    return false;
  }
  // The rail on which less has come than was sent.
  std::optional<size_t> less_came() {
    for (size_t i = 0; i < rails_.size(); ++i) {
      if (static_cast<int32_t>(peer_sent_[i] - rails_[i]->received()) > 0) return i;
      peer_sent_[i] = rails_[i]->received();  // counts begin anew some day
    }
    return std::nullopt;
  }
  void find_lost(int64_t now) {
    const int64_t since = std::min(now - std::exchange(looked_ns_, now), kCompareNs);
    // Nobody may have looked since they came.
    if (less_came()) look();
    const std::optional<size_t> where = less_came();
    less_ns_ = where ? less_ns_ + since : 0;
    if (!where || less_ns_ < kLostNs || error_) return;
    error_ = Error{ErrorCode::kPeerLost,
                   fmt::format("RDMA with rank {} on {}: it has sent {} frames, and {} came", peer_,
                               rails_[*where]->port()->device(), peer_sent_[*where],
                               rails_[*where]->received()),
                   0,
                   "UC sends nothing again: look for errors and drops on the link, or use RC "
                   "(rdma_qp) where the provider has it",
                   "rdma.path"};
  }

  void fail_with(Error error) {
    if (!error_) error_ = std::move(error);
  }

  Status come_to_terms() {
    const Expected<bool> settled = terms_->step();
    if (!settled) return fail(settled.error());
    if (!*settled) return {};
    if (!terms_->cannot()) {
      rails_ = terms_->take_rails();
      up_ = true;
    } else if (!stays_ || terms_->cannot()->code == ErrorCode::kUsage) {
      return fail(*terms_->cannot());
    } else {
      plain_ = true;
      std::exchange(stays_, nullptr)(terms_->reason());
    }
    terms_.reset();
    return {};
  }

  void end() {
    if (closed_) return;
    closed_ = true;
    terms_.reset();
    const Deadline patience = Deadline::after_ms(kFinishMs);
    if (up_ && !error_) static_cast<void>(hear());  // is anybody there to tell?
    for (const auto& rail : rails_) {
      if (!error_ && !gone_) rail->finish(patience);
    }
    reads_.clear();
    rails_.clear();
    up_ = false;
    tcp_->close();
  }

  Error ended(const char* doing) const {
    return {ErrorCode::kPeerLost,
            fmt::format("{} rank {}: it has ended the queue pairs that it shares", doing, peer_), 0,
            "its process ended or gave the operation up: read its own log", "rank.dead"};
  }

  const std::unique_ptr<ByteStream> tcp_;
  const int peer_;
  std::optional<RdmaTerms> terms_;                 // until they have come to them
  std::function<void(const std::string&)> stays_;  // null: a pair that cannot is an error
  const std::shared_ptr<RdmaArrays> arrays_;       // of this rank; may be null
  std::vector<Read> reads_;
  uint32_t next_ticket_ = 0;
  bool bounce_taken_ = false;
  RdmaRails rails_;
  uint64_t frames_out_ = 0, frames_in_ = 0;  // with data, over all rails in turn
  std::optional<Error> error_;
  bool up_ = false, closed_ = false;
  bool plain_ = false;  // it goes on over tcp_, as if nothing had been said
  bool over_ = false;   // the other end has said that it ends, and all is read

  unsigned idle_ = 0;
  std::optional<Error> gone_;  // what the connection ended with
  int64_t gone_ns_ = 0, told_ns_ = 0;
  int64_t looked_ns_ = 0;  // when the counts were compared
  int64_t less_ns_ = 0;    // so long less has come than was sent, and nothing more
  std::array<uint32_t, kMostRails> told_sent_{}, peer_sent_{};
  std::array<std::byte, sizeof(peer_sent_)> inbox_{};
  size_t inbox_got_ = 0;
  std::vector<std::byte> outbox_;
};

}  // namespace

std::unique_ptr<ByteStream> make_rdma_stream(std::unique_ptr<ByteStream> tcp, int self, int peer,
                                             bool counted_on,
                                             const std::function<Expected<RdmaRails>()>& make,
                                             std::function<void(const std::string&)> stays,
                                             std::shared_ptr<RdmaArrays> arrays) {
  return std::make_unique<RdmaStream>(std::move(tcp), self, peer, counted_on, make,
                                      std::move(stays), std::move(arrays));
}

}  // namespace plumbline
