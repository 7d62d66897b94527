// What this process uses of its processors, and what of that went beside the operations that are
// measured. One thread.
#pragma once

#include <cstdint>

namespace plumbline {

struct Usage {
  int64_t cpu_ns = 0;                     // user and system time
  int64_t switches = 0, involuntary = 0;  // of the context; the latter are among the former

  Usage& operator+=(const Usage& other);
};
Usage operator-(Usage from, const Usage& what);

// Since the process began.
Usage usage_now();

// Adds to `sum` what the process uses while this lives.
class UsageAside {
 public:
  explicit UsageAside(Usage& sum) : sum_(sum), begin_(usage_now()) {}
  ~UsageAside() { sum_ += usage_now() - begin_; }
  UsageAside(const UsageAside&) = delete;
  UsageAside& operator=(const UsageAside&) = delete;

 private:
  Usage& sum_;
  Usage begin_;
};

}  // namespace plumbline
