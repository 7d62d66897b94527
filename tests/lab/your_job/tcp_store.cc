#include "tests/lab/your_job/tcp_store.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace your_job {
namespace {

void write_all(int socket, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("the store's connection is gone");
    done += static_cast<size_t>(n);
  }
}

std::string read_all(int socket, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = recv(socket, bytes.data() + done, size - done, 0);
    if (n <= 0) throw std::runtime_error("the store's connection is gone");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

std::string framed(const std::string& bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame += bytes;
  return frame;
}

std::string read_framed(int socket) {
  constexpr uint32_t kMost = 1 << 20;
  uint32_t size = 0;
  std::memcpy(&size, read_all(socket, sizeof size).data(), sizeof size);
  if (size > kMost) throw std::runtime_error("not a value of this store");
  return read_all(socket, size);
}

}  // namespace

TcpStoreServer::TcpStoreServer(int port)
    : listener_(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1, off = 0;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  if (bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
      listen(listener_, 64) != 0) {
    throw std::runtime_error("cannot listen on the master port: " +
                             std::string(std::strerror(errno)));
  }
  thread_ = std::thread([this] { accept_all(); });
}

TcpStoreServer::~TcpStoreServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

void TcpStoreServer::accept_all() {
  while (true) {
    const int one = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (one < 0) return;
    std::thread([this, one] { serve(one); }).detach();  // ends with the process
  }
}

void TcpStoreServer::serve(int socket) {
  try {
    while (true) {
      const char what = read_all(socket, 1).front();
      const std::string key = read_framed(socket), value = read_framed(socket);
      std::string answer;
      std::unique_lock<std::mutex> lock(mutex_);
      if (what == 's') {
        values_[key] = value;
        changed_.notify_all();
      } else {
        changed_.wait(lock, [&] { return values_.count(key) != 0; });
        answer = values_[key];
      }
      lock.unlock();
      write_all(socket, framed(answer));
    }
  } catch (const std::runtime_error&) {
    close(socket);
  }
}

TcpStore::TcpStore(const std::string& host, const std::string& port,
                   std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < end) {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) == 0) {
      socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int failed = connect(socket_, found->ai_addr, found->ai_addrlen);
      freeaddrinfo(found);
      if (failed == 0) return;
      close(socket_);
      socket_ = -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("no store at " + host + " port " + port);
}

TcpStore::~TcpStore() {
  if (socket_ >= 0) close(socket_);
}

std::string TcpStore::ask(char what, const std::string& key, const std::string& value) {
  std::string request(1, what);
  request += framed(key);
  request += framed(value);
  write_all(socket_, request);
  return read_framed(socket_);
}

void TcpStore::set(const std::string& key, const std::vector<char>& data) {
  ask('s', key, std::string(data.begin(), data.end()));
}

std::vector<char> TcpStore::get(const std::string& key) {
  const std::string value = ask('g', key, "");
  return {value.begin(), value.end()};
}

void TcpStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) ask('g', key, "");
}

void TcpStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) {
  wait(keys);
}

}  // namespace your_job
