#include "actions/support.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace plumbline::test {
namespace {

Fd listen_anywhere(const std::string& ip, int& port) {
  Fd fd = listen_on(make_socket_address(ip, 0).value(), {}).value();
  port = local_address(fd.get()).port();
  return fd;
}

// In a user namespace of its own a process is nobody until its user is mapped to root.
bool become_root_inside(uid_t user, gid_t group) {
  const auto write_file = [](const char* path, const std::string& text) {
    std::ofstream file(path);
    return static_cast<bool>(file << text << std::flush);
  };
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)) &&
         write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

bool own_network() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (user == 0) return ::unshare(CLONE_NEWNET) == 0;
  return ::unshare(CLONE_NEWNET | CLONE_NEWUSER) == 0 && become_root_inside(user, group);
}

}  // namespace

int listen_somewhere(ListenerHub& hub, const std::string& id, const std::string& ip) {
  for (int i = 0; i < 20; ++i) {
    const int port = free_port(ip);
    const auto states = hub.listen(id, {{ip, ""}}, {port}, call_within(5000));
    if (states && states->front().listener == "up") return port;
    static_cast<void>(hub.unlisten(id));
  }
  return 0;
}

Stranger::Stranger(std::function<void(int fd)> serve, const std::string& ip)
    : listener_(listen_anywhere(ip, port_)) {
  thread_ = std::thread([this, serve = std::move(serve)] {
    while (!ending_) {
      pollfd item{listener_.get(), POLLIN, 0};
      if (::poll(&item, 1, 20) <= 0) continue;
      const auto client = accept_from(listener_.get());
      if (client && client->valid()) serve(client->get());
    }
  });
}

Stranger::~Stranger() {
  ending_ = true;
  thread_.join();
}

Fd raw_client(int port, const std::string& text, const std::string& ip) {
  const SocketAddress to = make_socket_address(ip, static_cast<uint16_t>(port)).value();
  Fd fd = start_connect(to, nullptr, "", {}).value();
  wait_for(fd.get(), POLLOUT, call_within(5000));
  if (!text.empty() && ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) fd.reset();
  return fd;
}

std::string read_all(int fd) {
  std::string out;
  char buffer[65536];
  const AgentCall call = call_within(10'000);
  while (wait_for(fd, POLLIN, call)) {
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got == 0) return out;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return out + "<reset>";
    if (got > 0) out.append(buffer, static_cast<size_t>(got));
  }
  return out + "<time>";
}

nlohmann::json in_namespace(const std::string& setup, const std::function<nlohmann::json()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return nullptr;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string said;
    const std::string all = "ip link set lo up" + (setup.empty() ? "" : " && " + setup);
    if (own_network() && std::system(all.c_str()) == 0) said = body().dump();
    const ssize_t size = ::write(ends[1], said.data(), said.size());
    ::_exit(size == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  const Fd from(ends[0]);
  std::string said;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(from.get(), part, sizeof part)) > 0;) {
    said.append(part, static_cast<size_t>(size));
  }
  ::waitpid(child, nullptr, 0);
  return said.empty() ? nlohmann::json() : nlohmann::json::parse(said, nullptr, false);
}

bool namespaces_work() {
  return !in_namespace("", [] { return nlohmann::json(true); }).is_null();
}

}  // namespace plumbline::test
