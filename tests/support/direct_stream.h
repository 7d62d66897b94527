// A stream between threads of one process whose ends reach each other's memory, by its address: for
// tests of messages that are taken where they lie. Arrays must outlive their operations.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/channel/byte_stream.h"

namespace plumbline {

class DirectStream : public ByteStream, private PeerMemory {
 public:
  explicit DirectStream(std::unique_ptr<ByteStream> inner) : inner_(std::move(inner)) {}

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return inner_->write_some(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return inner_->read_some(buffers);
  }
  std::span<const std::byte> readable() override { return inner_->readable(); }
  void consumed(size_t bytes) override { inner_->consumed(bytes); }
  void settle() override { inner_->settle(); }
  PeerMemory* peer_memory() override { return this; }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    return inner_->add_to(poll, reads, writes);
  }
  StreamStats stats() const override { return inner_->stats(); }
  void close() override { inner_->close(); }

 private:
  struct Address {
    const std::byte* data;
    size_t bytes;
  };
  static_assert(sizeof(Address) <= MemoryKey::kMostBytes);

  std::optional<MemoryKey> expose(std::span<const std::byte> buffer) override {
    const Address address{buffer.data(), buffer.size()};
    MemoryKey key;
    key.size = sizeof address;
    std::memcpy(key.bytes.data(), &address, sizeof address);
    return key;
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) override {
    Address address{};
    if (key.size == sizeof address) std::memcpy(&address, key.bytes.data(), sizeof address);
    if (address.bytes != bytes) return fail(ErrorCode::kProtocol, "a key that cannot be");
    return MappedBytes{{address.data, address.bytes}, nullptr};
  }

  const std::unique_ptr<ByteStream> inner_;
};

inline std::unique_ptr<ByteStream> make_direct(int /*self*/, int /*peer*/,
                                               std::unique_ptr<ByteStream> stream) {
  return std::make_unique<DirectStream>(std::move(stream));
}

}  // namespace plumbline
