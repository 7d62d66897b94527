#include "transport/tcp/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>

#include "core/options/options.h"

namespace plumbline {
namespace {

constexpr int kBacklog = 256;  // connections the kernel may hold for us
constexpr int kKeepaliveIdleS = 10, kKeepaliveIntervalS = 5, kKeepaliveCount = 4;
// Added to the watchdog's time before the kernel gives a data connection up: a peer that does not
// read for long is the watchdog's to judge.
constexpr int64_t kUserTimeoutMarginMs = 10'000;

const sockaddr_in& v4(const SocketAddress& a) {
  return *reinterpret_cast<const sockaddr_in*>(&a.storage);
}
const sockaddr_in6& v6(const SocketAddress& a) {
  return *reinterpret_cast<const sockaddr_in6*>(&a.storage);
}

// Both directions; must precede connect and listen. Where the system allows less than was asked,
// its own tuning reaches further than a buffer that is fixed at the limit (4 to 6 MiB against 208
// KiB on a stock Linux), so that direction is left to it.
void set_buffers(int fd, uint64_t bytes) {
  if (bytes == 0) return;
  const int value = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : static_cast<int>(bytes);
  for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
    const uint64_t limit = socket_buffer_limit(option);
    if (limit == 0 || bytes <= limit) set_socket_option(fd, SOL_SOCKET, option, value);
  }
}

struct ErrnoRow {
  int err;
  ErrorCode code;
  const char* cause;
  const char* hint;
};
constexpr ErrnoRow kErrnoRows[] = {
    {ECONNREFUSED, ErrorCode::kRefused, "tcp.no_listener",
     "nobody listens there, or a filter refuses: is that rank running, and is the port right?"},
    {ETIMEDOUT, ErrorCode::kTimeout, "",
     "no answer: check the cable, the peer's address and its firewall"},
    {EHOSTUNREACH, ErrorCode::kUnreachable, "", "check the route and the peer's link"},
    {ENETUNREACH, ErrorCode::kUnreachable, "route.missing", "no route leads to that network"},
    {EHOSTDOWN, ErrorCode::kUnreachable, "", "the peer does not answer on the link"},
    {ENETDOWN, ErrorCode::kUnreachable, "link.down", "the interface is down"},
    {EADDRINUSE, ErrorCode::kBusy, "tcp.port_in_use",
     "end the other process, or choose another --port-base"},
    {EADDRNOTAVAIL, ErrorCode::kConfig, "ip.missing",
     "that address is not on this host: correct the host file or the interface"},
    {EACCES, ErrorCode::kSystem, "", "the system forbids this address or port to us"},
    {ECONNRESET, ErrorCode::kPeerLost, "", ""},
    {ECONNABORTED, ErrorCode::kPeerLost, "", ""},
    {EPIPE, ErrorCode::kPeerLost, "", ""},
    {ENOTCONN, ErrorCode::kPeerLost, "", ""},
    {EMFILE, ErrorCode::kSystem, "host.limits", "raise the limit of open files (ulimit -n)"},
    {ENFILE, ErrorCode::kSystem, "host.limits", "the system's table of open files is full"},
};

}  // namespace

int set_socket_option(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

Error socket_error(const std::string& what, int err) {
  for (const ErrnoRow& row : kErrnoRows) {
    if (row.err == err) return Error{row.code, what, err, row.hint, row.cause};
  }
  return Error{ErrorCode::kSystem, what, err, {}, {}};
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? v6(*this).sin6_port : v4(*this).sin_port);
}

void SocketAddress::set_port(uint16_t port) {
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  }
}

Ip SocketAddress::ip() const {
  if (family() == AF_INET6) return ip_of_bytes(&v6(*this).sin6_addr, true);
  return ip_of_bytes(&v4(*this).sin_addr, false);
}

bool SocketAddress::same_ip(const SocketAddress& other) const {
  return family() == other.family() && ip() == other.ip();
}

