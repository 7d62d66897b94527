#include "transport/rdma/rdma_arrays.h"

#include <algorithm>
#include <utility>

namespace plumbline {

// One array, and its regions by device.
class RdmaArrays::Registered {
 public:
  explicit Registered(Array array) : array_(std::move(array)) {}
  ~Registered() {
    for (const Region& one : regions_) {
      if (one.region != nullptr) one.port->verbs().dereg_mr(one.region);
    }
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  bool holds(std::span<const std::byte> bytes) const {
    const std::byte* const end = array_.data + array_.bytes;
    return bytes.data() >= array_.data && bytes.data() < end &&
           bytes.size() <= static_cast<size_t>(end - bytes.data());
  }
  std::optional<RdmaKeys> keys(const std::shared_ptr<RdmaPort>& port) {
    const auto known = std::find_if(regions_.begin(), regions_.end(),
                                    [&](const Region& one) { return one.port == port; });
    if (known != regions_.end()) return keys_in(known->region);
    // Null is kept too: what was refused once is not asked for again.
    VerbsRegion* const region =
        port->verbs().reg_mr(port->domain(), array_.data, array_.bytes, kLocalWrite | kRemoteRead);
    regions_.push_back({port, region});
    return keys_in(region);
  }

 private:
  static std::optional<RdmaKeys> keys_in(const VerbsRegion* region) {
    if (region == nullptr) return std::nullopt;
    return RdmaKeys{region->local_key, region->remote_key};
  }

  struct Region {
    std::shared_ptr<RdmaPort> port;
    VerbsRegion* region;
  };
  const Array array_;  // freed after its regions
  std::vector<Region> regions_;
};

Expected<Array> RdmaArrays::allocate(size_t bytes) {
  Expected<Array> made = below_ ? below_->allocate(bytes) : allocate_array(bytes);
  if (!made) return made;
  Array array{made->data, made->bytes, nullptr};
  auto registered = std::make_shared<Registered>(std::move(*made));
  array.owner = registered;
  const std::lock_guard lock(mutex_);
  std::erase_if(arrays_, [](const auto& one) { return one.expired(); });
  arrays_.push_back(registered);
  return array;
}

std::optional<RdmaKeys> RdmaArrays::keys_of(const std::shared_ptr<RdmaPort>& port,
                                            std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Registered>& one : arrays_) {
    const std::shared_ptr<Registered> array = one.lock();
    if (array && array->holds(bytes)) return array->keys(port);
  }
  return std::nullopt;
}

}  // namespace plumbline
