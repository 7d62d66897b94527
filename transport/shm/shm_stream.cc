#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/encode.h"
#include "transport/channel/ring.h"
#include "transport/control/wire.h"
#include "transport/shm/peer_reads.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"
#include "transport/shm/shm_offer.h"

namespace plumbline {
namespace {

constexpr size_t kPage = 64 * 1024;  // rings begin on one, whatever the machine's own size is

// The system's answer without advice, which is for whoever asked for shared memory by name.
std::string short_reason(Error error) {
  error.hint.clear();
  return error.message();
}

// In front of the rings in the shared memory.
struct Sheet {
  Digest nonce;
  RingState from_lower, from_higher;
  ReadTerms of_lower, of_higher;
};
static_assert(sizeof(Sheet) <= kPage);

size_t sheet_and_rings(size_t ring_bytes) { return kPage + 2 * ring_bytes; }

class ShmStream : public ByteStream, private PeerMemory {
 public:
  ShmStream(std::unique_ptr<ByteStream> tcp, int self, int peer, size_t ring_bytes,
            const std::string& realm, std::shared_ptr<SharedArrays> arrays,
            std::function<void(const std::string&)> stays, size_t least_read)
      : tcp_(std::move(tcp)),
        self_(self),
        peer_(peer),
        lower_(self < peer),
        ring_bytes_(std::clamp((ring_bytes + kLeastShmRing - 1) / kLeastShmRing * kLeastShmRing,
                               kLeastShmRing, kMostShmRing)),
        realm_(sha256(realm)),
        arrays_(std::move(arrays)),
        least_read_(least_read),
        stays_(std::move(stays)) {
    if (lower_) {
      make_offer();
    } else {
      inbox_.resize(kShmOfferBytes);
    }
  }
  ~ShmStream() override { end(); }

  Expected<bool> ready() override {
    if (shared_ || plain_) return true;
    if (error_) return fail(*error_);
    if (Status status = come_to_terms(); !status) {
      error_ = status.error();
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
    return tcp_->add_to(poll, true, !outbox_.empty());
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
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, bool all_copy) override {
    std::optional<MemoryKey> key;
    if (arrays_) key = arrays_->key_of(buffer);
    if (key || !all_copy || buffer.size() < least_read_) return key;
    return reads_.expose(terms_of_peer(), buffer);
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) override {
    return regions_.map(key, bytes);
  }
  // The system reads while it is asked: there is nothing to wait for, and nothing under way.
  Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                std::span<std::byte> to) override {
    if (Status read = reads_.read(key, bytes, offset, to); !read)
      return fail(no_read(read.error()));
    return 0;
  }
  Expected<bool> read_done(uint64_t) override { return true; }
  // A peer that has ended is told by the connection as always.
  Error no_read(Error error) {
    if (!drain_calls()) return *error_;
    return in_context(std::move(error));
  }

  static Sheet& sheet_of(const SharedMemory& memory) {
    return *reinterpret_cast<Sheet*>(memory.data());
  }
  const ReadTerms& terms_of_peer() const {
    return lower_ ? sheet_of(*memory_).of_higher : sheet_of(*memory_).of_lower;
  }

  void end() {
    if (closed_) return;
    closed_ = true;
    reads_.end();
    if (shared_) {
      out_state_->writer_closed.store(1, std::memory_order_seq_cst);
      in_state_->reader_closed.store(1, std::memory_order_seq_cst);
    }
    tcp_->close();  // wakes the other end too
  }

  // ---- coming to terms ----

  void make_offer() {
    Expected<SharedMemory> memory = SharedMemory::create(sheet_and_rings(ring_bytes_));
    if (!memory) {  // said in place of an offer, to which nothing is answered
      cannot_ = memory.error();
      reason_ = printable(short_reason(*cannot_), kShmReasonBytes);
      outbox_ = encode_shm_offer({realm_, {}, 0, {}, reason_});
      cannot_->what = fmt::format("share memory with rank {}: {}", peer_, cannot_->what);
      cannot_->ranks = {self_, peer_};
      return;
    }
    auto* const sheet = new (memory->data()) Sheet{};
    sheet->nonce = random_token();
    reads_.show_badge(sheet->of_lower);
    memory->mark(static_cast<uint32_t>(self_));
    outbox_ = encode_shm_offer({realm_, memory->name(), ring_bytes_, sheet->nonce});
    inbox_.resize(kShmAnswerBytes);
    memory_.emplace(std::move(*memory));
  }

