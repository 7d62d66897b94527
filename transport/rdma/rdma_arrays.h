// Arrays that a device may read and write by itself: registered with it when they are first used
// so, and no longer when they are freed, before their memory goes. Other memory is never
// registered for good: it may be freed and come back as something else behind the device's back.
// Thread-safe, but a port's own thread uses its regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/peer_memory.h"
#include "transport/rdma/rdma_port.h"

namespace plumbline {

struct RdmaKeys {
  uint32_t local = 0, remote = 0;
};

class RdmaArrays : public ArrayPool {
 public:
  // Where the memory itself comes from; null = this process's own. Before any array is made.
  void stand_on(std::shared_ptr<ArrayPool> below) { below_ = std::move(below); }

  Expected<Array> allocate(size_t bytes) override;
  // Of the array in which all these bytes lie; nothing = they lie in none, or the device takes no
  // more regions.
  std::optional<RdmaKeys> keys_of(const std::shared_ptr<RdmaPort>& port,
                                  std::span<const std::byte> bytes);

 private:
  class Registered;

  std::shared_ptr<ArrayPool> below_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Registered>> arrays_;
};

}  // namespace plumbline
