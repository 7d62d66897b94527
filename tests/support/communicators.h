// Communicators whose ranks are threads of the test: how they meet, over every way that the library
// has, and what runs on each.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plumbline/communicator.h"

namespace plumbline {

inline constexpr std::chrono::seconds kPatience{20};

// The exchange of ranks that are threads here.
class Notice {
 public:
  explicit Notice(int size) : all_(static_cast<size_t>(size)) {}

  ErrorOr<std::vector<std::string>> exchange(int rank, const std::string& mine) {
    std::unique_lock lock(mutex_);
    all_[static_cast<size_t>(rank)] = mine;
    ++there_;
    changed_.notify_all();
    const auto complete = [this] { return there_ == all_.size(); };
    if (changed_.wait_for(lock, kPatience, complete)) return all_;
    return Error{ErrorCode::kTimeout, "not all ranks have left a notice", 0, {}, {}};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
  size_t there_ = 0;
};

using Outcomes = std::vector<std::optional<ErrorOr<Communicator>>>;

// What connect() gave each rank; `change` sets the options of one.
inline Outcomes connect_all(
    int size, const std::function<void(int, Options&)>& change = [](int, Options&) {}) {
  Notice notice(size);
  Outcomes outcomes(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Options options;
      change(rank, options);
      outcomes[static_cast<size_t>(rank)].emplace(Communicator::connect(
          rank, size, [&](const std::string& mine) { return notice.exchange(rank, mine); },
          options));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

inline std::vector<Communicator> connected(Outcomes outcomes) {
  std::vector<Communicator> ranks;
  for (auto& outcome : outcomes) {
    EXPECT_TRUE(*outcome) << (*outcome ? "" : outcome->error().message());
    if (*outcome) ranks.push_back(std::move(**outcome));
  }
  return ranks;
}

inline std::vector<Communicator> in_memory(int size, const Options& options) {
  ErrorOr<std::vector<Communicator>> ranks = local_ranks(size, options);
  EXPECT_TRUE(ranks) << ranks.error().message();
  return std::move(*ranks);
}
inline std::vector<Communicator> in_memory(int size) { return in_memory(size, {}); }

// Ranks over one way of the library: "memory", or a transport.
inline std::vector<Communicator> ranks_over(const std::string& way, int size,
                                            const Options& options = {}) {
  if (way == "memory") return in_memory(size, options);
  return connected(connect_all(size, [&](int, Options& mine) {
    mine = options;
    mine.settings["transport"] = way;
  }));
}
inline constexpr const char* kAllWays[] = {"memory", "tcp", "shm"};

inline void in_threads(std::vector<Communicator>& ranks,
                       const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator& rank : ranks) threads.emplace_back([&] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

inline void expect_done(const Done& done) {
  EXPECT_TRUE(done) << (done ? "" : done.error().message());
}

}  // namespace plumbline