Expected<SocketAddress> make_socket_address(const std::string& ip, uint16_t port,
                                            const std::string& interface) {
  const size_t percent = ip.find('%');
  const std::string plain = ip.substr(0, percent);
  const std::string scope = percent == std::string::npos ? interface : ip.substr(percent + 1);
  const std::optional<Ip> known = parse_ip(plain);
  if (!known) {
    return fail(ErrorCode::kConfig, fmt::format("\"{}\" is not an IPv4 or IPv6 address", ip),
                "data addresses are numeric, such as 10.10.0.1 or fd00::1");
  }
  SocketAddress address;
  auto* in4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  address.storage.ss_family = known->v6 ? AF_INET6 : AF_INET;
  address.length = known->v6 ? sizeof *in6 : sizeof *in4;
  std::memcpy(known->v6 ? static_cast<void*>(&in6->sin6_addr) : &in4->sin_addr, known->bytes.data(),
              known->size());
  address.set_port(port);
  if (!known->v6 || !known->link_local()) return address;
  in6->sin6_scope_id = scope.empty() ? 0 : ::if_nametoindex(scope.c_str());
  if (in6->sin6_scope_id == 0) {
    return fail(ErrorCode::kConfig,
                scope.empty() ? fmt::format("link-local address {} without an interface", plain)
                              : fmt::format("interface \"{}\" of link-local address {} does not "
                                            "exist on this host",
                                            scope, plain),
                "name the interface that leads to the peer, as in fe80::1%eth0");
  }
  return address;
}

std::string to_text(const SocketAddress& address) {
  char host[NI_MAXHOST] = "?";
  if (address.length == 0 || ::getnameinfo(address.get(), address.length, host, sizeof host,
                                           nullptr, 0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  if (address.family() == AF_INET6) return fmt::format("[{}]:{}", host, address.port());
  return fmt::format("{}:{}", host, address.port());
}

SocketAddress local_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(fd, address.get(), &address.length) != 0) address.length = 0;
  return address;
}

SocketAddress remote_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getpeername(fd, address.get(), &address.length) != 0) address.length = 0;
  return address;
}

SocketOptions socket_options(const OptionSet& options) {
  SocketOptions out;
  out.buffer_bytes = static_cast<uint64_t>(options.integer("sock_bufsize"));
  out.notsent_lowat = static_cast<uint64_t>(options.integer("tcp_lowat"));
  out.congestion_control = options.text("congestion_control");
  out.keepalive_s = static_cast<int>(options.integer("keepalive_s"));
  const int64_t watchdog_ms = options.integer("watchdog_timeout_ms");
  out.user_timeout_ms = watchdog_ms > 0 ? watchdog_ms + kUserTimeoutMarginMs : 0;
  return out;
}

