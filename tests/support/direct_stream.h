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

// How the one end gets at the other's memory. Late reads and writes come later than they were asked
// for, and the last one first, as those of a network card may.
enum class DirectBy { kMap, kRead, kLateRead, kMapAndLateRead, kWrite, kLateWrite };

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
    return {by_ == DirectBy::kMap || by_ == DirectBy::kMapAndLateRead,
            by_ != DirectBy::kMap && !writes(), writes()};
  }
  bool writes() const { return by_ == DirectBy::kWrite || by_ == DirectBy::kLateWrite; }
  static MemoryKey key_to(const void* data, size_t bytes, MemoryReach reach) {
    const Address address{static_cast<const std::byte*>(data), bytes};
    MemoryKey key;
    key.reach = reach;
    key.size = sizeof address;
    std::memcpy(key.bytes.data(), &address, sizeof address);
    return key;
  }
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, MessageUse use) override {
    exposed.push_back(use);
    if (writes()) {
      MemoryKey none;
      none.reach = MemoryReach::kWrite;
      return none;
    }
    const bool map =
        by_ == DirectBy::kMapAndLateRead ? exposed.size() % 2 == 0 : by_ == DirectBy::kMap;
    return key_to(buffer.data(), buffer.size(), map ? MemoryReach::kMap : MemoryReach::kRead);
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
    std::memset(to.data(), 0xee, to.size());  // what is used before it is there is wrong
    return start(address->data + offset, to);
  }
  Expected<bool> read_done(uint64_t ticket) override { return done(ticket); }

  Expected<MemoryKey> grant(std::span<std::byte> window) override {
    std::memset(window.data(), 0xee, window.size());
    ++granted;
    return key_to(window.data(), window.size(), MemoryReach::kWrite);
  }
  Expected<uint64_t> start_write(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                 std::span<const std::byte> from) override {
    const Expected<Address> address = address_of(key, bytes);
    if (!address) return fail(address.error());
    if (from.empty() || offset + from.size() > bytes) {
      return fail(ErrorCode::kProtocol, "a write to what is not granted");
    }
    // The key names bytes that the other thread's own window() gave.
    return start(from.data(), {const_cast<std::byte*>(address->data) + offset, from.size()});
  }
  Expected<bool> write_done(uint64_t ticket) override { return done(ticket); }

  Expected<uint64_t> start(const std::byte* from, std::span<std::byte> to) {
    const bool late = by_ != DirectBy::kRead && by_ != DirectBy::kWrite;
    under_way.push_back({started_, from, to, late ? 4 - static_cast<int>(started_ % 4) : 0});
    return started_++;
  }
  Expected<bool> done(uint64_t ticket) {
    for (size_t i = 0; i < under_way.size(); ++i) {
      Transfer& one = under_way[i];
      if (one.ticket != ticket) continue;
      if (one.looks-- > 0) return false;
      std::memcpy(one.to.data(), one.from, one.to.size());
      under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(i));
      return true;
    }
    return fail(ErrorCode::kProtocol, "a ticket that nobody gave");
  }
  void end_transfers() override {
    under_way.clear();
    ++ended;
  }

  struct Transfer {
    uint64_t ticket;
    const std::byte* from;
    std::span<std::byte> to;
    int looks;  // so often it is not there yet
  };

 public:
  std::vector<Transfer> under_way;
  size_t granted = 0, ended = 0;    // windows; calls of end_transfers()
  std::vector<MessageUse> exposed;  // what was said of each message that was to be

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