  Status come_to_terms() {
    if (Status sent = flush(); !sent) return sent;
    while (inbox_got_ < inbox_.size()) {
      const iovec rest{inbox_.data() + inbox_got_, inbox_.size() - inbox_got_};
      const Expected<size_t> got = tcp_->read_some({&rest, 1});
      if (!got) return fail(got.error());
      if (*got == 0) return {};
      inbox_got_ += *got;
      if (inbox_got_ < inbox_.size()) continue;
      if (Status taken = lower_ ? take_answer() : take_offer(); !taken) return taken;
    }
    if (Status sent = flush(); !sent) return sent;
    if (!outbox_.empty()) return {};
    if (!cannot_) {
      begin();
      return {};
    }
    memory_.reset();
    if (!stays_) return fail(*cannot_);
    plain_ = true;
    std::exchange(stays_, nullptr)(reason_);
    return {};
  }

  Status flush() {
    while (!outbox_.empty()) {
      const iovec rest{outbox_.data(), outbox_.size()};
      const Expected<size_t> sent = tcp_->write_some({&rest, 1});
      if (!sent) return fail(sent.error());
      if (*sent == 0) return {};
      outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<ptrdiff_t>(*sent));
    }
    return {};
  }

  Status take_answer() {
    const std::optional<int64_t> process = memory_->marked_by(static_cast<uint32_t>(peer_));
    memory_->drop_name();
    const std::optional<std::string> reason = decode_shm_answer(inbox_);
    if (!reason) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("rank {} answers an offer of memory with something else", peer_),
                  "do all ranks run the same version of plumbline?");
    }
    refuse(*reason);
    if (reason->empty()) try_peer(process);
    return {};
  }

  Status take_offer() {
    const std::optional<ShmOffer> offer = decode_shm_offer(inbox_);
    if (!offer) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("rank {} begins with something that is no offer of memory", peer_),
                  "do all ranks run the same version of plumbline?");
    }
    if (!offer->refusal.empty()) {
      refuse(offer->refusal);
      return {};
    }
    refuse(why_not(*offer));
    outbox_ = encode_shm_answer(reason_);
    return {};
  }

  std::string why_not(const ShmOffer& offer) {
    if (offer.realm != realm_) {
      return "they are on different machines, or in different namespaces of one";
    }
    Expected<SharedMemory> memory =
        SharedMemory::open(offer.name, sheet_and_rings(offer.ring_bytes));
    if (!memory) return short_reason(memory.error());
    if (!equal_digest(sheet_of(*memory).nonce, offer.nonce))
      return "the memory there is not the one offered";
    ring_bytes_ = offer.ring_bytes;
    memory_.emplace(std::move(*memory));
    reads_.show_badge(sheet_of(*memory_).of_higher);
    memory_->mark(static_cast<uint32_t>(self_));
    try_peer(memory_->marked_by(static_cast<uint32_t>(peer_)));
    return {};
  }

  void try_peer(std::optional<int64_t> process) {
    Sheet& sheet = sheet_of(*memory_);
    reads_.try_peer(lower_ ? sheet.of_lower : sheet.of_higher, terms_of_peer(), process);
  }

  void begin() {
    Sheet& sheet = sheet_of(*memory_);
    out_state_ = lower_ ? &sheet.from_lower : &sheet.from_higher;
    in_state_ = lower_ ? &sheet.from_higher : &sheet.from_lower;
    std::byte* const lower_data = memory_->data() + kPage;
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
  // Empty = it is not refused.
  void refuse(const std::string& reason) {
    if (reason.empty()) return;
    reason_ = reason;
    cannot_ = Error{ErrorCode::kUnsupported,
                    fmt::format("rank {} and rank {} cannot share memory: {}",
                                std::min(self_, peer_), std::max(self_, peer_), reason),
                    0,
                    "use --transport auto, which takes TCP then, or --transport tcp",
                    "",
                    {peer_, self_}};
  }
  Error in_context(Error error) const {
    error.what = fmt::format("memory shared with rank {}: {}", peer_, error.what);
    return error;
  }

  const std::unique_ptr<ByteStream> tcp_;
  const int self_, peer_;
  const bool lower_;
  size_t ring_bytes_;
  const Digest realm_;
  const std::shared_ptr<SharedArrays> arrays_;  // of this rank; may be null
  const size_t least_read_;                     // bytes
  PeerRegions regions_;
  PeerReads reads_;
  std::vector<std::byte> outbox_, inbox_;
  size_t inbox_got_ = 0;
  std::function<void(const std::string&)> stays_;  // null: a pair that cannot share is an error
  std::optional<Error> cannot_;                    // why no memory is shared
  std::string reason_;                             // the same in short
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
                                            size_t least_read) {
  return std::make_unique<ShmStream>(std::move(tcp), self, peer, ring_bytes, realm,
                                     std::move(arrays), std::move(stays), least_read);
}

}  // namespace plumbline