Expected<Fd> listen_on(const SocketAddress& address, const SocketOptions& options) {
  const std::string what = "listen on " + to_text(address);
  Fd fd = new_stream_socket(address.family());
  if (!fd.valid()) return fail(socket_error(what + ": socket", errno));
  set_socket_option(fd.get(), SOL_SOCKET, SO_REUSEADDR,
                    1);  // past connections in TIME_WAIT do not matter
  if (address.family() == AF_INET6) set_socket_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_buffers(fd.get(), options.buffer_bytes);  // accepted sockets inherit them
  if (::bind(fd.get(), address.get(), address.length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    Error error = socket_error(what, errno);
    if (error.code == ErrorCode::kBusy) {
      const std::string owner = port_owner(address.port());
      if (!owner.empty()) error.what += " (port held by " + owner + ")";
    }
    return fail(std::move(error));
  }
  return fd;
}

Expected<Fd> accept_from(int listener) {
  Fd fd = accept_socket(listener);
  if (fd.valid()) return fd;
  const int err = errno;
  // The last group: a connection that ended while it waited; the next one may be well (accept(2)).
  if (err == EAGAIN || err == EWOULDBLOCK || err == EINTR || err == ECONNABORTED || err == EPROTO ||
      err == ENETDOWN || err == EHOSTUNREACH || err == ENETUNREACH) {
    return Fd();
  }
  return fail(socket_error("accept on " + to_text(local_address(listener)), err));
}

Expected<Fd> start_connect(const SocketAddress& remote, const SocketAddress* local,
                           const std::string& interface, const SocketOptions& options) {
  Fd fd = new_stream_socket(remote.family());
  if (!fd.valid()) return fail(socket_error("connect to " + to_text(remote) + ": socket", errno));
  set_buffers(fd.get(), options.buffer_bytes);
  if (local != nullptr) {
    SocketAddress source = *local;
    source.set_port(0);
    bind_address_only(fd.get());
    if (::bind(fd.get(), source.get(), source.length) != 0) {
      return fail(socket_error("bind the source address " + to_text(source), errno));
    }
    // Best effort: the address alone decides where the kernel may not bind to an interface. What
    // goes to the own address never passes that interface.
    if (source.link_local() && !interface.empty() && !source.same_ip(remote)) {
      bind_to_interface(fd.get(), source.family(), interface);
    }
  }
  if (::connect(fd.get(), remote.get(), remote.length) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    return fail(socket_error("connect to " + to_text(remote), errno));
  }
  return fd;
}

Status finish_connect(int fd, const SocketAddress& remote) {
  int err = 0;
  socklen_t length = sizeof err;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) != 0) err = errno;
  if (err == 0) {
    const SocketAddress here = local_address(fd), there = remote_address(fd);
    if (there.length == 0) {
      err = ENOTCONN;
    } else if (here.port() == there.port() && here.same_ip(there)) {
      err = ECONNREFUSED;  // connected to itself
    }
  }
  if (err != 0) return fail(socket_error("connect to " + to_text(remote), err));
  return {};
}

bool connection_ended(int fd) {
  char byte = 0;
  const ssize_t seen = ::recv(fd, &byte, 1, MSG_PEEK);
  return seen == 0 || (seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void tune_connection(int fd, int64_t user_timeout_ms) {
  set_socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_keepalive(fd, kKeepaliveIdleS, kKeepaliveIntervalS, kKeepaliveCount);
  if (user_timeout_ms > 0) set_user_timeout(fd, user_timeout_ms);
}

std::string tune_data_connection(int fd, const SocketOptions& options, bool same_host) {
  tune_connection(fd, options.user_timeout_ms);
  if (options.keepalive_s > 0) {
    set_keepalive(fd, options.keepalive_s, kKeepaliveIntervalS, kKeepaliveCount);
  } else {
    set_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
  }
  if (options.notsent_lowat > 0) {
    set_socket_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
                      static_cast<int>(std::min<uint64_t>(options.notsent_lowat, INT32_MAX)));
  }
  std::string notes;
  if (options.congestion_control != "auto") {
    const int err = set_congestion_control(fd, options.congestion_control);
    if (err != 0) {
      notes += fmt::format("congestion control {} not granted ({}), {} stays; ",
                           options.congestion_control, errno_name(err), congestion_control_of(fd));
    }
  } else if (same_host && set_congestion_control(fd, "reno") != 0) {
    set_congestion_control(fd, "cubic");
  }
  for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
    const uint64_t granted = granted_buffer(fd, option);
    if (options.buffer_bytes == 0 || granted == 0 || granted >= options.buffer_bytes) continue;
    notes += fmt::format("{} of {} bytes asked, the system allows {}: left to its own tuning; ",
                         option == SO_SNDBUF ? "send buffer" : "receive buffer",
                         options.buffer_bytes, socket_buffer_limit(option));
  }
  if (!notes.empty()) notes.resize(notes.size() - 2);
  return notes;
}

}  // namespace plumbline
