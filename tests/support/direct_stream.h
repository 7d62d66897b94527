// A stream between threads of one process whose ends reach each other's memory, by its address: for
// tests of messages that are taken from the sender's memory, with each ability that a transport may
// have for it. Arrays must outlive their operations.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/channel/byte_stream.h"

namespace plumbline {

// How the one end gets at the other's memory. Late reads come later than they were asked for, and
// the last one first, as those of a network card may.
enum class DirectBy { kMap, kRead, kLateRead, kMapAndLateRead };

class DirectStream : public ByteStream, private PeerMemory {
 public:
  explicit DirectStream(std::unique_ptr<ByteStream> inner, DirectBy by = DirectBy::kMap)
      : inner_(std::move(inner)), by_(by) {}

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

  PeerAbilities abilities() const override {
    return {by_ == DirectBy::kMap || by_ == DirectBy::kMapAndLateRead, by_ != DirectBy::kMap};
  }
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, bool all_copy) override {
    exposed_to_copy.push_back(all_copy);
    const Address address{buffer.data(), buffer.size()};
    MemoryKey key;
    const bool map =
        by_ == DirectBy::kMapAndLateRead ? exposed_to_copy.size() % 2 == 0 : by_ == DirectBy::kMap;
    key.reach = map ? MemoryReach::kMap : MemoryReach::kRead;
    key.size = sizeof address;
    std::memcpy(key.bytes.data(), &address, sizeof address);
    return key;
  }
  static Expected<Address> address_of(const MemoryKey& key, uint64_t bytes) {
    Address address{};
    if (key.size == sizeof address) std::memcpy(&address, key.bytes.data(), sizeof address);
    if (address.bytes != bytes) return fail(ErrorCode::kProtocol, "a key that cannot be");
    return address;
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) override {
    const Expected<Address> address = address_of(key, bytes);
    if (!address) return fail(address.error());
    return MappedBytes{{address->data, address->bytes}, nullptr};
  }
  Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                std::span<std::byte> to) override {
    const Expected<Address> address = address_of(key, bytes);
    if (!address) return fail(address.error());
    if (to.empty() || offset + to.size() > bytes) {
      return fail(ErrorCode::kProtocol, "a read of what is not offered");
    }
    const int looks = by_ == DirectBy::kRead ? 0 : 4 - static_cast<int>(started_ % 4);
    std::memset(to.data(), 0xee, to.size());  // what is used before it is there is wrong
    under_way.push_back({started_, address->data + offset, to, looks});
    return started_++;
  }
  Expected<bool> read_done(uint64_t ticket) override {
    for (size_t i = 0; i < under_way.size(); ++i) {
      Read& read = under_way[i];
      if (read.ticket != ticket) continue;
      if (read.looks-- > 0) return false;
      std::memcpy(read.to.data(), read.from, read.to.size());
      under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(i));
      return true;
    }
    return fail(ErrorCode::kProtocol, "a ticket that nobody gave");
  }
  void end_reads() override { under_way.clear(); }

  struct Read {
    uint64_t ticket;
    const std::byte* from;
    std::span<std::byte> to;
    int looks;  // so often it is not there yet
  };

 public:
  std::vector<Read> under_way;
  std::vector<bool> exposed_to_copy;  // what was said of each message that was to be exposed

 private:
  const std::unique_ptr<ByteStream> inner_;
  const DirectBy by_;
  uint64_t started_ = 0;
};

template <DirectBy By = DirectBy::kMap>
std::unique_ptr<ByteStream> make_direct(int /*self*/, int /*peer*/,
                                        std::unique_ptr<ByteStream> stream) {
  return std::make_unique<DirectStream>(std::move(stream), By);
}

}  // namespace plumbline
