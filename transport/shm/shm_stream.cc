#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "core/encode.h"
#include "transport/channel/ring.h"
#include "transport/control/wire.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"

namespace plumbline {
namespace {

constexpr uint32_t kOfferMagic = 0x706c7368;  // "plsh"
// What the ends say over TCP, once each: the lower rank an offer, the higher one an answer.
constexpr size_t kOfferBytes = 4 + 32 + 8 + 8 + 8 + 32;
constexpr size_t kAnswerTextBytes = 200;
constexpr size_t kAnswerBytes = 1 + 2 + kAnswerTextBytes;
constexpr size_t kLeastRing = 4096, kMostRing = size_t{1} << 30;
constexpr size_t kPage = 64 * 1024;  // rings begin on one, whatever the machine's own size is

// In front of the rings in the shared memory.
struct Sheet {
  Digest nonce;
  RingState from_lower, from_higher;
};
static_assert(sizeof(Sheet) <= kPage);

size_t sheet_and_rings(size_t ring_bytes) { return kPage + 2 * ring_bytes; }

struct Offer {
  Digest realm{};
  SharedMemoryName name;
  uint64_t ring_bytes = 0;
  Digest nonce{};
};

std::vector<std::byte> encode(const Offer& offer) {
  WireWriter out;
  out.u32(kOfferMagic);
  out.bytes(offer.realm);
  out.u64(offer.name.a);
  out.u64(offer.name.b);
  out.u64(offer.ring_bytes);
  out.bytes(offer.nonce);
  return out.take();
}

std::optional<Offer> decode_offer(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  Offer offer;
  const bool ours = in.u32() == kOfferMagic;
  in.bytes(offer.realm);
  offer.name.a = in.u64();
  offer.name.b = in.u64();
  offer.ring_bytes = in.u64();
  in.bytes(offer.nonce);
  const bool sane = offer.ring_bytes >= kLeastRing && offer.ring_bytes <= kMostRing &&
                    offer.ring_bytes % kLeastRing == 0;
  if (!ours || !in.complete() || !sane) return std::nullopt;
  return offer;
}

// Why the higher rank cannot; empty = it has mapped the memory.
std::vector<std::byte> encode_answer(const std::string& reason) {
  WireWriter out;
  out.u8(reason.empty() ? 1 : 0);
  out.text(reason, kAnswerTextBytes);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(kAnswerBytes);
  return bytes;
}

class ShmStream : public ByteStream {
 public:
  ShmStream(std::unique_ptr<ByteStream> tcp, int self, int peer, size_t ring_bytes,
            const std::string& realm)
      : tcp_(std::move(tcp)),
        self_(self),
        peer_(peer),
        lower_(self < peer),
        ring_bytes_(std::clamp((ring_bytes + kLeastRing - 1) / kLeastRing * kLeastRing, kLeastRing,
                               kMostRing)),
        realm_(sha256(realm)) {
    if (lower_) {
      make_offer();
      inbox_.resize(kAnswerBytes);
    } else {
      inbox_.resize(kOfferBytes);
    }
  }
  ~ShmStream() override { end(); }

