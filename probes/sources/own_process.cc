#include "probes/sources/own_process.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "core/host/ip.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMostNames = 64;

void add_once(std::vector<std::string>& list, const std::string& ip) {
  if (std::find(list.begin(), list.end(), ip) == list.end()) list.push_back(ip);
}

void ask_resolver(NameEvidence& name) {
  const int64_t begin = monotonic_ns();
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(name.name.c_str(), nullptr, &hints, &list);
  name.took_ns = monotonic_ns() - begin;
  name.error = status == 0 ? "" : gai_strerror(status);
  if (status != 0 && !loads_libraries()) {
    name.error += " (this static plumbline asks /etc/hosts and DNS only, no mDNS)";
  }
  if (status != 0) return;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      add_once(entry->ai_family == AF_INET6 ? name.v6 : name.v4, text.data());
    }
  }
  freeaddrinfo(list);
}

// All that a program can tell that loads nothing.
void look_for_verbs_library(RdmaEvidence& rdma) {
  for (const std::string& name : verbs_library_names()) {
    if (!library_file(name).empty()) {
      rdma.library = name;
      return;
    }
  }
  rdma.library_error = "no " + verbs_library_names().front() + " in the system's library folders";
}

// Shared with threads that may outlive the waiter: getaddrinfo(3) cannot be interrupted.
struct Pending {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<NameEvidence> names;
  size_t missing = 0;
};

}  // namespace

std::vector<NameEvidence> resolve_names(std::vector<NameEvidence> names, Deadline deadline) {
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const NameEvidence& name) {
                               return name.name.empty() || parse_zoned_ip(name.name);
                             }),
              names.end());
  if (names.size() > kMostNames) names.resize(kMostNames);
  const int64_t begin = monotonic_ns();
  for (NameEvidence& name : names) name.error = "no answer in time";
  auto pending = std::make_shared<Pending>();
  pending->names = names;
  pending->missing = names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    std::thread([pending, i, name = names[i]]() mutable {
      ask_resolver(name);
      const std::lock_guard<std::mutex> lock(pending->mutex);
      pending->names[i] = std::move(name);
      --pending->missing;
      pending->changed.notify_one();
    }).detach();
  }
  std::unique_lock<std::mutex> lock(pending->mutex);
  const auto wait =
      std::chrono::nanoseconds(std::clamp<int64_t>(deadline.remaining_ns(), 0, 60 * kSecond));
  pending->changed.wait_for(lock, wait, [&] { return pending->missing == 0; });
  std::vector<NameEvidence> out = pending->names;
  for (NameEvidence& name : out) {
    if (name.took_ns == 0) name.took_ns = monotonic_ns() - begin;
  }
  return out;
}

BufferEvidence try_buffers(int64_t bytes) {
  BufferEvidence out;
  out.asked = std::max<int64_t>(bytes, 0);
  if (out.asked == 0) return out;
  // A listener gets its buffers exactly as the transport's own sockets do.
  SocketOptions options;
  options.buffer_bytes = static_cast<uint64_t>(out.asked);
  const auto any = make_socket_address("127.0.0.1", 0);
  const auto socket = any ? listen_on(*any, options) : Expected<Fd>(fail(any.error()));
  if (!socket) {
    out.error = socket.error().message();
    return out;
  }
  // Beyond the limit a socket keeps its small first buffer, which the system lets grow: the limit
  // says what could be had.
  const auto most = [&](int option) {
    const uint64_t limit = socket_buffer_limit(option);
    const bool refused = limit > 0 && options.buffer_bytes > limit;
    return static_cast<int64_t>(refused ? limit : granted_buffer(socket->get(), option));
  };
  out.send = most(SO_SNDBUF);
  out.receive = most(SO_RCVBUF);
  return out;
}

void try_verbs_library(HostEvidence& host) {
  if (!host.rdma) host.rdma.emplace();
  RdmaEvidence& rdma = *host.rdma;
  if (!loads_libraries()) return look_for_verbs_library(rdma);
  void* library = nullptr;
  for (const std::string& name : verbs_library_names()) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      rdma.library = name;
      break;
    }
    const char* error = dlerror();
    if (rdma.library_error.empty() && error != nullptr) rdma.library_error = error;
  }
  if (library == nullptr) return;
  rdma.library_error.clear();
  using GetList = void** (*)(int*);
  using FreeList = void (*)(void**);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym gives functions.
  const auto get_list = reinterpret_cast<GetList>(dlsym(library, "ibv_get_device_list"));
  const auto free_list = reinterpret_cast<FreeList>(dlsym(library, "ibv_free_device_list"));
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  if (get_list == nullptr || free_list == nullptr) {
    rdma.library_error = rdma.library + " has no function ibv_get_device_list";
  } else if (!rdma.devices.empty()) {
    // Its drivers are separate files, which may be missing.
    int count = 0;
    void** list = get_list(&count);
    if (list != nullptr) free_list(list);
    if (count == 0) {
      rdma.library_error = fmt::format(
          "{} finds none of the kernel's devices: is its driver "
          "(rdma-core's providers) installed?",
          rdma.library);
    }
  }
  // It stays loaded: its drivers may have started threads.
}

}  // namespace plumbline
