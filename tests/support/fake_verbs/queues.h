// Queue pairs that move messages over Unix sockets: each has a name of its own, made of its number,
// under which the other end finds it, and two threads, as a card does its work beside the program.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/rdma/verbs_abi.h"

namespace plumbline::fake {

// Regions of this process, by key. A card looks at the key, the place and the rights.
uint32_t add_region(void* address, size_t bytes, int access);
void remove_region(uint32_t key);
bool may_use(uint32_t key, uint64_t address, uint32_t bytes, int access);

struct Channel : VerbsChannel {
  explicit Channel(VerbsContext* of);
  ~Channel();
  void tell(VerbsCompletionQueue* queue);
  bool take(VerbsCompletionQueue** queue);

 private:
  std::mutex mutex_;
  std::deque<VerbsCompletionQueue*> events_;
  int write_end_ = -1;
};

struct CompletionQueue : VerbsCompletionQueue {
  void push(const VerbsCompletion& completion);
  int poll(int most, VerbsCompletion* out);
  void arm();

 private:
  std::mutex mutex_;
  std::deque<VerbsCompletion> waiting_;
  bool armed_ = false;
};

struct QueuePair : VerbsQueuePair {
  explicit QueuePair(const VerbsQpRequest& request);
  ~QueuePair();

  bool bound() const { return listener_ >= 0; }
  // To a queue pair that may be gone: then nothing arrives.
  int connect_to(uint32_t peer);
  // The state ERROR: what is under way ends as flushed, and nothing more is taken.
  void stop();
  int post(const VerbsSend& send);
  int post(const VerbsReceive& receive);

 private:
  struct Sending {
    VerbsSend request;
    std::vector<std::byte> copy;  // where the request carries its bytes
    VerbsPiece piece;
  };
  struct Header {
    uint32_t bytes, immediate;
  };

  void write_all();
  void read_all();
  void sent(const VerbsSend& request, int status);
  int process_of_memory(const VerbsSend& request, uint32_t bytes, int access) const;
  bool read_memory(const VerbsSend& request, const VerbsPiece& piece) const;
  bool write_memory(const VerbsSend& request, const void* bytes, uint32_t length) const;
  bool read_message(int from);
  bool read_fully(int from, void* to, size_t bytes) const;
  bool send_fully(const void* from, size_t bytes) const;
  void complete(bool receives, uint64_t id, int status, uint32_t bytes);

  int listener_ = -1, out_ = -1;
  bool connected_ = false, stopped_ = false;
  std::atomic<int> in_{-1};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sending> sending_;
  std::deque<VerbsReceive> places_;
  std::deque<VerbsPiece> place_pieces_;
  std::thread reader_, writer_;
};

}  // namespace plumbline::fake
