// A lane is one stream of a channel with all that is under way on it: the messages on their way
// out, the receives that are posted for it, and, where a transport reaches the peer's memory, what
// the two ends have to say about that. A channel has one, or two where its stream brings a second
// one along (ByteStream::bulk()). Internal to transport/channel/; one thread.
#pragma once

#include <optional>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/queues.h"
#include "transport/channel/receiver.h"

namespace plumbline {

struct Lane {
  Lane(int self, int peer, ByteStream& byte_stream, const ChannelOptions& options,
       ChannelStats& stats, const SendBudget& budget = {});

  // Null = messages of so many bytes go through the stream.
  PeerMemory* memory_for(size_t bytes);

  // As of Channel. Writes at once what nothing stands before.
  Expected<bool> send(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                      SendObserver* observer, uint64_t cookie, Channel::SendId* id);
  Expected<bool> extend(Channel::SendId id, size_t ready);
  // Moves what can be moved without waiting; true = something moved.
  Expected<bool> move();
  bool nothing_to_do() { return !sends.wants_write() && receiver.nothing_new(*stream); }
  bool wants_any() const { return sends.wants_write() || receiver.wants_read(); }
  std::optional<Stall> stall() const;
  bool owes() const { return sends.owes() || receiver.any_words(); }
  void cancel();

  const int peer;
  const size_t direct_bytes;  // largest = nothing is offered
  ByteStream* stream;         // not owned
  SendQueue sends;
  Receiver receiver;

 private:
  // The key of a message that the peer may take from our memory.
  std::optional<MemoryKey> key_of(const void* data, size_t bytes, const SendObserver* observer);
  Expected<bool> write_on();
  Expected<bool> flush_if_new(bool was_waiting);
  Expected<bool> settle_words();

  std::vector<Receiver::Word> words_;  // reused
};

}  // namespace plumbline
