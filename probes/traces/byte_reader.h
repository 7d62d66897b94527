// Bytes of a capture, in order, from a file that is never held in memory as a whole or from memory.
// Pieces are handed out as pointers into a buffer, so that a record costs no copy. Belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

class ByteReader {
 public:
  // Largest piece that take() and peek() give: a captured packet is smaller.
  static constexpr size_t kMaxPiece = size_t{1} << 20;

  // kConfig when the file cannot be opened or is a folder.
  static Expected<ByteReader> open(const std::string& path);
  // `bytes` must outlive the reader.
  static ByteReader over(std::string_view bytes);

  // The next `n` bytes, valid until the next call; nullptr when fewer are left.
  const uint8_t* take(size_t n);
  const uint8_t* peek(size_t n);
  // False when fewer than `n` bytes were left; all of them are gone then.
  bool skip(uint64_t n);
  // True when nothing is left.
  bool at_end() { return peek(1) == nullptr; }
  int read_errno() const { return errno_; }  // 0 = no read failed

 private:
  size_t left() const { return size_ - at_; }
  void fill(size_t n);

  Fd fd_;
  std::vector<uint8_t> buffer_;  // only for files
  const uint8_t* bytes_ = nullptr;
  size_t at_ = 0, size_ = 0;
  bool ended_ = false;
  int errno_ = 0;
};

}  // namespace plumbline
