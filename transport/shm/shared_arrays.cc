#include "transport/shm/shared_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "core/encode.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

// A region is at least so large; small arrays share one.
constexpr size_t kRegionBytes = size_t{4} << 20;

// In front of a region's arrays.
struct RegionHead {
  std::atomic<uint64_t> id;  // random; 0 = the region is given up
};
static_assert(sizeof(RegionHead) <= kArrayAlignment);

size_t page_up(size_t bytes) {
  return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}

uint64_t random_id() {
  const Digest random = random_token();
  uint64_t id = 0;
  std::memcpy(&id, random.data(), sizeof id);
  return std::max<uint64_t>(id, 1);
}

const RegionHead& head_of(const SharedMemory& memory) {
  return *reinterpret_cast<const RegionHead*>(memory.data());
}

struct RegionKey {
  SharedMemoryName name;
  uint64_t region_bytes = 0, id = 0, offset = 0;
};

MemoryKey encode_key(const RegionKey& key) {
  WireWriter out;
  out.u64(key.name.a);
  out.u64(key.name.b);
  out.u64(key.region_bytes);
  out.u64(key.id);
  out.u64(key.offset);
  MemoryKey bytes;
  bytes.size = out.view().size();
  std::copy(out.view().begin(), out.view().end(), bytes.bytes.begin());
  return bytes;
}

std::optional<RegionKey> decode_key(const MemoryKey& bytes, uint64_t length) {
  WireReader in(bytes.view());
  RegionKey key;
  key.name.a = in.u64();
  key.name.b = in.u64();
  key.region_bytes = in.u64();
  key.id = in.u64();
  key.offset = in.u64();
  const bool sane = key.id != 0 && key.region_bytes <= SharedMemory::kMostBytes &&
                    key.offset >= kArrayAlignment && key.offset <= key.region_bytes &&
                    length <= key.region_bytes - key.offset;
  if (!in.complete() || !sane) return std::nullopt;
  return key;
}

tl::unexpected<Error> impossible(const char* what) {
  return fail(ErrorCode::kProtocol, what, "do all ranks run the same version of plumbline?");
}

tl::unexpected<Error> stale() {
  return fail(ErrorCode::kProtocol, "the memory that a message lies in is no longer there",
              "the other rank gave the operation up, or runs another version of plumbline");
}

}  // namespace

class SharedRegion {
 public:
  SharedRegion(SharedMemory memory, MemoryWay way)
      : memory_(std::move(memory)),
        id_(random_id()),
        name_(way == MemoryWay::kNamed ? memory_.name() : SharedMemoryName()) {
    (new (memory_.data()) RegionHead)->id.store(id_, std::memory_order_release);
  }
  ~SharedRegion() {
    std::launder(reinterpret_cast<RegionHead*>(memory_.data()))
        ->id.store(0, std::memory_order_release);
    memory_.give_pages_back();
  }
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  uint64_t id() const { return id_; }
  const SharedMemory& memory() const { return memory_; }
  // The next `bytes` of it; null = there is no room.
  std::byte* cut(size_t bytes) {
    if (bytes > memory_.size() - used_) return nullptr;
    std::byte* const at = memory_.data() + used_;
    used_ += page_up(bytes);
    return at;
  }
  std::optional<MemoryKey> key_of(std::span<const std::byte> buffer) const {
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    const auto at = reinterpret_cast<uintptr_t>(buffer.data());
    if (at < begin || at - begin > memory_.size() ||
        buffer.size() > memory_.size() - (at - begin)) {
      return std::nullopt;
    }
    return encode_key({name_, memory_.size(), id_, at - begin});
  }

 private:
  SharedMemory memory_;
  const uint64_t id_;
  const SharedMemoryName name_;  // to be told; zeros = it is handed over
  size_t used_ = kArrayAlignment;
};

