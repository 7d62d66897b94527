// A second thread of a rank, which writes for it: where one core cannot fill a link, the rank reads
// and reduces while what it sends is copied to the kernel beside it. The rank's thread posts a
// large write and asks for its result later, so all that schedules, matches and cuts frames stays
// in one thread, as before.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "core/error.h"
#include "transport/channel/byte_stream.h"
#include "transport/control/poll_set.h"

namespace plumbline {

class ProgressThread {
 public:
  static constexpr size_t kMostBuffers = 16;

  // A write on its way: posted by the rank's thread, which leaves it alone until it is done.
  struct Write {
    ByteStream* stream = nullptr;
    std::array<iovec, kMostBuffers> buffers{};
    size_t count = 0;
    Expected<size_t> result = size_t{0};
    std::atomic<bool> done = false;
  };

  // The next write of a long message comes soon; a thread that sleeps costs a system call to wake.
  static constexpr int64_t kSpinNs = 500'000;

  // `begin` is called in the new thread first; may be empty. Without a write it looks for the next
  // one for `spin_ns` and then sleeps; 0 where it has no core of its own. kSystem where there can
  // be no thread.
  static Expected<std::shared_ptr<ProgressThread>> start(std::function<void()> begin,
                                                         int64_t spin_ns = kSpinNs);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // The rest by the rank's thread. Whether a write of so many bytes is worth the way to another
  // core and its caches: what the rank reads meanwhile is what this thread is for, and one that
  // awaits nothing, the root of a broadcast, is faster alone.
  bool pays(size_t bytes) const;
  // Messages that the rank awaits over streams of this thread.
  size_t& awaited() { return awaited_; }
  // false = too many are on their way already.
  bool post(Write& write);
  // Before sleeping until `wake_fd` is readable: from now on the end of a write makes it so. It
  // stays so, whoever else arms, until somebody has collected what a write came to.
  void arm();
  void collected();
  int wake_fd() const { return wake_.read_fd(); }

 private:
  static constexpr unsigned kMostPosted = 64;

  ProgressThread(WakePipe wake, int64_t spin_ns) : wake_(std::move(wake)), spin_ns_(spin_ns) {}
  void run();

  const WakePipe wake_;
  const int64_t spin_ns_;
  std::array<Write*, kMostPosted> posted_writes_{};
  std::atomic<unsigned> posted_ = 0,
                        ended_ = 0;  // counted round; by the rank's thread, by this one
  std::atomic<bool> armed_ = false, signalled_ = false;
  size_t awaited_ = 0;
  std::thread thread_;
};

// `inner`, whose large writes that thread does. Its write_some() must be safe beside all else that
// it does.
std::unique_ptr<ByteStream> make_progressed_stream(std::unique_ptr<ByteStream> inner,
                                                   std::shared_ptr<ProgressThread> thread);

}  // namespace plumbline
