#include "collectives/links/link_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace plumbline {
namespace {

constexpr int kPollMs = 100;
constexpr int kAcceptPollMs = 20;
constexpr int64_t kHelloMs = 500;                   // a hello follows its connection at once
constexpr uint64_t kMagic = 0x706c6d622d6c6e6bULL;  // "plmb-lnk"

// First bytes of every connection; all ranks are of one architecture's byte order only by chance,
// so it travels little-endian.
struct Hello {
  uint64_t magic = 0, nonce = 0, index = 0;  // index 0 = control, 1 ... = data
};
using HelloBytes = std::array<unsigned char, 24>;

HelloBytes encode(const Hello& hello) {
  HelloBytes bytes{};
  const std::array<uint64_t, 3> words = {hello.magic, hello.nonce, hello.index};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(words[i / 8] >> (8 * (i % 8)));
  }
  return bytes;
}

Hello decode(const HelloBytes& bytes) {
  std::array<uint64_t, 3> words{};
  for (size_t i = 0; i < bytes.size(); ++i) words[i / 8] |= uint64_t{bytes[i]} << (8 * (i % 8));
  return {words[0], words[1], words[2]};
}

Error lost(int err) {
  return err == 0 ? Error{ErrorCode::kPeerLost, "the other end closed the connection", 0, {}, {}}
                  : socket_error("link connection", err);
}

// One connection that is being dialled.
struct Dial {
  LinkSession* session = nullptr;
  size_t index = 0;
  SocketAddress remote;
  Fd fd;
};

Status say_hello(const Dial& dial) {
  const HelloBytes bytes = encode({kMagic, dial.session->nonce, dial.index});
  const ssize_t sent = ::send(dial.fd.get(), bytes.data(), bytes.size(), send_flags());
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return fail(socket_error("greet " + to_text(dial.remote), sent < 0 ? errno : EAGAIN));
}

void keep(LinkSession& session, size_t index, Fd fd) {
  if (index == 0) {
    session.control = std::move(fd);
  } else {
    session.data[index - 1] = std::move(fd);
  }
}

bool complete(const LinkSession& session) {
  return session.control.valid() && std::all_of(session.data.begin(), session.data.end(),
                                                [](const Fd& fd) { return fd.valid(); });
}

void tune(int fd, const LinkPath& path, const SocketOptions& options) {
  // What it could not grant was told when the rank's own connections were made.
  static_cast<void>(
      tune_data_connection(fd, options, path.local.same_ip(path.remote) || path.local.loopback()));
}

// A connection that poll(2) reports as writable: it stands, or has failed.
void finish(Dial& dial, const SocketOptions& options) {
  Status done = finish_connect(dial.fd.get(), dial.remote);
  if (done) {
    tune(dial.fd.get(), dial.session->path, options);
    done = say_hello(dial);
  }
  if (done) {
    keep(*dial.session, dial.index, std::move(dial.fd));
  } else {
    dial.session->refuse(done.error());
    dial.fd.reset();
  }
}

std::vector<Dial> start_dials(std::vector<LinkSession*>& sessions, int data,
                              const SocketOptions& options) {
  std::vector<Dial> dials;
  for (LinkSession* session : sessions) {
    session->data.resize(static_cast<size_t>(data));
    if (!session->error.what.empty()) continue;  // refused before
    if (session->port == 0) {
      session->refuse({ErrorCode::kSystem, "the receiver could not listen", 0, {}, {}});
      continue;
    }
    for (size_t index = 0; index <= static_cast<size_t>(data); ++index) {
      Dial dial{session, index, session->path.remote, Fd()};
      dial.remote.set_port(session->port);
      Expected<Fd> fd =
          start_connect(dial.remote, &session->path.local, session->path.interface, options);
      if (!fd) {
        session->refuse(fd.error());
        break;
      }
      dial.fd = std::move(*fd);
      dials.push_back(std::move(dial));
    }
  }
  return dials;
}

// Reads the hello of a fresh connection; false = a stranger, or too late.
bool admit(LinkSession& session, Fd fd, const LinkWait& wait) {
  HelloBytes bytes{};
  const Status read =
      link_receive(fd.get(), bytes.data(), bytes.size(), wait, Deadline::after_ms(kHelloMs));
  if (!read) return false;
  const Hello hello = decode(bytes);
  if (hello.magic != kMagic || hello.nonce != session.nonce || hello.index > session.data.size()) {
    return false;
  }
  keep(session, static_cast<size_t>(hello.index), std::move(fd));
  return true;
}

}  // namespace

void LinkSession::refuse(Error why) {
  usable = false;
  if (!error.what.empty()) return;  // the first reason stays
  error = std::move(why);
  error.what = name + ": " + error.what;
}

