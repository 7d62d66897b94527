// Several slow questions at the same time, of which some may get no answer in time and cannot be
// interrupted: each is asked in a thread of its own, which may outlive whoever waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace plumbline {

template <typename Answer>
class Awaited {
 public:
  // From now on ask(0) to ask(count - 1); what `ask` holds is shared by the threads.
  Awaited(size_t count, std::function<Answer(size_t)> ask) : shared_(std::make_shared<Shared>()) {
    shared_->answers.resize(count);
    shared_->missing = count;
    for (size_t i = 0; i < count; ++i) {
      std::thread([shared = shared_, i, ask] {
        Answer answer = ask(i);
        const std::lock_guard<std::mutex> lock(shared->mutex);
        shared->answers[i] = std::move(answer);
        --shared->missing;
        shared->changed.notify_one();
      }).detach();
    }
  }

  // The answers, by number; those that are not there at the deadline are missing.
  std::vector<std::optional<Answer>> wait(Deadline deadline) const {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    const auto longest =
        std::chrono::nanoseconds(std::clamp<int64_t>(deadline.remaining_ns(), 0, 60 * kSecond));
    shared_->changed.wait_for(lock, longest, [this] { return shared_->missing == 0; });
    return shared_->answers;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Answer>> answers;
    size_t missing = 0;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace plumbline
