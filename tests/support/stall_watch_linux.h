// Finds out whether ranks that are threads stood still for a while although nothing kept them from
// running, however busy the machine is. A thread of its own looks every few milliseconds. Time has
// passed in vain where no rank runs or waits for a core (its state in proc(5)), and where all ranks
// together ran (CPU clocks) and waited for cores (the run delay of schedstat) for less than the
// time since the last look; how late this thread itself was is left out, for the machine kept
// everybody from running then. So a busy machine, a stopped virtual machine and slow arithmetic are
// never taken for a stall, while ranks that all wait for a timer of the network are.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/fd.h"

namespace plumbline::test {

struct Stall {
  int64_t ns = 0;
  std::string during;  // what a rank said that it did
};

class StallWatch {
 public:
  StallWatch() : thread_([this] { run(); }) {}
  ~StallWatch() {
    stop_.store(true);
    thread_.join();
  }
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The calling thread is a rank while this lives.
  class Rank {
   public:
    explicit Rank(StallWatch& watch) : watch_(watch) {
      const std::string task = "/proc/self/task/" + std::to_string(::gettid());
      const auto opened = [&task](const char* name) {
        return Fd(::open((task + name).c_str(), O_RDONLY | O_CLOEXEC));
      };
      const std::lock_guard lock(watch.mutex_);
      Watched rank{this, {}, opened("/schedstat"), opened("/stat"), 0, {}};
      ::pthread_getcpuclockid(::pthread_self(), &rank.clock);
      rank.active_ns = active_ns(rank);
      watch.ranks_.push_back(std::move(rank));
    }
    ~Rank() {
      const std::lock_guard lock(watch_.mutex_);
      std::erase_if(watch_.ranks_, [this](const Watched& rank) { return rank.owner == this; });
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    // It is in an operation from here on, or (empty) in none.
    void does(const std::string& what) {
      const std::lock_guard lock(watch_.mutex_);
      for (Watched& rank : watch_.ranks_) {
        if (rank.owner == this) rank.does = what;
      }
    }

   private:
    StallWatch& watch_;
  };

  Stall longest() const {
    const std::lock_guard lock(mutex_);
    return longest_;
  }

 private:
  static constexpr int64_t kTickNs = 5 * kMillisecond;

  struct Watched {
    const Rank* owner = nullptr;
    clockid_t clock = {};
    Fd schedstat, stat;
    int64_t active_ns = 0;  // at the last look
    std::string does;
  };

  static std::string text_of(const Fd& file) {
    char text[512];
    const ssize_t bytes = ::pread(file.get(), text, sizeof text, 0);
    return {text, static_cast<size_t>(std::max<ssize_t>(bytes, 0))};
  }

  // How long it ran or waited for a core since it began; of a wait that lasts, nothing yet.
  static int64_t active_ns(const Watched& rank) {
    timespec cpu{};
    ::clock_gettime(rank.clock, &cpu);
    long long ran = 0, waited = 0;
    std::sscanf(text_of(rank.schedstat).c_str(), "%lld %lld", &ran, &waited);
    return cpu.tv_sec * kSecond + cpu.tv_nsec + waited;
  }
  // It runs, or would if it had a core: "4711 (name) R ...".
  static bool wants_core(const Watched& rank) {
    const std::string text = text_of(rank.stat);
    const size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") R") == 0;
  }

  void run() {
    Stall now_quiet;
    while (!stop_.load()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs));
      const std::lock_guard lock(mutex_);
      int64_t active = 0;
      std::string during;
      for (Watched& rank : ranks_) {
        const int64_t now_active = active_ns(rank);
        active += now_active - rank.active_ns;
        rank.active_ns = now_active;
        if (!rank.does.empty()) during = rank.does;
      }
      const int64_t asleep = kTickNs - active;  // at least; what passed beyond is our own lateness
      if (during.empty() || asleep < kTickNs / 2 ||
          std::any_of(ranks_.begin(), ranks_.end(), wants_core)) {
        now_quiet = {};
        continue;
      }
      now_quiet.ns += asleep;
      now_quiet.during = during;
      if (now_quiet.ns > longest_.ns) longest_ = now_quiet;
    }
  }

  mutable std::mutex mutex_;  // of the two below
  std::vector<Watched> ranks_;
  Stall longest_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace plumbline::test
