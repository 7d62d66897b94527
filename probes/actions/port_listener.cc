#include "probes/actions/port_listener.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/clock.h"
#include "probes/actions/connector.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int64_t kPatience = 5 * kSecond;  // for the first line, and for the end after `hello`
constexpr size_t kMaxAccepted = 4096, kMaxHalfOpen = 1024, kMaxDatagramPeers = 64;
constexpr int kDatagramsAtOnce = 64;
constexpr size_t kUdpHeaderBytes = 8;

// ---- services ----

constexpr int64_t kMaxService = 180 * kSecond;
constexpr int64_t kMaxSilence = 30 * kSecond;  // of the peer, while bytes are expected
constexpr int64_t kMaxSourceMs = 60'000;
constexpr size_t kBlock = 256 << 10;

// One connection in one of the streaming modes: reads and counts until the peer ends, and sends
// zeros meanwhile for as long as it was asked to.
class Pump {
 public:
  Pump(int fd, Deadline send_until, size_t early, const AgentCall& call)
      : fd_(fd), call_(call), cpu_started_ns_(thread_cpu_ns()), last_read_(monotonic_ns()) {
    load_.until = send_until;
    load_.block = kBlock / 2;
    if (early > 0) count(early);
  }

  // False when the connection broke or the time was over.
  bool run() {
    StreamSource source(fd_, load_);
    while (!over(call_)) {
      const bool sending = !source.done();
      if (ended_ && !sending) return true;
      const int64_t silent_ns = monotonic_ns() - std::max(last_read_, load_.until.at_ns());
      if (!sending && silent_ns > kMaxSilence) return false;
      const Expected<bool> sent = sending ? source.step() : Expected<bool>(false);
      const Expected<bool> read = ended_ ? Expected<bool>(false) : read_some();
      if (!sent || !read) return false;
      if (*sent || *read) continue;
      // Short, because the end of sending is noticed here.
      const int events = (ended_ ? 0 : POLLIN) | (sending ? POLLOUT : 0);
      wait_for(fd_, static_cast<short>(events), within(call_, 20 * kMillisecond));
    }
    return false;
  }

  SinkReport report() const {
    return {bytes_, last_ns_ - first_ns_, thread_cpu_ns() - cpu_started_ns_,
            tcp_progress(fd_, 0).segments_in};
  }

 private:
  void count(size_t bytes) {
    last_ns_ = last_read_ = monotonic_ns();
    if (bytes_ == 0) first_ns_ = last_ns_;
    bytes_ += static_cast<int64_t>(bytes);
  }

  Expected<bool> read_some() {
    const auto got = receive_now(fd_, block_.data(), block_.size());
    if (!got) return fail(got.error());
    if (!*got) return false;
    ended_ = **got == 0;
    if (!ended_) count(**got);
    return true;
  }

  int fd_;
  const AgentCall& call_;
  StreamLoad load_;
  int64_t cpu_started_ns_, last_read_;
  int64_t bytes_ = 0, first_ns_ = 0, last_ns_ = 0;
  bool ended_ = false;
  std::vector<char> block_ = std::vector<char>(kBlock);
};

bool say(int fd, const std::string& line, const AgentCall& call) {
  return send_all(fd, line.data(), line.size(), patience_of(call)).has_value();
}

bool serve_stream(int fd, const ProbeLine& line, size_t early, const AgentCall& call) {
  const bool sends = line.mode == "source" || line.mode == "both";
  const int64_t send_ms = sends ? std::clamp<int64_t>(line.argument, 1, kMaxSourceMs) : 0;
  Pump pump(fd, Deadline::after_ms(send_ms), early, call);
  return pump.run() && say(fd, sink_line(pump.report()), call);
}

// The peer's end is its good end.
bool serve_echo(int fd, std::string early, int64_t silence_ns, const AgentCall& call) {
  const EchoSettings settings{kEchoBytes, silence_ns, false, std::move(early)};
  const Status ended = echo_messages(fd, settings, patience_of(call));
  return !ended && ended.error().code == ErrorCode::kPeerLost && ended.error().sys_errno == 0;
}

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

PortRecords::Sizes PortRecords::so_far() const {
  const std::lock_guard lock(mutex_);
  return {accepted_.size(), half_open_.size()};
}

void PortRecords::copy_to(Heard& heard, const Sizes& before) const {
  const std::lock_guard lock(mutex_);
  const auto append = [](auto& to, const auto& from, size_t begin) {
    const size_t first = std::min(begin, from.size());
    to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(first), from.end());
  };
  append(heard.accepted, accepted_, before.accepted);
  append(heard.half_open, half_open_, before.half_open);
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

bool known_service(const std::string& mode) {
  for (const char* known : {"sink", "source", "both", "echo", "idle", "paced"}) {
    if (mode == known) return true;
  }
  return false;
}

void serve_connection(Fd connection, const ProbeLine& line, std::string early,
                      const std::atomic<bool>& ending) {
  // A connection that is to lie idle for so many ms is held a while longer than that.
  const bool idle = line.mode == "idle";
  const int64_t silence_ns =
      kMaxSilence + (idle ? std::min(line.argument, kMaxIdleMs) * kMillisecond : 0);
  const AgentCall call{Deadline::after_ns(idle ? 2 * silence_ns : kMaxService), &ending};
  const int fd = connection.get();
  bool well = say(fd, ok_line(line.nonce), call);
  if (well && (idle || line.mode == "echo")) {
    well = serve_echo(fd, std::move(early), silence_ns, call);
  } else if (well) {
    well = serve_stream(fd, line, early.size(), call);
  }
  // The peer ended first, so TIME-WAIT is at its end, and an answer that got lost is sent again.
  if (!well) close_hard(connection);
}

}  // namespace plumbline
