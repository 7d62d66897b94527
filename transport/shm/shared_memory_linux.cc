#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/file.h"
#include "core/host/memory_left.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {
namespace {

// Nobody may take pages away while the other end uses them.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Where the system says no to more memory it does so with a signal: it ends a process of a control
// group that is full or of a machine that is, and one that passes the limit of its files. So what
// is known is looked at first. (Others may take memory meanwhile; nothing tells that in time.)
Status check_room(size_t bytes) {
  // What goes with the pages: the tables that map them, and what the system takes ahead.
  const uint64_t needed = bytes + bytes / 64 + (uint64_t{1} << 20);
  const uint64_t left = memory_left();
  const std::string what = fmt::format("get {} bytes of shared memory", bytes);
  if (left != 0 && left < needed) {
    return fail_errno(ErrorCode::kSystem,
                      fmt::format("{}, where {} are left to this process", what, left), ENOMEM,
                      "free memory, raise the limit of the control group, start fewer ranks, or "
                      "use --transport tcp");
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < bytes) {
    return fail_errno(ErrorCode::kSystem, what, EFBIG,
                      fmt::format("the limit of files is {} bytes here: raise it (ulimit -f), or "
                                  "use --transport tcp",
                                  static_cast<unsigned long long>(files.rlim_cur)));
  }
  return {};
}

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

// Files have no seals; with them the size can no longer change.
bool is_sealed_memory(int fd, size_t bytes) {
  struct stat info {};
  return ::fcntl(fd, F_GET_SEALS) == kSeals && ::fstat(fd, &info) == 0 &&
         static_cast<uint64_t>(info.st_size) == bytes;
}

}  // namespace

MemoryWay memory_way() { return MemoryWay::kNamed; }

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
  if (const Status room = check_room(bytes); !room) return fail(room.error());
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
  return map(name, std::move(*fd), bytes, Access::kWrite);
}

Expected<SharedMemory> SharedMemory::open(const SharedMemoryName& name, size_t bytes,
                                          Access access) {
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
  const int mode = access == Access::kRead ? O_RDONLY : O_RDWR;
  Fd fd(::open(path.c_str(), mode | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(ErrorCode::kSystem, "open the memory of process " + std::to_string(name.a),
                      errno, "");
  }
  // Looked at again, now that it cannot become something else.
  if (!is_sealed_memory(fd.get(), bytes)) return other_thing;
  return map(name, std::move(fd), bytes, access);
}

Expected<SharedMemory> SharedMemory::adopt(Fd fd, size_t bytes, Access access) {
  if (!is_sealed_memory(fd.get(), bytes)) {
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

// The mapping holds the memory; the descriptor is its name.
void SharedMemory::drop_name() { fd_.reset(); }

// A lock of one byte (fcntl(2)): the system says which process holds it, and to that one nothing.
// What fails leaves no mark.
void SharedMemory::mark(uint32_t place) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  static_cast<void>(::fcntl(fd_.get(), F_SETLK, &lock));
}

std::optional<int64_t> SharedMemory::marked_by(uint32_t place) const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  if (::fcntl(fd_.get(), F_GETLK, &lock) != 0) return std::nullopt;
  if (lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
  return lock.l_pid;
}

void SharedMemory::give_pages_back() {
  // What fails leaves the pages until the last mapping ends.
  static_cast<void>(::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                static_cast<off_t>(size_)));
}

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
