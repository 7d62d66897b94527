#include "transport/shm/peer_reads.h"

#include <algorithm>
#include <cstring>

#include "core/encode.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));

uint64_t random_badge() {
  const Digest random = random_token();
  uint64_t number = 0;
  std::memcpy(&number, random.data(), sizeof number);
  return std::max<uint64_t>(number, 1);
}

struct ReadKey {
  uint64_t badge = 0, address = 0, bytes = 0;
};

std::optional<ReadKey> decode_read_key(const MemoryKey& bytes) {
  WireReader in(bytes.view());
  ReadKey key;
  key.badge = in.u64();
  key.address = in.u64();
  key.bytes = in.u64();
  if (!in.complete()) return std::nullopt;
  return key;
}

}  // namespace

PeerReads::PeerReads()
    : badge_(std::make_unique<std::atomic<uint64_t>>(0)), number_(random_badge()) {
  badge_->store(number_, std::memory_order_release);
}

void PeerReads::show_badge(ReadTerms& mine) const {
  mine.badge_at.store(reinterpret_cast<uintptr_t>(badge_.get()), std::memory_order_relaxed);
  mine.badge.store(number_, std::memory_order_release);
}

void PeerReads::try_peer(ReadTerms& mine, const ReadTerms& theirs, std::optional<int64_t> process) {
  peer_.number = theirs.badge.load(std::memory_order_acquire);
  peer_.at = theirs.badge_at.load(std::memory_order_relaxed);
  if (!process) {
    why_not_ =
        "the two ranks are one process, or the system does not tell which process the "
        "other one is";
  } else if (Status read = read_process_memory(*process, peer_, 0, {}); !read) {
    Error error = read.error();
    error.hint.clear();
    why_not_ = error.message();
  } else {
    process_ = process;
  }
  mine.outcome.store(process_ ? ReadTerms::kReads : ReadTerms::kCannot, std::memory_order_release);
}

std::optional<MemoryKey> PeerReads::expose(const ReadTerms& theirs,
                                           std::span<const std::byte> buffer) const {
  if (theirs.outcome.load(std::memory_order_acquire) != ReadTerms::kReads) return std::nullopt;
  WireWriter out;
  out.u64(number_);
  out.u64(reinterpret_cast<uintptr_t>(buffer.data()));
  out.u64(buffer.size());
  MemoryKey key;
  key.reach = MemoryReach::kRead;
  key.size = out.view().size();
  std::copy(out.view().begin(), out.view().end(), key.bytes.begin());
  return key;
}

Status PeerReads::read(const MemoryKey& bytes, uint64_t length, uint64_t offset,
                       std::span<std::byte> to) const {
  const std::optional<ReadKey> key = decode_read_key(bytes);
  const bool sane = key && key->badge == peer_.number && key->bytes == length &&
                    key->address <= UINTPTR_MAX - length && offset <= length &&
                    to.size() <= length - offset;
  if (!sane || !process_) {
    return fail(ErrorCode::kProtocol, "a message is offered by a key that cannot be",
                "do all ranks run the same version of plumbline?");
  }
  return read_process_memory(*process_, peer_, key->address + offset, to);
}

void PeerReads::end() { badge_->store(0, std::memory_order_release); }

}  // namespace plumbline
