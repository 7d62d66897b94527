// Datagrams at a given rate from one rank to another.
#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "collectives/links/link_session.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int kReceiveBuffer = 4 << 20;  // bytes asked for
constexpr uint64_t kMostDatagrams = 50'000'000;
constexpr int kBurst = 31;         // datagrams sent at once to catch up after a late wake
constexpr int64_t kQuietMs = 200;  // after the sender's end: later ones count as lost
constexpr int64_t kUdpReportMs = 3000;
using Header = std::array<uint64_t, 3>;  // nonce, sequence number, time of sending (ns)
constexpr size_t kHeader = sizeof(Header);
constexpr size_t kLargest = 65'507;
constexpr int kMostAtOnce = 500;  // datagrams taken between two looks at the clock

size_t payload_of(const FlowSettings& settings) {
  return std::clamp(settings.datagram_bytes, kHeader, kLargest);
}

int64_t gap_ns(const FlowSettings& settings) {
  const double bits = static_cast<double>(payload_of(settings)) * 8;
  return std::max<int64_t>(
      1, static_cast<int64_t>(bits * 1e9 / std::max(1.0, static_cast<double>(settings.rate_bps))));
}

// More than the sender can send in its time, with room for a clock that runs a little fast.
uint64_t most_datagrams(const FlowSettings& settings) {
  const int64_t fit =
      settings.time_ns / gap_ns(settings) + settings.time_ns / gap_ns(settings) / 10;
  return std::min(kMostDatagrams, static_cast<uint64_t>(fit) + 1000);
}

Expected<DatagramsSent> send_paced(int fd, const LinkSession& session,
                                   const FlowSettings& settings) {
  std::vector<unsigned char> datagram(payload_of(settings), 0);
  const auto fill = [&](uint64_t number, int64_t now_ns) -> std::string_view {
    put_words(Header{session.nonce, number, static_cast<uint64_t>(now_ns)}, datagram.data());
    return {reinterpret_cast<const char*>(datagram.data()), datagram.size()};
  };
  const DatagramLoad load{gap_ns(settings), kBurst, most_datagrams(settings),
                          Deadline::after_ns(settings.time_ns)};
  DatagramsSent out = send_numbered(fd, nullptr, load, fill, settings.wait);
  if (!out.status) return fail(out.status.error());
  if (out.refusal == EPERM) return fail(socket_error("send UDP to " + session.name, EPERM));
  return out;
}

// Takes the datagrams that wait now, some hundred at most, so that the caller looks at the clock.
Status drain(int fd, const LinkSession& session, DatagramTally& tally,
             std::vector<unsigned char>& datagram) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    const auto got = receive_datagram(fd, datagram.data(), datagram.size());
    if (!got) return fail(got.error());
    if (!*got) return {};
    if (**got < kHeader) continue;
    Header header{};
    get_words(datagram.data(), header);
    const auto [nonce, sequence, sent_ns] = header;
    if (nonce != session.nonce) continue;
    tally.add(sequence, static_cast<int64_t>(sent_ns), monotonic_ns());
  }
  return {};
}

}  // namespace

Status udp_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Patience patience =
      settings.wait.until(Deadline::after_ms(flow_limit_ms(settings.time_ns)));
  const int control = session.control.get();
  const auto port = receive_numbers(control, 1, patience);
  if (!port) return fail(port.error());
  if (port->size() != 1 || port->front() == 0 || port->front() > 65535) {
    return fail(ErrorCode::kSystem, "the receiver has no UDP port");
  }
  SocketAddress local = session.path.local, remote = session.path.remote;
  local.set_port(0);
  remote.set_port(static_cast<uint16_t>(port->front()));
  Expected<Fd> socket = open_datagram(local, kReceiveBuffer);
  if (!socket) return fail(socket.error());
  if (const Status ready = connect_datagram(socket->get(), remote); !ready) return ready;
  const Expected<DatagramsSent> paced = send_paced(socket->get(), session, settings);
  if (!paced) return fail(paced.error());
  const uint64_t sent = paced->sent;
  const auto elapsed = static_cast<double>(std::max<int64_t>(1, paced->duration_ns));
  Status done = send_numbers(control, {sent}, patience);
  if (!done) return done;
  const auto report = receive_numbers(control, 5, patience);
  if (!report) return fail(report.error());
  if (report->size() != 5 || (*report)[0] > sent) {
    return fail(ErrorCode::kProtocol, "the receiver's report makes no sense");
  }
  LinkUdp udp;
  udp.sent = sent;
  udp.received = (*report)[0];
  udp.duplicates = (*report)[1];
  udp.reordered = std::min((*report)[2], udp.received);
  if ((*report)[3] > 0) udp.dropped = (*report)[3] - 1;
  if (udp.received > 1) udp.jitter_ns = static_cast<double>((*report)[4]);
  udp.sent_Bps = static_cast<double>(sent * payload_of(settings)) / elapsed * 1e9;
  result.udp = udp;
  result.elapsed_ns = static_cast<int64_t>(elapsed);
  return {};
}

Status udp_to(LinkSession& session, const FlowSettings& settings) {
  const Patience patience =
      settings.wait.until(Deadline::after_ms(flow_limit_ms(settings.time_ns)));
  const int control = session.control.get();
  // The port of the connections, which firewalls may let through for datagrams too.
  SocketAddress local = session.path.local;
  local.set_port(session.port);
  Expected<Fd> socket = open_datagram(local, kReceiveBuffer);
  if (!socket) socket = open_datagram(session.path.local, kReceiveBuffer);
  const uint64_t port = socket ? local_address(socket->get()).port() : 0;
  Status done = send_numbers(control, {port}, patience);
  if (!socket) return fail(socket.error());
  DatagramTally tally(most_datagrams(settings));
  std::vector<unsigned char> datagram(kLargest);
  std::optional<uint64_t> sent;  // once the sender has ended
  Deadline quiet = Deadline::never();
  while (done && !quiet.passed() && !(sent && tally.received() >= *sent)) {
    pollfd entries[] = {{socket->get(), POLLIN, 0}, {sent ? -1 : control, POLLIN, 0}};
    ::poll(entries, 2, 20);
    if (patience.over()) return fail(ErrorCode::kTimeout, "the sender of datagrams never ended");
    done = drain(socket->get(), session, tally, datagram);
    if (!done || sent || entries[1].revents == 0) continue;
    const auto told = receive_numbers(control, 1, patience);
    if (!told || told->size() != 1) {
      return told ? fail(ErrorCode::kProtocol, "bad end of datagrams") : fail(told.error());
    }
    sent = told->front();
    quiet = Deadline::after_ms(kQuietMs);
  }
  if (!done) return done;
  const std::optional<uint64_t> dropped = socket_drops(socket->get());
  return send_numbers(
      control,
      {tally.received(), tally.duplicates(), tally.reordered(), dropped ? *dropped + 1 : 0,
       static_cast<uint64_t>(tally.jitter_ns().value_or(0))},
      settings.wait.until(Deadline::after_ms(kUdpReportMs)));
}

}  // namespace plumbline
