// Shared memory where there is not enough: an error before anything is used, never a signal,
// neither when it is made nor when it is written.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "core/file.h"
#include "core/host/host_parse.h"
#include "core/host/memory_left.h"
#include "tests/support/sanitized.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMiB = 1 << 20;

// Runs `body` in a process of its own; 0 = it said true, 128 + signal = it was ended.
int in_a_process(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  EXPECT_GE(pid, 0);
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// What was granted can be used to its last byte.
bool makes_and_writes(size_t bytes) {
  const Expected<SharedMemory> memory = SharedMemory::create(bytes);
  if (!memory) return false;
  std::memset(memory->data(), 1, bytes);
  return true;
}
bool is_refused(size_t bytes, int error) {
  const Expected<SharedMemory> memory = SharedMemory::create(bytes);
  return !memory && memory.error().sys_errno == error && !memory.error().hint.empty();
}

// Found by this test: the process was ended by SIGXFSZ.
TEST(SharedMemoryFull, TheLimitOfFilesIsAnError) {
  EXPECT_EQ(in_a_process([] {
              const rlimit limit{kMiB, kMiB};
              ::signal(SIGXFSZ, SIG_DFL);
              return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && is_refused(2 * kMiB, EFBIG) &&
                     makes_and_writes(kMiB / 2);
            }),
            0);
}

TEST(SharedMemoryFull, TheLimitOfAddressesIsAnError) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer takes more addresses than any limit leaves";
  EXPECT_EQ(in_a_process([] {
              const rlimit limit{256 * kMiB, 256 * kMiB};
              return ::setrlimit(RLIMIT_AS, &limit) == 0 && is_refused(300 * kMiB, ENOMEM);
            }),
            0);
}

// A control group of this test's own, below that of this process, that may hold so much memory.
class SmallGroup {
 public:
  explicit SmallGroup(size_t bytes) {
    const std::string groups = read_system_file("/proc/self/cgroup");
    std::string parent, limit;
    if (const auto path = parse_cgroup_path(groups, "memory")) {
      parent = "/sys/fs/cgroup/memory" + *path;
      limit = "memory.limit_in_bytes";
    } else if (const auto unified = parse_cgroup_path(groups, "")) {
      parent = "/sys/fs/cgroup" + *unified;
      limit = "memory.max";
    }
    path_ = parent + "/plumbline_test_" + std::to_string(::getpid());
    std::error_code refused;
    made_ = fs::create_directory(path_, refused);
    works_ = made_ && fs::exists(path_ + "/" + limit) && put(limit, std::to_string(bytes));
  }
  ~SmallGroup() {
    if (made_) ::rmdir(path_.c_str());
  }
  SmallGroup(const SmallGroup&) = delete;
  SmallGroup& operator=(const SmallGroup&) = delete;

  bool works() const { return works_; }
  // Moves the calling process there, for good.
  bool enter() const { return put("cgroup.procs", std::to_string(::getpid())); }

 private:
  bool put(const std::string& file, const std::string& text) const {
    const Fd fd(::open((path_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
    return ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  std::string path_;
  bool made_ = false, works_ = false;
};

// Found by this test: the process was killed while the pages were granted.
TEST(SharedMemoryFull, AFullControlGroupIsAnError) {
  if (test::kSanitized) GTEST_SKIP() << "the memory of a sanitizer is more than this group's";
  const SmallGroup group(64 * kMiB);
  if (!group.works()) GTEST_SKIP() << "needs to be root, with a control group of memory";
  EXPECT_EQ(in_a_process([&] {
              if (!group.enter() || memory_left() > 64 * kMiB) return false;
              return is_refused(128 * kMiB, ENOMEM) && makes_and_writes(16 * kMiB);
            }),
            0);
}

// Mounts of this process alone, with root's or a user namespace's rights. false = not here.
bool own_mounts() {
  const std::string map = "0 " + std::to_string(::geteuid()) + " 1";
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const Fd fd(::open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC));
    if (::write(fd.get(), map.data(), map.size()) != static_cast<ssize_t>(map.size())) return false;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") == 0;
}

// It is not there that the memory lies: a /dev/shm without a byte left changes nothing.
TEST(SharedMemoryFull, AFullDevShmIsNotInTheWay) {
  constexpr int kNotHere = 77;
  const int done = in_a_process([] {
    if (!own_mounts()) ::_exit(kNotHere);
    const Fd fd(::open("/dev/shm/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string page(4096, 'x');
    while (::write(fd.get(), page.data(), page.size()) > 0) {
    }
    return errno == ENOSPC && makes_and_writes(4 * kMiB);
  });
  if (done == kNotHere) GTEST_SKIP() << "needs mounts of its own";
  EXPECT_EQ(done, 0);
}

TEST(MemoryLeft, IsWhatTheMachineAndTheControlGroupsLeave) {
  const uint64_t left = memory_left();
  EXPECT_GT(left, 0u);
  EXPECT_LE(left, parse_meminfo(read_system_file("/proc/meminfo"), "MemTotal"));
}

}  // namespace
}  // namespace plumbline
