// Processes of a small job, for tests that look at one: children of the test that meet over
// loopback, of which one may never read what the other sends.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>

#include "core/fd.h"

namespace plumbline::test {

// A child that does `work` and then waits to be ended.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      const char done = 'x';
      if (::write(ready[1], &done, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char done = 0;
    ready_ = ::read(ready[0], &done, 1) == 1;
    ::close(ready[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

inline Fd listen_on_loopback(int& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), 8) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  port = ntohs(address.sin_port);
  return fd;
}

// Accepts one and never reads.
inline void accept_only(int listener) {
  if (::accept(listener, nullptr, nullptr) < 0) ::_exit(1);
  ::close(listener);
}
// As much as goes.
inline void fill(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) ::_exit(1);
  const std::array<char, 65536> bytes{};
  int idle = 0;
  while (idle < 20) {
    if (::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) < 0) {
      ++idle;
      ::usleep(10'000);
    }
  }
}

}  // namespace plumbline::test
