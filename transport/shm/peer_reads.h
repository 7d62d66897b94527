// Arrays that lie in no shared region, between the two ranks of a pair: the receiver reads them out
// of the sender's process (process_memory.h), where that pays (shm_stream.cc). Whether each of them
// may read the other is found out once, when they come to terms: each writes the badge of its
// process into the memory that they share, reads the other's, and writes down there whether it
// could. Until then, and where the system forbids it, such arrays go through the rings. Which
// process the other end is tells the system, never a key: a key names bytes of that process alone.
// One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transport/peer_memory.h"
#include "transport/shm/process_memory.h"

namespace plumbline {

// What one end writes for the other in the memory that they share.
struct ReadTerms {
  enum Outcome : uint32_t { kOpen, kReads, kCannot };

  std::atomic<uint64_t> badge_at, badge;
  std::atomic<uint32_t> outcome;  // whether this end reads the other one
};

class PeerReads {
 public:
  PeerReads();
  ~PeerReads() { end(); }
  PeerReads(const PeerReads&) = delete;
  PeerReads& operator=(const PeerReads&) = delete;

  // Before the other end looks.
  void show_badge(ReadTerms& mine) const;
  // Once the other end has shown its own. `process` is the other end as the system knows it; none =
  // it is this process too, or the system does not tell.
  void try_peer(ReadTerms& mine, const ReadTerms& theirs, std::optional<int64_t> process);

  bool reads() const { return process_.has_value(); }
  const std::string& why_not() const { return why_not_; }

  // As in PeerMemory; `theirs` says whether the other end reads.
  std::optional<MemoryKey> expose(const ReadTerms& theirs, std::span<const std::byte> buffer) const;
  Status read(const MemoryKey& key, uint64_t bytes, uint64_t offset, std::span<std::byte> to) const;

  // Nobody reads this end any more.
  void end();

 private:
  const std::unique_ptr<std::atomic<uint64_t>> badge_;
  const uint64_t number_;
  std::optional<int64_t> process_;  // of the other end; none = it is not read
  ProcessBadge peer_;
  std::string why_not_;
};

}  // namespace plumbline
