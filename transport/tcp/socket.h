// TCP sockets as this suite wants them: non-blocking, close-on-exec, never raising SIGPIPE, with
// buffer sizes set before connect or listen (the window scale is fixed by the SYN, RFC 7323), and
// with errors that name the address, the system call and what to do. IPv4 and IPv6, link-local
// addresses with their scope. Platform differences: socket_linux.cc, socket_macos.cc. Functions are
// thread-safe.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "core/host/ip.h"

namespace plumbline {

class OptionSet;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  Ip ip() const;  // without its scope
  bool loopback() const { return ip().loopback(); }
  bool link_local() const { return ip().link_local(); }
  // Same family and address, whatever the port and scope.
  bool same_ip(const SocketAddress& other) const;
};

// `ip` is numeric, optionally with "%interface"; link-local IPv6 needs that or `interface`.
Expected<SocketAddress> make_socket_address(const std::string& ip, uint16_t port,
                                            const std::string& interface = {});
// "10.10.0.2:29601", "[fe80::1%eth0]:29601".
std::string to_text(const SocketAddress& address);
// Of a connected or bound socket; empty length when the kernel does not say.
SocketAddress local_address(int fd);
SocketAddress remote_address(int fd);

struct SocketOptions {
  uint64_t buffer_bytes = 0;    // SO_SNDBUF and SO_RCVBUF; 0 = the kernel tunes them
  uint64_t notsent_lowat = 0;   // TCP_NOTSENT_LOWAT in bytes; 0 = off
  int64_t user_timeout_ms = 0;  // unacknowledged bytes end the connection after this; 0 = system
  std::string congestion_control = "auto";
  int keepalive_s = 10;  // an idle data connection is probed so often; 0 = never
};
// From the options sock_bufsize, tcp_lowat, congestion_control, keepalive_s and
// watchdog_timeout_ms.
SocketOptions socket_options(const OptionSet& options);

// Listens on exactly this address (port 0 = any free one). A busy port names its owner where that
// can be seen: kBusy, cause tcp.port_in_use.
Expected<Fd> listen_on(const SocketAddress& address, const SocketOptions& options);
// The next waiting connection, non-blocking; an empty Fd when nobody waits.
Expected<Fd> accept_from(int listener);
// Starts to connect, with `local` (may be null) as the source address; link-local sources are bound
// to `interface` too. The connection stands when poll(2) says writable and finish_connect agrees.
Expected<Fd> start_connect(const SocketAddress& remote, const SocketAddress* local,
                           const std::string& interface, const SocketOptions& options);
// Result of a started connect. A socket that connected to itself (possible when nobody listens on
// an ephemeral port) counts as refused.
Status finish_connect(int fd, const SocketAddress& remote);

// The peer has ended or reset the connection and nothing is left to read; takes no byte away.
bool connection_ended(int fd);

// Options of an established connection: no Nagle delay, keep-alive, user timeout.
void tune_connection(int fd, int64_t user_timeout_ms);
// Options of a data connection. `same_host` decides what congestion control "auto" asks for:
// senders that pace (bbr) throttle loopback, so reno or cubic there; the system's default between
// hosts. Returns what could not be had, for the log; empty = all granted.
std::string tune_data_connection(int fd, const SocketOptions& options, bool same_host);

// Builds the error of a failed call on a socket: code, cause id and hint follow from errno.
Error socket_error(const std::string& what, int err);

// --- what differs by platform -------------------------------------------------------------------

// A non-blocking, close-on-exec SOCK_STREAM socket (TCP, or of AF_UNIX) without SIGPIPE; invalid
// with errno set on failure.
Fd new_stream_socket(int family);
// Largest SO_SNDBUF or SO_RCVBUF that the system grants, in bytes; 0 = not known.
uint64_t socket_buffer_limit(int option);
// accept(2) with the same properties.
Fd accept_socket(int listener);
// errno, 0 = done; on every platform.
int set_socket_option(int fd, int level, int option, int value);
// Flags for send(2) and sendmsg(2).
int send_flags();
// Lets bind(2) choose the source address without reserving a port for it (where that exists).
void bind_address_only(int fd);
// All traffic of the socket leaves through this interface; errno, 0 = done.
int bind_to_interface(int fd, int family, const std::string& interface);
void set_keepalive(int fd, int idle_s, int interval_s, int count);
void set_user_timeout(int fd, int64_t timeout_ms);
// errno, 0 = granted.
int set_congestion_control(int fd, const std::string& name);
// Name in effect; empty where the platform does not tell.
std::string congestion_control_of(int fd);
// Bytes of payload for which SO_SNDBUF or SO_RCVBUF (`option`) stands now; 0 = unknown.
uint64_t granted_buffer(int fd, int option);

// Who holds a TCP port on this host, for error messages and checks: "PID 4711 (plumbline)". Reads
// the system's tables; processes of other users may be invisible without privilege, then it says
// what is known. Platform code: port_owner_linux.cc, port_owner_macos.cc. Thread-safe.
//
// The process that listens on this port of this address or of all addresses, or else has a
// connection that uses it; an empty address stands for any (and always does on macOS). Empty when
// nobody does or nothing can be seen (a socket that is bound and does not listen is in no table).
std::string port_owner(uint16_t port, const std::string& ip = {});

// The kernel's table of TCP sockets, /proc/net/tcp and tcp6 (proc(5)): readable without privilege,
// of the own network namespace; Linux only. Thread-safe.
constexpr int kTcpSynReceived = 3, kTcpListen = 10;  // states as the kernel numbers them

struct TcpTableRow {
  std::string ip, peer_ip;  // without scope; IPv4 addresses inside IPv6 sockets as "::ffff:1.2.3.4"
  int port = 0, peer_port = 0;
  int state = 0;
  uint64_t inode = 0;
};
// Lines that make no sense are left out. `v6` says which of the two tables it is.
std::vector<TcpTableRow> parse_tcp_table(const std::string& text, bool v6);
// Both tables of this thread's namespace.
std::vector<TcpTableRow> read_tcp_tables();

}  // namespace plumbline
