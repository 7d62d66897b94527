#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "core/encode.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {
namespace {

// Memory whose name is gone when this returns: a process that is killed between the two calls
// leaves an empty name, and at no other time any. Names have at most 31 characters (PSHMNAMLEN).
Fd new_memory() {
  const Digest random = random_token();
  const std::string name = "/pl" + to_hex(std::span(random).first(12));
  Fd fd(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  if (fd.valid()) ::shm_unlink(name.c_str());
  return fd;
}

// Whether the size of this can no longer change, as far as the system tells: it can be set once for
// memory (shm_open(2), ftruncate(2)) and always for files. Memory has no place to read from
// (lseek(2)), which files have; nor have pipes and sockets.
bool is_memory(int fd, const struct stat& info) {
  return ::lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE && !S_ISFIFO(info.st_mode) &&
         !S_ISSOCK(info.st_mode);
}

}  // namespace

MemoryWay memory_way() { return MemoryWay::kHanded; }

Expected<SharedMemory> SharedMemory::map(SharedMemoryName name, Fd fd, size_t bytes,
                                         Access access) {
  const int rights = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data = ::mmap(nullptr, bytes, rights, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    return fail_errno(ErrorCode::kSystem, fmt::format("map {} bytes of shared memory", bytes),
                      errno, resource_hint(errno));
  }
  return SharedMemory(name, static_cast<std::byte*>(data), bytes, std::move(fd));
}

Expected<SharedMemory> SharedMemory::create(size_t bytes) {
  if (bytes > kMostBytes) {
    return fail(ErrorCode::kConfig, fmt::format("{} bytes of shared memory were asked for", bytes),
                fmt::format("ask for at most {}", kMostBytes));
  }
  Fd fd = new_memory();
  if (!fd.valid()) return fail_errno(ErrorCode::kSystem, "shm_open", errno, resource_hint(errno));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return fail_errno(ErrorCode::kSystem, fmt::format("get {} bytes of shared memory", bytes),
                      errno, resource_hint(errno));
  }
  return map({}, std::move(fd), bytes, Access::kWrite);
}

Expected<SharedMemory> SharedMemory::open(const SharedMemoryName&, size_t, Access) {
  return fail(ErrorCode::kUnsupported, "memory has no names on macOS");
}

Expected<SharedMemory> SharedMemory::adopt(Fd fd, size_t bytes, Access access) {
  struct stat info {};
  // The system may say the size of its whole pages.
  if (::fstat(fd.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) < bytes ||
      !is_memory(fd.get(), info)) {
    return fail(ErrorCode::kProtocol,
                fmt::format("what was handed over is no shared memory of {} bytes", bytes));
  }
  return map({}, std::move(fd), bytes, access);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(other.name_),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      fd_(std::move(other.fd_)) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

// The mapping holds the memory.
void SharedMemory::drop_name() { fd_.reset(); }

// Its memory has no locks.
void SharedMemory::mark(uint32_t) {}
std::optional<int64_t> SharedMemory::marked_by(uint32_t) const { return std::nullopt; }

void SharedMemory::give_pages_back() {}  // they go with the last mapping

std::string shared_memory_unavailable() {
  const Expected<SharedMemory> memory = SharedMemory::create(16 * 1024);
  return memory ? std::string() : memory.error().message();
}

std::string shared_memory_realm() {
  std::array<char, 64> boot{};
  size_t size = boot.size() - 1;
  if (::sysctlbyname("kern.bootsessionuuid", boot.data(), &size, nullptr, 0) != 0) return "?";
  return boot.data();
}

}  // namespace plumbline
