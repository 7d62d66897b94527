#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace plumbline {
namespace {

// How each of 0, 1 and 2 is opened where it is closed.
constexpr std::array kModes = {O_RDONLY, O_RDONLY, O_WRONLY};

bool is_closed(int fd) { return fcntl(fd, F_GETFD) < 0 && errno == EBADF; }

// Without a /dev, as in some containers, a folder will do: it neither gives nor takes a byte.
bool open_as(int fd, int mode) {
  int opened = ::open("/dev/null", mode);
  if (opened < 0) opened = ::open("/", O_RDONLY);
  return opened == fd;  // the lowest free number
}

}  // namespace

bool open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (is_closed(fd) && !open_as(fd, kModes[static_cast<size_t>(fd)])) return false;
  }
  return true;
}

std::string output_trouble() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  const bool refuses = flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
  return refuses ? "standard output is closed" : "is the disk full?";
}

}  // namespace plumbline
