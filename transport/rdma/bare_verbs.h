// What a path can do without our transport: one queue pair and the verbs alone, as perftest's
// programs measure them (ib_send_lat, ib_write_bw ...). Messages of one size go out of one buffer
// into one buffer, and hold a pattern that is looked at in the end. Both ends make theirs, tell the
// other one their end(), connect, and then call functions that belong together; none waits longer
// than its patience. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "transport/rdma/rdma_pair.h"
#include "transport/traffic/traffic.h"

namespace plumbline {

enum class VerbsMove {
  kSend,   // into a receive that the other end has posted
  kWrite,  // RDMA WRITE: the other end's processor does nothing
  kRead,   // RDMA READ; RC only
};

class BareVerbs {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 30;  // of a message
  // What the other end has to know of one, as numbers.
  using EndWords = std::array<uint64_t, 6>;

  // kUnsupported, without a cause, where the provider cannot do that: READ on UC, messages of that
  // size.
  // `requests` in each queue; 0 = as many as the provider has, perftest's 128 at most.
  static Expected<std::unique_ptr<BareVerbs>> create(std::shared_ptr<RdmaPort> port, VerbsMove move,
                                                     size_t bytes, const std::string& peer,
                                                     int requests = 0);

  EndWords end() const;
  // Once. kProtocol where the numbers are no end's, kConfig where its queue pairs have another
  // type. Messages may go as soon as both ends have done it.
  Status connect(const EndWords& theirs);

  // So many round trips, and the time of each in ns into `times` (may be null): of a message there
  // and one back; of READ, from the request until the bytes are here. The end that does not begin
  // answers; for READ it has nothing to do.
  Status round_trips(bool begins, int count, const Patience& patience, std::vector<int64_t>* times);

  // As many messages as fit under way. Begins at most so many new ones and takes note of those that
  // have ended; waits for nothing.
  Status step(uint64_t more);
  uint64_t begun() const { return begun_; }
  // Of them, those whose bytes have been read, or have left: on RC the other end has acknowledged
  // them then.
  uint64_t ended() const { return ended_; }
  // The other end of SEND: takes note of what has come beside round trips, and makes room for more.
  Status take();
  uint64_t taken() const { return taken_; }
  // Half of the room each time: as given by this end, and as they came from the other one. On UC
  // one that is lost makes all the rest slower.
  uint64_t credits_given() const { return taken_ / (depth_ / 2); }
  uint64_t credits_got() const { return received_ - awaited_; }

  // Where messages came in, or READs: does every byte hold what was sent?
  bool is_intact() const;
  std::string name() const;  // "RC rxe0"
  bool is_reliable() const { return pair_->port()->qp_type() == kReliable; }

 private:
  BareVerbs(VerbsMove move, size_t bytes, const RdmaProfile& profile, int requests);
  Status make(std::shared_ptr<RdmaPort> port, const std::string& peer);
  std::byte* out() const { return pair_->memory(); }
  std::byte* in() const { return pair_->memory() + slot_bytes_; }
  Status post(uint32_t count, bool is_told);
  Status post_receives(uint32_t count);
  Status give_credit();
  Status collect();
  Status send_one();
  Status await_one(const Patience& patience);
  bool has_come() const;

  const VerbsMove move_;
  const size_t bytes_, slot_bytes_;  // of a message, of a buffer
  const uint32_t depth_, group_;     // most under way, posted at once
  const size_t credit_bytes_;
  std::unique_ptr<RdmaPair> pair_;
  uint64_t remote_address_ = 0;
  uint32_t remote_key_ = 0;
  uint64_t begun_ = 0, ended_ = 0;  // messages of this end
  uint64_t told_ = 0;               // of begun_: behind the last one whose end is told
  uint64_t answered_ = 0;           // of begun_: those of round trips
  uint64_t received_ = 0, awaited_ = 0, taken_ = 0;  // messages of the other end
};

}  // namespace plumbline
