// A caller for tests: it keeps what it hears, and can want an end.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runs/caller.h"

namespace plumbline {

class Listener : public Caller {
 public:
  void say(const std::string& line) override {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(line);
  }
  void progress(const RunProgress& state) override {
    const std::scoped_lock lock(mutex_);
    finished_ += state.last != nullptr ? 1 : 0;
    overs_ += state.over ? 1 : 0;
    if (state.ranks != nullptr) seats_.push_back(*state.ranks);
    if (state.last != nullptr) records_.push_back(*state.last);
    if (state.last != nullptr && after_each) after_each();
  }
  Wish ask() override { return wish.load(); }

  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  bool heard(const std::string& part) {
    const std::vector<std::string> all = lines();
    return std::any_of(all.begin(), all.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }
  int finished() {
    const std::scoped_lock lock(mutex_);
    return finished_;
  }
  int overs() {
    const std::scoped_lock lock(mutex_);
    return overs_;
  }

  // Every record that was told, and the ranks each time that they were.
  std::vector<Record> records() {
    const std::scoped_lock lock(mutex_);
    return records_;
  }
  std::vector<std::vector<RankSeat>> seats() {
    const std::scoped_lock lock(mutex_);
    return seats_;
  }

  std::atomic<Wish> wish{Wish::kGoOn};
  std::function<void()> after_each;  // cell

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<Record> records_;
  std::vector<std::vector<RankSeat>> seats_;
  int finished_ = 0, overs_ = 0;
};

}  // namespace plumbline