Expected<Array> SharedArrays::allocate(size_t bytes) {
  if (bytes < least_bytes_ || bytes > SharedMemory::kMostBytes - 2 * kArrayAlignment) {
    return allocate_array(bytes);
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(regions_, [](const auto& region) { return region.expired(); });
  std::shared_ptr<SharedRegion> region;
  std::byte* data = nullptr;
  if (!regions_.empty()) region = regions_.back().lock();
  if (region) data = region->cut(bytes);
  if (data == nullptr) {
    if (way_ == MemoryWay::kHanded && regions_.size() >= kMostHandedRegions) {
      return allocate_array(bytes);
    }
    // Where shared memory has run out, messages go through the rings.
    Expected<SharedMemory> memory =
        SharedMemory::create(std::max(kRegionBytes, kArrayAlignment + page_up(bytes)));
    if (!memory) return allocate_array(bytes);
    region = std::make_shared<SharedRegion>(std::move(*memory), way_);
    data = region->cut(bytes);
    regions_.push_back(region);
  }
  return Array{data, bytes, std::move(region)};
}

std::optional<SharedArrays::Found> SharedArrays::find(std::span<const std::byte> buffer) {
  const std::scoped_lock lock(mutex_);
  for (const std::weak_ptr<SharedRegion>& entry : regions_) {
    std::shared_ptr<SharedRegion> region = entry.lock();
    if (!region) continue;
    if (std::optional<MemoryKey> key = region->key_of(buffer))
      return Found{std::move(region), *key};
  }
  return std::nullopt;
}

std::optional<MemoryKey> SharedArrays::key_of(std::span<const std::byte> buffer) {
  const std::optional<Found> found = find(buffer);
  if (!found) return std::nullopt;
  return found->key;
}

std::optional<MemoryKey> SharedArrays::key_of(std::span<const std::byte> buffer,
                                              HandedRegions& handed, Handover& over) {
  const std::optional<Found> found = find(buffer);
  if (!found || !handed.hand(found->region, over)) return std::nullopt;
  return found->key;
}

bool HandedRegions::hand(const std::shared_ptr<const SharedRegion>& region, Handover& over) {
  const uint64_t id = region->id();
  const bool has =
      std::any_of(handed_.begin(), handed_.end(), [id](const Handed& one) { return one.id == id; });
  if (has) return true;
  const SharedMemory& memory = region->memory();
  if (!over.send(id, memory.size(), memory.descriptor())) return false;
  std::erase_if(handed_, [](const Handed& one) { return one.region.expired(); });
  handed_.push_back({id, region});
  return true;
}

void PeerRegions::forget_given_up() {
  std::erase_if(mapped_, [](const Mapped& one) {
    return head_of(*one.memory).id.load(std::memory_order_acquire) != one.id;
  });
}

Status PeerRegions::open_named(const SharedMemoryName& name, uint64_t id, uint64_t bytes) {
  Expected<SharedMemory> memory = SharedMemory::open(name, bytes, SharedMemory::Access::kRead);
  if (!memory) return fail(memory.error());
  memory->drop_name();
  mapped_.push_back({name, id, std::make_shared<SharedMemory>(std::move(*memory))});
  return {};
}

// The peer has handed it over before it wrote its key to the stream, so it is here, behind others
// of which the keys have not been asked about yet.
Status PeerRegions::take_handed(uint64_t id, Handover& over) {
  while (true) {
    Expected<std::optional<HandedMemory>> next = over.receive();
    if (!next) return fail(next.error());
    if (!*next) return impossible("a message lies in memory that was not handed over");
    HandedMemory& handed = **next;
    const bool again = std::any_of(mapped_.begin(), mapped_.end(),
                                   [&](const Mapped& one) { return one.id == handed.id; });
    if (again || handed.id == 0 || handed.bytes < kArrayAlignment ||
        handed.bytes > SharedMemory::kMostBytes) {
      return impossible("memory is handed over in a way that cannot be");
    }
    if (mapped_.size() >= kMostHanded) forget_given_up();
    if (mapped_.size() >= kMostHanded) return impossible("too much memory is handed over");
    Expected<SharedMemory> memory =
        SharedMemory::adopt(std::move(handed.memory), handed.bytes, SharedMemory::Access::kRead);
    if (!memory) return fail(memory.error());
    memory->drop_name();
    mapped_.push_back({{}, handed.id, std::make_shared<SharedMemory>(std::move(*memory))});
    if (handed.id == id) return {};
  }
}

Expected<MappedBytes> PeerRegions::map(const MemoryKey& bytes, uint64_t length, Handover* over) {
  const std::optional<RegionKey> key = decode_key(bytes, length);
  if (!key) return impossible("a message is offered by a key that cannot be");
  const auto same = [&](const Mapped& one) { return one.id == key->id && one.name == key->name; };
  auto found = std::find_if(mapped_.begin(), mapped_.end(), same);
  if (found == mapped_.end()) {
    forget_given_up();
    const Status came = over != nullptr ? take_handed(key->id, *over)
                                        : open_named(key->name, key->id, key->region_bytes);
    if (!came) return fail(came.error());
    found = mapped_.end() - 1;
  }
  if (found->name != key->name || found->memory->size() != key->region_bytes) {
    return impossible("a message is offered by a key that cannot be");
  }
  if (head_of(*found->memory).id.load(std::memory_order_acquire) != key->id) {
    mapped_.erase(found);
    return stale();
  }
  return MappedBytes{{found->memory->data() + key->offset, length}, found->memory};
}

}  // namespace plumbline
