#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/file.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {
namespace {

// Nobody may take pages away while the other end uses them.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Expected<Fd> new_memory() {
  Fd fd(::memfd_create("plumbline", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.valid()) return fd;
  return fail_errno(ErrorCode::kSystem, "memfd_create", errno, resource_hint(errno));
}

std::string link_of(const char* path) {
  char text[128];
  const ssize_t length = ::readlink(path, text, sizeof text);
  return length < 0 ? std::string("?") : std::string(text, static_cast<size_t>(length));
}

}  // namespace

Expected<SharedMemory> SharedMemory::map(SharedMemoryName name, Fd fd, size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
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
  Expected<Fd> fd = new_memory();
  if (!fd) return fail(fd.error());
  if (::fallocate(fd->get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    return fail_errno(ErrorCode::kSystem, fmt::format("get {} bytes of shared memory", bytes),
                      errno, resource_hint(errno));
  }
  if (::fcntl(fd->get(), F_ADD_SEALS, kSeals) != 0) {
    return fail_errno(ErrorCode::kSystem, "seal shared memory", errno, "");
  }
  const SharedMemoryName name{static_cast<uint64_t>(::getpid()), static_cast<uint64_t>(fd->get())};
  return map(name, std::move(*fd), bytes);
}

Expected<SharedMemory> SharedMemory::open(const SharedMemoryName& name, size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.a, name.b);
  // Nothing but a memory file is opened: asking first, the open of a pipe or a device would do
  // something.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return fail_errno(ErrorCode::kSystem, "look at the memory of process " + std::to_string(name.a),
                      errno, "");
  }
  const tl::unexpected<Error> other_thing =
      fail(ErrorCode::kProtocol,
           fmt::format("descriptor {} of process {} is no shared memory of {} bytes", name.b,
                       name.a, bytes));
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) != bytes) return other_thing;
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(ErrorCode::kSystem, "open the memory of process " + std::to_string(name.a),
                      errno, "");
  }
  // Files have no seals; the size is looked at again, now that it can no longer change.
  if (::fcntl(fd.get(), F_GET_SEALS) != kSeals || ::fstat(fd.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) != bytes) {
    return other_thing;
  }
  return map(name, std::move(fd), bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(other.name_),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      fd_(std::move(other.fd_)) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

// The mapping holds the memory; the descriptor is its name.
void SharedMemory::drop_name() { fd_.reset(); }

std::string shared_memory_unavailable() {
  const Expected<Fd> fd = new_memory();
  return fd ? std::string() : fd.error().message();
}

std::string shared_memory_realm() {
  const Expected<std::string> boot = read_input_file("/proc/sys/kernel/random/boot_id", 64);
  return fmt::format("{} {} {}", boot ? *boot : "?", link_of("/proc/self/ns/pid"),
                     link_of("/proc/self/ns/net"));
}

}  // namespace plumbline
