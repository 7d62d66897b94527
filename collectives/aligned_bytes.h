// Memory of an operation's own: bytes aligned for SIMD and cache lines, not initialised. Internal
// to collectives/; thread-safe as plain memory is.
#pragma once

#include <cstddef>
#include <memory>

namespace plumbline {

class AlignedBytes {
 public:
  explicit AlignedBytes(size_t bytes);
  std::byte* get() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Delete> data_;
};

}  // namespace plumbline
