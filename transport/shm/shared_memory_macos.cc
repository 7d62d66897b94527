#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/encode.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {
namespace {

// At most 31 characters (PSHMNAMLEN).
std::string path_of(const SharedMemoryName& name) {
  return fmt::format("/pl{:012x}{:012x}", name.a & 0xffffffffffffu, name.b & 0xffffffffffffu);
}

SharedMemoryName fresh_name() {
  const Digest random = random_token();
  SharedMemoryName name;
  std::memcpy(&name.a, random.data(), sizeof name.a);
  std::memcpy(&name.b, random.data() + sizeof name.a, sizeof name.b);
  return name;
}

}  // namespace

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
  const SharedMemoryName name = fresh_name();
  Fd fd(::shm_open(path_of(name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  if (!fd.valid()) return fail_errno(ErrorCode::kSystem, "shm_open", errno, resource_hint(errno));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    const int err = errno;
    ::shm_unlink(path_of(name).c_str());
    return fail_errno(ErrorCode::kSystem, fmt::format("get {} bytes of shared memory", bytes), err,
                      resource_hint(err));
  }
  return map(name, std::move(fd), bytes, Access::kWrite);
}

Expected<SharedMemory> SharedMemory::open(const SharedMemoryName& name, size_t bytes,
                                          Access access) {
  Fd fd(::shm_open(path_of(name).c_str(), access == Access::kRead ? O_RDONLY : O_RDWR, 0));
  if (!fd.valid()) return fail_errno(ErrorCode::kSystem, "shm_open", errno, "");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) < bytes) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{} is no shared memory of {} bytes", path_of(name), bytes));
  }
  Expected<SharedMemory> memory = map(name, std::move(fd), bytes, access);
  if (memory) memory->fd_.reset();  // the name is the maker's to drop
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(other.name_),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      fd_(std::move(other.fd_)) {}

SharedMemory::~SharedMemory() {
  drop_name();
  if (data_ != nullptr) ::munmap(data_, size_);
}

void SharedMemory::drop_name() {
  if (!fd_.valid()) return;
  ::shm_unlink(path_of(name_).c_str());
  fd_.reset();
}

// Its memory has no locks.
void SharedMemory::mark(uint32_t) {}
std::optional<int64_t> SharedMemory::marked_by(uint32_t) const { return std::nullopt; }

void SharedMemory::give_pages_back() {}  // they go with the last mapping

// shm_open's stay until somebody unlinks them.
bool SharedMemory::names_end_with_process() { return false; }

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
