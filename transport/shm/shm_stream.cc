#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "transport/channel/ring.h"
#include "transport/shm/handover.h"
#include "transport/shm/peer_reads.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"
#include "transport/shm/shm_terms.h"

namespace plumbline {
namespace {

// How long an owner waits for a peer that uses its arrays just now.
constexpr int64_t kUseNs = 20 * kMillisecond;

class ShmStream : public ByteStream, private PeerMemory {
 public:
  ShmStream(std::unique_ptr<ByteStream> tcp, int self, int peer, size_t ring_bytes,
            const std::string& realm, std::shared_ptr<SharedArrays> arrays,
            std::function<void(const std::string&)> stays, ShmOffers offers, MemoryWay way)
      : tcp_(std::move(tcp)),
        peer_(peer),
        lower_(self < peer),
        arrays_(std::move(arrays)),
        offers_(offers),
        terms_(std::in_place, *tcp_, reads_, self, peer, ring_bytes, realm, way),
        stays_(std::move(stays)) {}
  ~ShmStream() override { end(); }

  Expected<bool> ready() override {
    if (shared_ || plain_) return true;
    if (error_) return fail(*error_);
    if (closed_) return fail(ended("come to terms with"));
    if (Status status = come_to_terms(); !status) {
      error_ = status.error();
      terms_.reset();
      return fail(*error_);
    }
    return shared_ || plain_;
  }
  ByteStream* settled() override { return plain_ ? tcp_.get() : this; }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (!shared_) {
      const Expected<bool> now = ready();
      if (!now) return fail(now.error());
      if (!shared_) return plain_ ? tcp_->write_some(buffers) : size_t{0};
    }
    if (out_state_->reader_closed.load(std::memory_order_acquire) != 0 || closed_) {
      return fail(ended("write to"));
    }
    const Expected<size_t> bytes = writer_->write(buffers);
    if (!bytes) return fail(in_context(bytes.error()));
    if (*bytes > 0) wake(out_state_->reader_sleeps);
    return *bytes;
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    if (!shared_) {
      const Expected<bool> now = ready();
      if (!now) return fail(now.error());
      if (!shared_) return plain_ ? tcp_->read_some(buffers) : size_t{0};
    }
    // The flag first: bytes written before the end must still be read.
    const bool over =
        closed_ || error_ || in_state_->writer_closed.load(std::memory_order_acquire) != 0;
    const Expected<size_t> bytes = closed_ ? Expected<size_t>(size_t{0}) : reader_->read(buffers);
    if (!bytes) return fail(in_context(bytes.error()));
    if (*bytes > 0) {
      unsettled_ += *bytes;
      settle();
      return *bytes;
    }
    const bool asked = std::any_of(buffers.begin(), buffers.end(),
                                   [](const iovec& buffer) { return buffer.iov_len > 0; });
    if (!over || !asked) return size_t{0};
    return fail(error_ ? *error_ : ended("read from"));
  }

  std::span<const std::byte> readable() override {
    return shared_ && !closed_ ? reader_->readable() : std::span<const std::byte>();
  }
  bool shows_all() const override {
    return shared_ && !closed_ && !error_ && reader_->sound() &&
           in_state_->writer_closed.load(std::memory_order_acquire) == 0;
  }
  void consumed(size_t bytes) override {
    reader_->consume(bytes);
    unsettled_ += bytes;
    if (unsettled_ >= ring_bytes_ / 4) settle();
  }
  // A writer that sleeps is looked for now and then: that costs as much as the rest of a small
  // message.
  void settle() override {
    if (unsettled_ == 0) return;
    unsettled_ = 0;
    reader_->publish();
    wake(in_state_->writer_sleeps);
  }

  PeerMemory* peer_memory() override { return shared_ ? this : nullptr; }

  // The other end's wake-up call comes over TCP, whichever way our bytes go.
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    if (plain_) return tcp_->add_to(poll, reads, writes);
    return tcp_->add_to(poll, true, terms_ && terms_->has_to_write());
  }
  bool told_by_poll() const override { return plain_ && tcp_->told_by_poll(); }