  Expected<bool> ready() override {
    if (shared_) return true;
    if (error_) return fail(*error_);
    if (Status status = come_to_terms(); !status) {
      error_ = status.error();
      return fail(*error_);
    }
    return shared_;
  }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (!shared_) {
      const Expected<bool> now = ready();
      if (!now) return fail(now.error());
      if (!*now) return size_t{0};
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
      if (!*now) return size_t{0};
    }
    // The flag first: bytes written before the end must still be read.
    const bool over =
        closed_ || error_ || in_state_->writer_closed.load(std::memory_order_acquire) != 0;
    const Expected<size_t> bytes = closed_ ? Expected<size_t>(size_t{0}) : reader_->read(buffers);
    if (!bytes) return fail(in_context(bytes.error()));
    if (*bytes > 0) {
      wake(in_state_->writer_sleeps);
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
  void consumed(size_t bytes) override {
    reader_->consume(bytes);
    wake(in_state_->writer_sleeps);
  }

  int poll_fd() const override { return tcp_->poll_fd(); }
  // The other end's wake-up call comes over TCP, whichever way our bytes go.
  short poll_events(bool, bool) const override {
    return static_cast<short>(outbox_.empty() ? POLLIN : POLLIN | POLLOUT);
  }

  bool arm(bool reads, bool writes) override {
    if (!shared_) {
      const Expected<bool> now = ready();
      return !now || *now;
    }
    if (!drain_calls()) return true;
    if (reads) {
      in_state_->reader_sleeps.store(1, std::memory_order_seq_cst);
      if (reader_->there() > 0 || in_state_->writer_closed.load() != 0) return true;
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
  void end() {
    if (closed_) return;
    closed_ = true;
    if (shared_) {
      out_state_->writer_closed.store(1, std::memory_order_seq_cst);
      in_state_->reader_closed.store(1, std::memory_order_seq_cst);
    }
    tcp_->close();  // wakes the other end too
  }

  // ---- coming to terms ----

  void make_offer() {
    Expected<SharedMemory> memory = SharedMemory::create(sheet_and_rings(ring_bytes_));
    if (!memory) {
      error_ = memory.error();
      error_->what = fmt::format("share memory with rank {}: {}", peer_, error_->what);
      return;
    }
    auto* const sheet = new (memory->data()) Sheet{};
    sheet->nonce = random_token();
    outbox_ = encode({realm_, memory->name(), ring_bytes_, sheet->nonce});
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
    if (!refusal_.empty()) return fail(refused(refusal_));
    begin();
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
    WireReader in(inbox_);
    const bool mapped = in.u8() == 1;
    const std::string reason = printable(in.text(), kAnswerTextBytes);
    memory_->drop_name();
    if (!mapped) refusal_ = reason.empty() ? "it does not say why" : reason;
    return {};
  }

  Status take_offer() {
    const std::optional<Offer> offer = decode_offer(inbox_);
    if (!offer) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("rank {} begins with something that is no offer of memory", peer_),
                  "do all ranks run the same version of plumbline?");
    }
    refusal_ = why_not(*offer);
    outbox_ = encode_answer(refusal_);
    return {};
  }

  std::string why_not(const Offer& offer) {
    if (offer.realm != realm_) {
      return "they are on different machines, or in different namespaces of one";
    }
    Expected<SharedMemory> memory =
        SharedMemory::open(offer.name, sheet_and_rings(offer.ring_bytes));
    if (!memory) return memory.error().message();
    const auto* const sheet = reinterpret_cast<const Sheet*>(memory->data());
    if (!equal_digest(sheet->nonce, offer.nonce)) return "the memory there is not the one offered";
    ring_bytes_ = offer.ring_bytes;
    memory_.emplace(std::move(*memory));
    return {};
  }

  void begin() {
    auto* const sheet = reinterpret_cast<Sheet*>(memory_->data());
    out_state_ = lower_ ? &sheet->from_lower : &sheet->from_higher;
    in_state_ = lower_ ? &sheet->from_higher : &sheet->from_lower;
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
  Error refused(const std::string& reason) const {
    return {ErrorCode::kUnsupported,
            fmt::format("rank {} and rank {} cannot share memory: {}", std::min(self_, peer_),
                        std::max(self_, peer_), reason),
            0, "use --transport tcp", ""};
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
  std::vector<std::byte> outbox_, inbox_;
  size_t inbox_got_ = 0;
  std::string refusal_;
  std::optional<SharedMemory> memory_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
  RingState* out_state_ = nullptr;
  RingState* in_state_ = nullptr;
  std::optional<Error> error_;
  bool shared_ = false, closed_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_shm_stream(std::unique_ptr<ByteStream> tcp, int self, int peer,
                                            size_t ring_bytes, const std::string& realm) {
  return std::make_unique<ShmStream>(std::move(tcp), self, peer, ring_bytes, realm);
}

}  // namespace plumbline
