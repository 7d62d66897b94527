// Memory that two processes of one user on one machine share. One makes it, the other opens it by
// two numbers that the first one tells it, or is handed its descriptor; when both have ended,
// however they ended, nothing of it is left. Linux: memfd_create(2), opened through proc(5), all of
// it granted when it is made, so that a full machine is an error then and no signal later. macOS:
// shm_open(2), whose names would stay when a process is killed: so the name goes at once, and the
// memory is handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// How another process comes by it.
enum class MemoryWay : uint8_t {
  kNamed,   // SharedMemory::open
  kHanded,  // SharedMemory::adopt, of a descriptor that came over a Handover (handover.h)
};
// That of this system. Both work on Linux, where the tests ask for the other one too.
MemoryWay memory_way();

// What another process needs in order to open it; means something on this machine only.
struct SharedMemoryName {
  uint64_t a = 0, b = 0;  // Linux: process and descriptor; macOS has none: zeros

  bool operator==(const SharedMemoryName&) const = default;
};

class SharedMemory {
 public:
  // More is refused: a system without that much would end processes before it says no.
  static constexpr size_t kMostBytes = size_t{4} << 30;
  enum class Access : uint8_t { kRead, kWrite };  // with kRead, data() may only be read
  static Expected<SharedMemory> create(size_t bytes);
  // kPermission and others with the system's words; kProtocol when what is there under that name is
  // no memory of ours or has another size. Opens nothing else, whatever the numbers are.
  static Expected<SharedMemory> open(const SharedMemoryName& name, size_t bytes,
                                     Access access = Access::kWrite);
  // The memory of this descriptor, which came from another process; errors as of open().
  static Expected<SharedMemory> adopt(Fd fd, size_t bytes, Access access);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  const SharedMemoryName& name() const { return name_; }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // To hand over; none after drop_name().
  int descriptor() const { return fd_.get(); }
  // The other one has it: from now on nobody opens it by its name, and it is not handed over.
  void drop_name();
  // Whoever maps it sees zeros from now on, and the system has its pages back. Where it cannot be
  // done (macOS) they stay until nobody maps it any more.
  void give_pages_back();
  // Who else has this memory, by the system's own word: each process marks a place that is its own
  // (and keeps the mark until it drops the name or ends), others ask who did. None = nobody, this
  // process itself, or the system does not tell.
  void mark(uint32_t place);
  std::optional<int64_t> marked_by(uint32_t place) const;

 private:
  SharedMemory(SharedMemoryName name, std::byte* data, size_t size, Fd fd)
      : name_(name), data_(data), size_(size), fd_(std::move(fd)) {}
  static Expected<SharedMemory> map(SharedMemoryName name, Fd fd, size_t bytes, Access access);

  SharedMemoryName name_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  Fd fd_;  // behind the name, and to hand over; empty where there is none (any more)
};

// Whether processes of this machine can share memory at all: empty, or the reason.
std::string shared_memory_unavailable();

// Tells apart what cannot share memory, or shall keep its links: machines, their boots, and, on
// Linux, namespaces of processes and of networks.
std::string shared_memory_realm();

}  // namespace plumbline
