// The receiving half of a channel: reads frames from the stream and hands their payload to the
// posted sinks, or parks it. At a frame's border it reads into a small stage, so that a small
// message comes with its header in one call; inside a large frame it reads straight into the sink's
// window, with the stage behind it for the next header. Sinks may post from inside. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/frame.h"
#include "transport/channel/queues.h"
#include "transport/channel/rendezvous.h"
#include "transport/peer_memory.h"

namespace plumbline {

class Receiver {
 public:
  Receiver(int self, int peer, const ChannelOptions& options, ChannelStats& stats);

  // Delivers what is here already.
  Status post(const MessageTag& tag, size_t bytes, RecvSink* sink);
  // Reads until the stream is empty, nobody wants more, or the budget of one round is spent. true =
  // something moved.
  Expected<bool> pull(ByteStream& stream);

  // That of the same peer's other stream. What is posted there and comes here, or the other way
  // round, is of another size than its name says: an operation that differs.
  void set_beside(const Receiver& other) { beside_ = &other; }
  void count_into(size_t* awaited) { table_.count_into(awaited); }
  // For whoever waits beside: nothing is posted here, but if a frame has come, what it says may
  // contradict what is posted there. Reads no more than its header, and finds no loss of the peer:
  // it may have closed after its last byte.
  Status look(ByteStream& stream);
  bool may_look() const { return !wants_stream() && !in_frame_ && !closed_ && !cancelled_; }

  // pull() would find nothing to do: the look of a rank that spins.
  bool nothing_new(ByteStream& stream) const {
    return !anything_here() && offers_.size() == 0 && words_.empty() && stream.shows_all() &&
           stream.readable().empty();
  }

  bool wants_read() const { return wants_stream() || offers_.any_to_take() || any_words(); }
  bool idle() const;
  // Something is awaited and a frame that has no place stands before it.
  bool blocked() const { return held_ && table_.any_posted(); }
  // While something is awaited: some bytes have come since the oldest receive was posted.
  bool begun() const {
    return in_frame_ || staged() > 0 ||
           (table_.any_posted() && table_.oldest_posted().received > 0);
  }
  std::optional<MessageTag> oldest() const;
  std::string obstacle() const;
  const std::optional<HashMismatch>& hash_mismatch() const { return mismatch_; }
  void cancel();

  // A word about a message that goes from memory to memory, for the SendQueue: the peer's about one
  // of ours, or ours about one of its own, which it is to hear.
  struct Word {
    ReceiverWord said;
    bool by_peer = false;
  };
  // Since the last call; the list is the caller's.
  void swap_words(std::vector<Word>& list) { list.swap(words_); }
  bool any_words() const { return !words_.empty(); }
  // Word of the peer is awaited about so many messages of ours, whether or not something is posted.
  void await_words(size_t messages);

 private:
  // A posted receive whose beginning was parked.
  struct Claim {
    uint32_t posted, parked;
  };

  // Read in one round, so that sending gets its turn.
  static constexpr size_t kReadBytes = 512 * 1024;
  // What lies in memory is worked off in such pieces: what was used is given back, and followers go
  // on, while the next piece is used.
  static constexpr size_t kPieceBytes = 64 * 1024;

  bool wants_stream() const { return (table_.any_posted() || awaits_words_ > 0) && !held_; }
  size_t staged() const { return stage_end_ - stage_begin_; }
  // Of what has come: something may be done before the stream is looked at.
  bool anything_here() const { return in_frame_ || staged() > 0 || !claims_.empty(); }
  Status consume();
  Status begin_frame(std::span<const std::byte, kFrameHeaderBytes> bytes);
  Status find_place();
  Status use_in_place(ByteStream& stream, size_t& used);
  size_t use_whole(std::span<const std::byte> here);
  Status route();
  Status route_posted(uint32_t index);
  Status route_parked(uint32_t index);
  Status deliver_claims();
  Status deliver_claim(const Claim& claim);
  std::span<std::byte> window();
  Expected<size_t> place(std::span<const std::byte> here);
  Status account(size_t bytes, const std::byte* in_place = nullptr);
  Status end_frame();
  Status end_control();
  Status take_offer();
  Status grow_offer();
  Status hear_word();
  Status match_offer(size_t offer, uint32_t posted);
  Status use_offers(size_t& used);
  Expected<bool> use_offer(size_t index, size_t& used);
  Expected<bool> use_read(size_t index, size_t& used);
  Status begin_read(Offer& offer, RecvSink& sink);
  void end_read(Offer& offer);
  Status use_written(size_t index, size_t& used);
  Status grant_windows(size_t index);
  Status grant_window(Offer& offer, std::span<std::byte> window);
  Status give(size_t index, std::span<const std::byte> here, size_t& used);
  void give_counted(size_t index, std::span<const std::byte> here, bool in_place);
  Status agrees_with_posted_beside();
  Status agrees_with_waiting_beside(const MessageTag& tag, uint64_t bytes);
  static tl::unexpected<Error> no_room(const MessageTag& tag, size_t missing);
  tl::unexpected<Error> bad_offer(const MessageTag& tag, const char* what) const;
  void clear_stage();
  size_t aim(std::array<iovec, 2>& buffers, size_t* count, size_t* direct);
  Error in_context(Error error) const;
  tl::unexpected<Error> hashes_differ(const MessageTag& ours, const MessageTag& theirs);
  tl::unexpected<Error> lengths_differ(const MessageTag& tag, uint64_t theirs, uint64_t ours) const;

  const int self_;  // named in errors, because they are relayed to other ranks
  const int peer_;
  const FrameRules rules_;
  const CrcFunction crc32c_;
  ChannelStats& stats_;
  RecvTable table_;
  std::vector<Claim> claims_;
  OfferTable offers_;
  std::vector<Word> words_;
  PeerMemory* memory_ = nullptr;  // of the stream that is being read
  size_t awaits_words_ = 0;       // messages

  std::unique_ptr<std::byte[]> stage_;
  size_t stage_begin_ = 0, stage_end_ = 0;  // unread bytes of the stage

  // The frame whose payload comes next on the stream.
  bool in_frame_ = false;
  bool held_ = false;  // it has no place to go
  FrameHeader frame_;
  size_t left_ = 0;   // payload bytes that have not come yet
  uint32_t crc_ = 0;  // of what has come, header included
  uint32_t to_posted_ = kNoSlot, to_parked_ = kNoSlot;
  PackedKey key_;  // payload of a frame that is no data
  size_t key_size_ = 0;

  std::unique_ptr<std::byte[]> read_stage_;  // of a piece, where reads need one
  bool read_stage_taken_ = false;
  std::vector<std::unique_ptr<std::byte[]>> window_stages_;  // no message has them now

  const Receiver* beside_ = nullptr;
  bool closed_ = false;   // found by look(): whoever reads will be told
  bool running_ = false;  // inside run() or pull(): callbacks only add to the table
  bool cancelled_ = false;
  std::optional<HashMismatch> mismatch_;
};

}  // namespace plumbline
