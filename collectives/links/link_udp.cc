// Datagrams at a given rate from one rank to another.
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "collectives/links/link_flows.h"
#include "collectives/links/link_numbers.h"
#include "collectives/links/link_tally.h"
#include "transport/tcp/datagram.h"

namespace plumbline {
namespace {

constexpr int kReceiveBuffer = 4 << 20;  // bytes asked for
constexpr uint64_t kMostDatagrams = 50'000'000;
constexpr int kBurst = 32;         // datagrams sent at once to catch up after a late wake
constexpr int64_t kQuietMs = 200;  // after the sender's end: later ones count as lost
constexpr int64_t kUdpReportMs = 3000;
constexpr size_t kHeader = 24;  // bytes: nonce, sequence number, time of sending
constexpr size_t kLargest = 65'507;
constexpr int kMostAtOnce = 500;  // datagrams taken between two looks at the clock

struct Header {
  uint64_t nonce = 0, sequence = 0;
  int64_t sent_ns = 0;
};

// One program's own header between equal programs: only their byte order could differ.
void put(const Header& header, unsigned char* at) {
  const std::array<uint64_t, 3> words = {header.nonce, header.sequence,
                                         static_cast<uint64_t>(header.sent_ns)};
  for (size_t i = 0; i < kHeader; ++i) {
    at[i] = static_cast<unsigned char>(words[i / 8] >> (8 * (i % 8)));
  }
}

Header get(const unsigned char* at) {
  std::array<uint64_t, 3> words{};
  for (size_t i = 0; i < kHeader; ++i) words[i / 8] |= uint64_t{at[i]} << (8 * (i % 8));
  return {words[0], words[1], static_cast<int64_t>(words[2])};
}

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

// Sends on schedule; after a late wake at most kBurst follow at once and the rest is given up, so
// that the burst does not overrun what a steady flow would not.
Expected<uint64_t> send_paced(int fd, const LinkSession& session, const FlowSettings& settings) {
  std::vector<unsigned char> datagram(payload_of(settings), 0);
  const int64_t gap = gap_ns(settings), start = monotonic_ns();
  const uint64_t most = most_datagrams(settings);
  uint64_t sent = 0;
  for (int64_t due = start; due < start + settings.time_ns && sent < most;) {
    const int64_t now = monotonic_ns();
    if (now < due) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
      continue;
    }
    due = std::max(due, now - kBurst * gap);
    put({session.nonce, sent, now}, datagram.data());
    const Expected<bool> done = send_datagram(fd, datagram.data(), datagram.size());
    if (!done) return fail(done.error());
    if (*done) ++sent;
    due += gap;
    if (settings.wait.broken()) break;
  }
  return sent;
}

// Takes the datagrams that wait now, some hundred at most, so that the caller looks at the clock.
Status drain(int fd, const LinkSession& session, DatagramTally& tally,
             std::optional<uint64_t>& dropped, std::vector<unsigned char>& datagram) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    const auto got = receive_datagram(fd, datagram.data(), datagram.size(), dropped);
    if (!got) return fail(got.error());
    if (!*got) return {};
    if (**got < kHeader) continue;
    const Header header = get(datagram.data());
    if (header.nonce == session.nonce) tally.add(header.sequence, header.sent_ns, monotonic_ns());
  }
  return {};
}

}  // namespace

Status udp_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Deadline deadline = Deadline::after_ms(flow_limit_ms(settings.time_ns));
  const int control = session.control.get();
  const auto port = receive_numbers(control, 1, settings.wait, deadline);
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
  const int64_t start = monotonic_ns();
  const Expected<uint64_t> sent = send_paced(socket->get(), session, settings);
  if (!sent) return fail(sent.error());
  const auto elapsed = static_cast<double>(std::max<int64_t>(1, monotonic_ns() - start));
  Status done = send_numbers(control, {*sent}, settings.wait, deadline);
  if (!done) return done;
  const auto report = receive_numbers(control, 5, settings.wait, deadline);
  if (!report) return fail(report.error());
  if (report->size() != 5 || (*report)[0] > *sent) {
    return fail(ErrorCode::kProtocol, "the receiver's report makes no sense");
  }
  LinkUdp udp;
  udp.sent = *sent;
  udp.received = (*report)[0];
  udp.duplicates = (*report)[1];
  udp.reordered = std::min((*report)[2], udp.received);
  if ((*report)[3] > 0) udp.dropped = (*report)[3] - 1;
  if (udp.received > 1) udp.jitter_ns = static_cast<double>((*report)[4]);
  udp.sent_Bps = static_cast<double>(*sent * payload_of(settings)) / elapsed * 1e9;
  result.udp = udp;
  result.elapsed_ns = static_cast<int64_t>(elapsed);
  return {};
}

Status udp_to(LinkSession& session, const FlowSettings& settings) {
  const Deadline deadline = Deadline::after_ms(flow_limit_ms(settings.time_ns));
  const int control = session.control.get();
  // The port of the connections, which firewalls may let through for datagrams too.
  SocketAddress local = session.path.local;
  local.set_port(session.port);
  Expected<Fd> socket = open_datagram(local, kReceiveBuffer);
  if (!socket) socket = open_datagram(session.path.local, kReceiveBuffer);
  const uint64_t port = socket ? local_address(socket->get()).port() : 0;
  Status done = send_numbers(control, {port}, settings.wait, deadline);
  if (!socket) return fail(socket.error());
  DatagramTally tally(most_datagrams(settings));
  std::vector<unsigned char> datagram(kLargest);
  std::optional<uint64_t> dropped;
  std::optional<uint64_t> sent;  // once the sender has ended
  Deadline quiet = Deadline::never();
  while (done && !quiet.passed() && !(sent && tally.received() >= *sent)) {
    pollfd entries[] = {{socket->get(), POLLIN, 0}, {sent ? -1 : control, POLLIN, 0}};
    ::poll(entries, 2, 20);
    if (settings.wait.broken()) return fail(ErrorCode::kAborted, "the group of ranks has failed");
    if (deadline.passed()) return fail(ErrorCode::kTimeout, "the sender of datagrams never ended");
    done = drain(socket->get(), session, tally, dropped, datagram);
    if (!done || sent || entries[1].revents == 0) continue;
    const auto told = receive_numbers(control, 1, settings.wait, deadline);
    if (!told || told->size() != 1) {
      return told ? fail(ErrorCode::kProtocol, "bad end of datagrams") : fail(told.error());
    }
    sent = told->front();
    quiet = Deadline::after_ms(kQuietMs);
  }
  if (!done) return done;
  return send_numbers(
      control,
      {tally.received(), tally.duplicates(), tally.reordered(), dropped ? *dropped + 1 : 0,
       static_cast<uint64_t>(tally.jitter_ns().value_or(0))},
      settings.wait, Deadline::after_ms(kUdpReportMs));
}

}  // namespace plumbline
