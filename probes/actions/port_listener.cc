#include "probes/actions/port_listener.h"

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/service.h"
#include "transport/traffic/datagrams.h"

namespace plumbline {
namespace {

constexpr int64_t kPatience = 5 * kSecond;  // for the first line, and for the end after `hello`
constexpr size_t kMaxAccepted = 4096, kMaxHalfOpen = 1024, kMaxDatagramPeers = 64;
constexpr int kDatagramsAtOnce = 64;
constexpr size_t kUdpHeaderBytes = 8;

}  // namespace

size_t PortRecords::add_accepted(const std::string& peer_ip, int peer_port) {
  const std::lock_guard lock(mutex_);
  if (accepted_.size() >= kMaxAccepted) return kMaxAccepted;
  accepted_.push_back({ip_, port_, peer_ip, peer_port, {}});
  return accepted_.size() - 1;
}

void PortRecords::set_nonce(size_t number, const std::string& nonce) {
  const std::lock_guard lock(mutex_);
  if (number < accepted_.size()) accepted_[number].nonce = nonce;
}

void PortRecords::add_half_open(const HalfOpenConnection& connection) {
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(half_open_.begin(), half_open_.end(), [&](const HalfOpenConnection& old) {
        return old.peer_port == connection.peer_port && old.peer_ip == connection.peer_ip;
      });
  if (known || half_open_.size() >= kMaxHalfOpen) return;
  half_open_.push_back({ip_, port_, connection.peer_ip, connection.peer_port});
}

void PortRecords::add_datagram(const std::string& peer_ip, int packet_bytes) {
  const std::lock_guard lock(mutex_);
  auto it = std::find_if(datagrams_.begin(), datagrams_.end(),
                         [&](const SeenDatagrams& seen) { return seen.peer_ip == peer_ip; });
  if (it == datagrams_.end()) {
    if (datagrams_.size() >= kMaxDatagramPeers) return;
    it = datagrams_.insert(it, {ip_, port_, peer_ip, 0, 0});
  }
  it->largest = std::max(it->largest, packet_bytes);
  ++it->count;
}

size_t PortRecords::accepted_so_far() const {
  const std::lock_guard lock(mutex_);
  return accepted_.size();
}

size_t PortRecords::half_open_so_far() const {
  const std::lock_guard lock(mutex_);
  return half_open_.size();
}

void PortRecords::copy_to(Heard& heard, size_t accepted_before, size_t half_open_before) const {
  const std::lock_guard lock(mutex_);
  const auto append = [](auto& to, const auto& from, size_t begin) {
    const size_t first = std::min(begin, from.size());
    to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(first), from.end());
  };
  append(heard.accepted, accepted_, accepted_before);
  append(heard.half_open, half_open_, half_open_before);
  append(heard.datagrams, datagrams_, 0);
}

std::shared_ptr<PortListener> open_port(const ListenAddress& address, int port,
                                        ListenState& state) {
  state = {address.ip, port, "failed", {}, {}, {}, false};
  const auto where =
      make_socket_address(address.ip, static_cast<uint16_t>(port), address.interface);
  if (!where) {
    state.error = where.error().what;
    return nullptr;
  }
  auto tcp = listen_on(*where, {});
  if (!tcp) {
    const int err = tcp.error().sys_errno;
    state.error = err != 0 ? errno_name(err) : tcp.error().what;
    if (err == EADDRINUSE) state.listener = "in_use";
    return nullptr;
  }
  auto listener = std::make_shared<PortListener>();
  listener->ip = address.ip;
  listener->plain_ip = ip_text(*where);
  listener->port = port;
  listener->tcp = std::move(*tcp);
  // Best effort: without it only the probes of the path's MTU are poorer.
  if (auto udp = open_datagram(*where, 0)) listener->udp = std::move(*udp);
  listener->records = std::make_shared<PortRecords>(address.ip, port);
  state.listener = "up";
  state.udp = listener->udp.valid();
  return listener;
}

void answer_datagrams(PortListener& listener) {
  std::array<char, 65536> buffer;
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    SocketAddress peer;
    peer.length = sizeof peer.storage;
    const ssize_t got = ::recvfrom(listener.udp.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                   peer.get(), &peer.length);
    if (got < 0) return;
    const auto size = static_cast<size_t>(got);
    const int packet = static_cast<int>(size + kUdpHeaderBytes) + ip_header_bytes(peer.family());
    listener.records->add_datagram(ip_text(peer), packet);
    const std::string_view text(buffer.data(), size);
    const auto line = parse_probe_line(text.substr(0, text.find('\n') + 1));
    if (!line || line->mode != "size") continue;
    const std::string answer = probe_line({line->nonce, "size", got});
    if (answer.size() > size) continue;
    ::sendto(listener.udp.get(), answer.data(), answer.size(), MSG_DONTWAIT, peer.get(),
             peer.length);
  }
}

Pending::Pending(Fd fd, std::shared_ptr<PortRecords> records, size_t number)
    : fd_(std::move(fd)),
      records_(std::move(records)),
      number_(number),
      until_ns_(monotonic_ns() + kPatience) {}

bool Pending::expired() const { return monotonic_ns() > until_ns_; }

void Pending::refuse() { close_hard(fd_); }

Pending::Next Pending::step() {
  char buffer[kMaxProbeLine];
  const size_t room = answered_ ? sizeof buffer : kMaxProbeLine - text_.size();
  const auto got = receive_now(fd_.get(), buffer, room);
  if (!got) return Next::kClose;
  if (!*got) return Next::kWait;
  if (answered_) {
    if (**got == 0) fd_.reset();  // the peer closed first: nothing stays on our side
    return **got == 0 ? Next::kClose : Next::kWait;
  }
  if (**got == 0) return Next::kClose;
  text_.append(buffer, **got);
  return first_line();
}

Pending::Next Pending::first_line() {
  static constexpr std::string_view kBegin = "PLPROBE1 ";
  const size_t end = text_.find('\n');
  if (end == std::string::npos) {
    // Strangers are known by their first bytes already.
    const size_t size = std::min(text_.size(), kBegin.size());
    const bool possible = kBegin.substr(0, size) == std::string_view(text_).substr(0, size);
    return possible && text_.size() < kMaxProbeLine ? Next::kWait : Next::kClose;
  }
  const auto line = parse_probe_line(text_.substr(0, end + 1));
  if (!line) return Next::kClose;
  line_ = *line;
  text_.erase(0, end + 1);
  records_->set_nonce(number_, line_.nonce);
  if (known_service(line_.mode)) return Next::kServe;
  if (line_.mode != "hello") return Next::kClose;
  const std::string answer = ok_line(line_.nonce);
  const ssize_t sent = ::send(fd_.get(), answer.data(), answer.size(), send_flags());
  if (sent != static_cast<ssize_t>(answer.size())) return Next::kClose;
  answered_ = true;
  until_ns_ = monotonic_ns() + kPatience;
  return Next::kWait;
}

}  // namespace plumbline
