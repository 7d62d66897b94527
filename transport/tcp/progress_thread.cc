#include "transport/tcp/progress_thread.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "core/clock.h"

namespace plumbline {
namespace {

// A call that copies less is over before another thread has begun; one that copies so much pays
// even where the rank has nothing to read meanwhile.
constexpr size_t kLeastBytes = 64 * 1024, kAlwaysBytes = 512 * 1024;

size_t size_of(std::span<const iovec> buffers) {
  size_t bytes = 0;
  for (const iovec& buffer : buffers) bytes += buffer.iov_len;
  return bytes;
}

class ProgressedStream : public ByteStream {
 public:
  ProgressedStream(std::unique_ptr<ByteStream> inner, std::shared_ptr<ProgressThread> thread)
      : inner_(std::move(inner)), thread_(std::move(thread)) {
    write_.stream = inner_.get();
  }
  ~ProgressedStream() override { release(); }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (under_way_) {
      if (!write_.done.load(std::memory_order_acquire)) return size_t{0};
      under_way_ = false;
      thread_->collected();
      return write_.result;
    }
    if (!thread_->pays(size_of(buffers))) return inner_->write_some(buffers);
    write_.count = std::min(buffers.size(), write_.buffers.size());
    std::copy_n(buffers.begin(), write_.count, write_.buffers.begin());
    write_.done.store(false, std::memory_order_relaxed);
    if (!thread_->post(write_)) return inner_->write_some(buffers);
    under_way_ = true;
    return size_t{0};
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return inner_->read_some(buffers);
  }
  size_t* awaited() override { return &thread_->awaited(); }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    if (!under_way_) return inner_->add_to(poll, reads, writes);
    if (writes) poll.push_back(poll_entry(thread_->wake_fd(), true, false));
    return !reads || inner_->add_to(poll, true, false);
  }
  bool told_by_poll() const override { return !under_way_ && inner_->told_by_poll(); }
  bool arm(bool, bool writes) override {
    if (!under_way_ || !writes) return false;
    thread_->arm();
    return write_.done.load();
  }
  void release() override {
    while (under_way_ && !write_.done.load(std::memory_order_acquire)) ::sched_yield();
    under_way_ = false;
  }
  StreamStats stats() const override {
    StreamStats stats = inner_->stats();
    stats.progress_thread = true;
    return stats;
  }
  void close() override { inner_->close(); }

 private:
  const std::unique_ptr<ByteStream> inner_;
  const std::shared_ptr<ProgressThread> thread_;
  ProgressThread::Write write_;
  bool under_way_ = false;
};

}  // namespace

Expected<std::shared_ptr<ProgressThread>> ProgressThread::start(std::function<void()> begin,
                                                                int64_t spin_ns) {
  Expected<WakePipe> wake = WakePipe::open();
  if (!wake) return fail(wake.error());
  std::shared_ptr<ProgressThread> made(new ProgressThread(std::move(*wake), spin_ns));
  try {
    made->thread_ = std::thread([thread = made.get(), begin = std::move(begin)] {
      if (begin) begin();
      thread->run();
    });
  } catch (const std::system_error& error) {
    return fail_errno(ErrorCode::kSystem, "start the progress thread", error.code().value());
  }
  return made;
}

ProgressThread::~ProgressThread() {
  if (!thread_.joinable()) return;
  posted_writes_[posted_.load() % kMostPosted] = nullptr;
  posted_.fetch_add(1);
  posted_.notify_one();
  thread_.join();
}

bool ProgressThread::post(Write& write) {
  const unsigned posted = posted_.load(std::memory_order_relaxed);
  if (posted - ended_.load(std::memory_order_acquire) >= kMostPosted - 1) return false;
  posted_writes_[posted % kMostPosted] = &write;
  posted_.store(posted + 1);
  posted_.notify_one();
  return true;
}

bool ProgressThread::pays(size_t bytes) const {
  return bytes >= kAlwaysBytes || (bytes >= kLeastBytes && awaited_ > 0);
}

void ProgressThread::arm() { armed_.store(true); }

void ProgressThread::collected() {
  if (signalled_.exchange(false)) wake_.drain();
}

void ProgressThread::run() {
  int64_t idle_since = monotonic_ns();
  for (unsigned ended = 0;;) {
    if (posted_.load(std::memory_order_acquire) == ended) {
      if (monotonic_ns() - idle_since >= spin_ns_) posted_.wait(ended);
      continue;
    }
    Write* const write = posted_writes_[ended % kMostPosted];
    if (write == nullptr) return;
    write->result = write->stream->write_some(std::span(write->buffers).first(write->count));
    ended_.store(++ended, std::memory_order_release);
    write->done.store(true);  // the last that is done to it
    if (armed_.exchange(false)) {
      wake_.signal();
      signalled_.store(true);  // after it: whoever sees this finds something to drain
    }
    idle_since = monotonic_ns();
  }
}

std::unique_ptr<ByteStream> make_progressed_stream(std::unique_ptr<ByteStream> inner,
                                                   std::shared_ptr<ProgressThread> thread) {
  return std::make_unique<ProgressedStream>(std::move(inner), std::move(thread));
}

}  // namespace plumbline