Expected<SocketAddress> address_of_text(const std::string& text, std::string& ip,
                                        std::string& interface) {
  ip = text.substr(0, text.rfind(':'));
  if (ip.size() > 2 && ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
  const size_t percent = ip.find('%');
  if (percent != std::string::npos) interface = ip.substr(percent + 1);
  Expected<SocketAddress> address = make_socket_address(ip, 0);
  if (address && ip != text) return address;
  return fail(ErrorCode::kUnsupported,
              fmt::format("the ranks' own connection has no address but \"{}\"", text),
              "link cells need the transport tcp");
}

void connect_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                      Deadline deadline) {
  std::vector<Dial> dials = start_dials(sessions, data, options);
  while (true) {
    std::vector<pollfd> entries;
    std::vector<Dial*> waiting;
    for (Dial& dial : dials) {
      if (!dial.fd.valid() || !dial.session->error.what.empty()) continue;
      entries.push_back({dial.fd.get(), POLLOUT, 0});
      waiting.push_back(&dial);
    }
    if (entries.empty()) break;
    ::poll(entries.data(), static_cast<nfds_t>(entries.size()), deadline.poll_timeout_ms(kPollMs));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents != 0) {
        finish(*waiting[i], options);
      } else if (deadline.passed()) {
        waiting[i]->session->refuse({ErrorCode::kTimeout,
                                     "no answer to a connection to " + to_text(waiting[i]->remote),
                                     0,
                                     "link cells use the ports of the job's window, as far as "
                                     "these are free at the receiver: "
                                     "does a firewall on the way or there stop them?",
                                     {}});
      }
    }
  }
  for (LinkSession* session : sessions) {
    session->usable = session->error.what.empty() && complete(*session);
  }
}

void accept_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                     const LinkWait& wait, Deadline deadline) {
  for (LinkSession* session : sessions) session->data.resize(static_cast<size_t>(data));
  while (true) {
    std::vector<pollfd> entries;
    std::vector<LinkSession*> waiting;
    for (LinkSession* session : sessions) {
      if (complete(*session) || !session->listener.valid()) continue;
      entries.push_back({session->listener.get(), POLLIN, 0});
      waiting.push_back(session);
    }
    if (entries.empty()) break;
    const bool late = deadline.passed() || wait.broken();
    ::poll(entries.data(), static_cast<nfds_t>(entries.size()), late ? 0 : kAcceptPollMs);
    bool any = false;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      Expected<Fd> fd = accept_from(entries[i].fd);
      if (!fd || !fd->valid()) continue;
      any = true;
      tune(fd->get(), waiting[i]->path, options);
      admit(*waiting[i], std::move(*fd), wait);
    }
    if (late && !any) break;
  }
  for (LinkSession* session : sessions) {
    session->usable = complete(*session);
    if (!session->usable) {
      session->refuse({ErrorCode::kTimeout, "the sender did not connect", 0, {}, {}});
    }
  }
}

Status link_wait(int fd, short events, const LinkWait& wait, Deadline deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    if (::poll(&entry, 1, deadline.poll_timeout_ms(kPollMs)) > 0) return {};
    if (wait.broken()) return fail(ErrorCode::kAborted, "the group of ranks has failed");
    if (deadline.passed()) return fail(ErrorCode::kTimeout, "no bytes moved until the deadline");
  }
}

Status link_send(int fd, const void* bytes, size_t count, const LinkWait& wait, Deadline deadline) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(fd, at, count, send_flags());
    if (sent > 0) {
      at += sent;
      count -= static_cast<size_t>(sent);
      continue;
    }
    const int err = errno;
    if (err != EAGAIN && err != EWOULDBLOCK && err != EINTR) return fail(lost(err));
    if (const Status ready = link_wait(fd, POLLOUT, wait, deadline); !ready) return ready;
  }
  return {};
}

Expected<size_t> link_receive_some(int fd, void* bytes, size_t count, const LinkWait& wait,
                                   Deadline deadline) {
  int64_t spin_until = 0;
  while (true) {
    const ssize_t got = ::recv(fd, bytes, count, 0);
    if (got >= 0) return static_cast<size_t>(got);
    const int err = errno;
    if (err != EAGAIN && err != EWOULDBLOCK && err != EINTR) return fail(lost(err));
    const int64_t now = monotonic_ns();
    if (spin_until == 0) spin_until = now + wait.options.spin_ns;
    if (now < spin_until) {
      if (wait.options.yield) ::sched_yield();
      continue;
    }
    if (const Status ready = link_wait(fd, POLLIN, wait, deadline); !ready) {
      return fail(ready.error());
    }
  }
}

Status link_receive(int fd, void* bytes, size_t count, const LinkWait& wait, Deadline deadline) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const Expected<size_t> got = link_receive_some(fd, at, count, wait, deadline);
    if (!got) return fail(got.error());
    if (*got == 0) return fail(lost(0));
    at += *got;
    count -= *got;
  }
  return {};
}

}  // namespace plumbline
