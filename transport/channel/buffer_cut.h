// A part of a list of buffers, as a list of its own, without copying what is in them: for streams
// that pass on less than they were given.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plumbline {

class BufferCut {
 public:
  // At most `bytes` of the buffers' bytes, after the first `skip`; fewer where that is more than 32
  // buffers.
  BufferCut(std::span<const iovec> buffers, uint64_t skip, uint64_t bytes) {
    for (const iovec& buffer : buffers) {
      if (bytes == 0 || count_ == cut_.size()) break;
      const auto skipped = static_cast<size_t>(std::min<uint64_t>(buffer.iov_len, skip));
      skip -= skipped;
      const auto take = static_cast<size_t>(std::min<uint64_t>(buffer.iov_len - skipped, bytes));
      if (take == 0) continue;
      cut_[count_++] = {static_cast<std::byte*>(buffer.iov_base) + skipped, take};
      bytes_ += take;
      bytes -= take;
    }
  }
  std::span<const iovec> span() const { return {cut_.data(), count_}; }
  size_t bytes() const { return bytes_; }

 private:
  std::array<iovec, 32> cut_;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace plumbline
