#include "collectives/links/link_session.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/address.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

constexpr int kPollMs = 100;
constexpr int kAcceptPollMs = 20;
constexpr int64_t kHelloMs = 500;                   // a hello follows its connection at once
constexpr uint64_t kMagic = 0x706c6d622d6c6e6bULL;  // "plmb-lnk"

// First bytes of every connection; all ranks are of one architecture's byte order only by chance,
// so it travels little-endian.
using Hello = std::array<uint64_t, 3>;  // magic, nonce, index: 0 = control, 1 ... = data
using HelloBytes = std::array<unsigned char, sizeof(Hello)>;

// One connection that is being dialled.
struct Dial {
  LinkSession* session = nullptr;
  size_t index = 0;
  SocketAddress remote;
  Fd fd;
};

Status say_hello(const Dial& dial) {
  HelloBytes bytes{};
  put_words(Hello{kMagic, dial.session->nonce, dial.index}, bytes.data());
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
bool admit(LinkSession& session, Fd fd, const Patience& patience) {
  HelloBytes bytes{};
  const Status read = receive_all(fd.get(), bytes.data(), bytes.size(),
                                  patience.until(Deadline::after_ms(kHelloMs)));
  if (!read) return false;
  Hello hello{};
  get_words(bytes.data(), hello);
  const auto [magic, nonce, index] = hello;
  if (magic != kMagic || nonce != session.nonce || index > session.data.size()) return false;
  keep(session, static_cast<size_t>(index), std::move(fd));
  return true;
}

std::string without_scope(const std::string& ip) { return ip.substr(0, ip.find('%')); }

bool share_subnet(const TcpEndpoint& mine, const TcpEndpoint& peer, const LinkPath& path) {
  const auto pairs = address_pairs(mine, peer);
  return pairs && std::any_of(pairs->begin(), pairs->end(), [&](const AddressPair& pair) {
           return pair.shared_subnet &&
                  without_scope(pair.local.ip) == without_scope(path.local_ip) &&
                  without_scope(pair.remote.ip) == without_scope(path.remote_ip);
         });
}

}  // namespace

void put_words(std::span<const uint64_t> words, unsigned char* at) {
  for (size_t i = 0; i < words.size() * kWordBytes; ++i) {
    at[i] = static_cast<unsigned char>(words[i / kWordBytes] >> (8 * (i % kWordBytes)));
  }
}

void get_words(const unsigned char* at, std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  for (size_t i = 0; i < words.size() * kWordBytes; ++i) {
    words[i / kWordBytes] |= uint64_t{at[i]} << (8 * (i % kWordBytes));
  }
}

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const Patience& patience) {
  std::vector<unsigned char> bytes((numbers.size() + 1) * kWordBytes);
  put_words(std::array{uint64_t{numbers.size()}}, bytes.data());
  put_words(numbers, bytes.data() + kWordBytes);
  return send_all(fd, bytes.data(), bytes.size(), patience);
}

Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const Patience& patience) {
  unsigned char head[kWordBytes] = {};
  if (const Status read = receive_all(fd, head, kWordBytes, patience); !read) {
    return fail(read.error());
  }
  std::array<uint64_t, 1> counts{};
  get_words(head, counts);
  const uint64_t count = counts[0];
  if (count > most) {
    return fail(
        ErrorCode::kProtocol,
        fmt::format("the other end announces {} numbers, at most {} make sense", count, most));
  }
  std::vector<unsigned char> bytes(count * kWordBytes);
  const Status read = receive_all(fd, bytes.data(), bytes.size(), patience);
  if (!read) return fail(read.error());
  std::vector<uint64_t> numbers(count);
  get_words(bytes.data(), numbers);
  return numbers;
}

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
                     const Patience& patience) {
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
    const bool late = patience.over();
    ::poll(entries.data(), static_cast<nfds_t>(entries.size()), late ? 0 : kAcceptPollMs);
    bool any = false;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      Expected<Fd> fd = accept_from(entries[i].fd);
      if (!fd || !fd->valid()) continue;
      any = true;
      tune(fd->get(), waiting[i]->path, options);
      admit(*waiting[i], std::move(*fd), patience);
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

Expected<LinkPath> link_path(Group& group, int peer, const std::vector<RankEndpoint>* endpoints,
                             Deadline deadline) {
  const Expected<Channel*> channel = group.channel(peer, deadline);
  if (!channel) return fail(channel.error());
  const StreamStats stats = (*channel)->stream_stats();
  LinkPath path;
  std::string ignored;
  Expected<SocketAddress> local = address_of_text(stats.local, path.local_ip, path.interface);
  if (!local) return fail(local.error());
  Expected<SocketAddress> remote = address_of_text(stats.remote, path.remote_ip, ignored);
  if (!remote) return fail(remote.error());
  path.local = *local;
  path.remote = *remote;
  // Of several cables the first one, as of addresses.
  const auto ports = (*channel)->stream().rdma_ports();
  if (!ports.empty()) path.rdma = ports.front();
  if (endpoints != nullptr) {
    const auto mine = tcp_endpoint(group.rank(), (*endpoints)[static_cast<size_t>(group.rank())]);
    if (!mine) return fail(mine.error());
    const auto theirs = tcp_endpoint(peer, (*endpoints)[static_cast<size_t>(peer)]);
    if (!theirs) return fail(theirs.error());
    path.direct = share_subnet(*mine, *theirs, path);
  }
  return path;
}

}  // namespace plumbline