  bool arm(bool reads, bool writes) override {
    if (!shared_) {
      const Expected<bool> now = ready();
      return !now || *now;
    }
    if (!drain_calls()) return true;
    if (reads) {
      in_state_->reader_sleeps.store(1, std::memory_order_seq_cst);
      if (reader_->any() || in_state_->writer_closed.load() != 0) return true;
    }
    if (writes) {
      out_state_->writer_sleeps.store(1, std::memory_order_seq_cst);
      if (writer_->room() > 0 || out_state_->reader_closed.load() != 0) return true;
    }
    return false;
  }

  StreamStats stats() const override {
    StreamStats stats = tcp_->stats();
    if (shared_) stats.send_buffer = stats.recv_buffer = ring_bytes_;
    return stats;
  }

  void close() override { end(); }

 private:
  PeerAbilities abilities() const override {
    return {.maps = true, .reads = reads_.reads(), .no_reads = reads_.why_not()};
  }
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, MessageUse use) override {
    if (use == MessageUse::kRewritten && buffer.size() < offers_.least_rewritten) return {};
    std::optional<MemoryKey> key;
    if (arrays_) key = over_ ? arrays_->key_of(buffer, handed_, *over_) : arrays_->key_of(buffer);
    if (key || use != MessageUse::kAllCopy || buffer.size() < offers_.least_read) return key;
    return reads_.expose(terms_of_peer(), buffer);
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) override {
    Expected<MappedBytes> mapped = regions_.map(key, bytes, over_.get());
    if (mapped) return mapped;
    return fail(withdrawn() ? given_up() : lost_or(mapped.error()));
  }
  // The system reads while it is asked: there is nothing to wait for, and nothing under way.
  Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                std::span<std::byte> to) override {
    if (Status read = reads_.read(key, bytes, offset, to); !read)
      return fail(lost_or(read.error()));
    return 0;
  }
  Expected<bool> read_done(uint64_t) override { return true; }
  Status begin_use() override {
    use_of_peer().in_use.store(1, std::memory_order_seq_cst);
    return withdrawn() ? end_use() : Status();
  }
  // An owner that did not wait any longer has said so before it touched them.
  Status end_use() override {
    const bool stayed = !withdrawn();
    use_of_peer().in_use.store(0, std::memory_order_release);
    return stayed ? Status() : fail(given_up());
  }
  // Once. The peer is through with a piece in microseconds, or it stands still, or has died in it.
  void end_transfers() override {
    reads_.end();
    UseTerms& theirs = use_by(!lower_);
    if (theirs.withdrawn.exchange(1, std::memory_order_seq_cst) != 0) return;
    const Deadline patience = Deadline::after_ns(kUseNs);
    while (theirs.in_use.load(std::memory_order_seq_cst) != 0 && !patience.passed()) {
      std::this_thread::yield();
    }
  }
  // A peer that has ended is told by the connection as always.
  Error lost_or(Error error) {
    if (!drain_calls()) return *error_;
    return in_context(std::move(error));
  }

  UseTerms& use_by(bool lower) {
    return lower ? sheet_of(*memory_).by_lower : sheet_of(*memory_).by_higher;
  }
  UseTerms& use_of_peer() { return use_by(lower_); }
  bool withdrawn() { return use_of_peer().withdrawn.load(std::memory_order_seq_cst) != 0; }
  // The peer lives, unless the connection says otherwise.
  Error given_up() {
    if (!drain_calls()) return *error_;
    return {ErrorCode::kPeerLost,
            fmt::format("use arrays of rank {}: it has given the operation up", peer_), 0,
            "read its own log", ""};
  }
  const ReadTerms& terms_of_peer() const {
    return lower_ ? sheet_of(*memory_).of_higher : sheet_of(*memory_).of_lower;
  }

  void end() {
    if (closed_) return;
    closed_ = true;
    if (shared_) end_transfers();
    reads_.end();
    terms_.reset();
    over_.reset();
    if (shared_) {
      out_state_->writer_closed.store(1, std::memory_order_seq_cst);
      in_state_->reader_closed.store(1, std::memory_order_seq_cst);
    }
    tcp_->close();  // wakes the other end too
  }

  Status come_to_terms() {
    const Expected<bool> settled = terms_->step();
    if (!settled) return fail(settled.error());
    if (!*settled) return {};
    if (!terms_->cannot()) {
      begin();
      return {};
    }
    if (!stays_) return fail(*terms_->cannot());
    plain_ = true;
    std::exchange(stays_, nullptr)(terms_->reason());
    terms_.reset();
    return {};
  }

  void begin() {
    ring_bytes_ = terms_->ring_bytes();
    memory_.emplace(terms_->take_memory());
    over_ = terms_->take_handover();
    terms_.reset();
    ShmSheet& sheet = sheet_of(*memory_);
    out_state_ = lower_ ? &sheet.from_lower : &sheet.from_higher;
    in_state_ = lower_ ? &sheet.from_higher : &sheet.from_lower;
    std::byte* const lower_data = memory_->data() + ShmSheet::kBytes;
    std::byte* const higher_data = lower_data + ring_bytes_;
    writer_.emplace(Ring{out_state_, lower_ ? lower_data : higher_data, ring_bytes_});
    reader_.emplace(Ring{in_state_, lower_ ? higher_data : lower_data, ring_bytes_});
    shared_ = true;
  }

  // ---- while it is shared ----

  void wake(std::atomic<uint32_t>& sleeps) {
    if (sleeps.load(std::memory_order_seq_cst) == 0 ||
        sleeps.exchange(0, std::memory_order_seq_cst) == 0) {
      return;
    }
    const std::byte call{1};
    const iovec one{const_cast<std::byte*>(&call), 1};
    // A full socket holds calls that wake it; a broken one is found by whoever sleeps.
    static_cast<void>(tcp_->write_some({&one, 1}));
  }

  // Takes wake-up calls off the connection. false = it has ended, and error_ says so.
  bool drain_calls() {
    std::array<std::byte, 256> calls;
    const iovec room{calls.data(), calls.size()};
    while (true) {
      const Expected<size_t> got = tcp_->read_some({&room, 1});
      if (!got) {
        error_ = got.error();
        return false;
      }
      if (*got < calls.size()) return true;
    }
  }

  Error ended(const char* doing) const {
    return {ErrorCode::kPeerLost,
            fmt::format("{} rank {}: it has closed the memory that it shares", doing, peer_), 0,
            "its process ended or gave the operation up: read its own log", "rank.dead"};
  }
  Error in_context(Error error) const {
    error.what = fmt::format("memory shared with rank {}: {}", peer_, error.what);
    return error;
  }

  const std::unique_ptr<ByteStream> tcp_;
  const int peer_;
  const bool lower_;
  size_t ring_bytes_ = 0;
  const std::shared_ptr<SharedArrays> arrays_;  // of this rank; may be null
  const ShmOffers offers_;
  PeerRegions regions_;
  HandedRegions handed_;
  PeerReads reads_;
  std::optional<ShmTerms> terms_;                  // until they have come to them
  std::unique_ptr<Handover> over_;                 // null where memory has names
  std::function<void(const std::string&)> stays_;  // null: a pair that cannot share is an error
  std::optional<SharedMemory> memory_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
  RingState* out_state_ = nullptr;
  RingState* in_state_ = nullptr;
  std::optional<Error> error_;
  size_t unsettled_ = 0;  // bytes consumed since it was looked whether the writer sleeps
  bool shared_ = false, closed_ = false;
  bool plain_ = false;  // it goes on over tcp_, as if nothing had been said
};

}  // namespace

std::unique_ptr<ByteStream> make_shm_stream(std::unique_ptr<ByteStream> tcp, int self, int peer,
                                            size_t ring_bytes, const std::string& realm,
                                            std::shared_ptr<SharedArrays> arrays,
                                            std::function<void(const std::string&)> stays,
                                            ShmOffers offers, MemoryWay way) {
  return std::make_unique<ShmStream>(std::move(tcp), self, peer, ring_bytes, realm,
                                     std::move(arrays), std::move(stays), offers, way);
}

}  // namespace plumbline
