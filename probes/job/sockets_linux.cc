#include "probes/job/sockets_linux.h"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/host/ip.h"
#include "probes/actions/netlink_linux.h"

namespace plumbline {
namespace {

constexpr size_t kMostSockets = 65'536;  // looked at

// As the kernel numbers them (include/net/tcp_states.h), in the words of ss(8).
constexpr const char* kStates[] = {
    "",       "ESTABLISHED", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT",
    "UNCONN", "CLOSE-WAIT",  "LAST-ACK", "LISTEN",   "CLOSING",    "SYN-RECV"};
constexpr uint32_t kTimeWait = 6;
// Of sock_diag's idiag_timer.
constexpr const char* kTimers[] = {"", "retransmit", "keepalive", "", "probe"};

// IPv4 within IPv6 is IPv4, so that both ends of a connection read the same.
std::string address_text(const void* bytes, bool v6) {
  std::string text = to_text(ip_of_bytes(bytes, v6));
  constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = text.starts_with(kMapped) && text.find('.') != text.npos;
  return mapped ? text.substr(kMapped.size()) : text;
}

JobTcp account_of(const std::string& bytes) {
  tcp_info info{};  // an older kernel knows less of it
  std::memcpy(&info, bytes.data(), std::min(bytes.size(), sizeof info));
  JobTcp out;
  out.unacknowledged = info.tcpi_unacked;
  out.not_sent = info.tcpi_notsent_bytes;
  out.send_window = info.tcpi_snd_wnd;
  out.retransmits = info.tcpi_retransmits;
  out.retransmitted = info.tcpi_total_retrans;
  out.backoff = info.tcpi_backoff;
  out.sent_ms = info.tcpi_last_data_sent;
  out.received_ms = info.tcpi_last_data_recv;
  const auto count = [](uint64_t value) {
    return static_cast<int64_t>(std::min<uint64_t>(value, uint64_t{1} << 53));
  };
  out.bytes_acked = count(info.tcpi_bytes_acked);
  out.bytes_received = count(info.tcpi_bytes_received);
  out.segment_bytes = info.tcpi_snd_mss;
  return out;
}

}  // namespace

std::optional<KernelSocket> kernel_socket(const nlmsghdr& message) {
  inet_diag_msg body{};
  if (message.nlmsg_type != SOCK_DIAG_BY_FAMILY || !netlink_body(message, &body, sizeof body)) {
    return std::nullopt;
  }
  const bool v6 = body.idiag_family == AF_INET6;
  if ((!v6 && body.idiag_family != AF_INET) || body.idiag_state >= std::size(kStates)) {
    return std::nullopt;
  }
  KernelSocket out;
  out.inode = body.idiag_inode;
  JobSocket& socket = out.socket;
  socket.state = kStates[body.idiag_state];
  socket.ip = address_text(body.id.idiag_src, v6);
  socket.port = ntohs(body.id.idiag_sport);
  if (socket.state != "LISTEN") {
    socket.peer_ip = address_text(body.id.idiag_dst, v6);
    socket.peer_port = ntohs(body.id.idiag_dport);
  }
  socket.uid = body.idiag_uid;
  socket.receive_queue = body.idiag_rqueue;
  socket.send_queue = body.idiag_wqueue;
  if (body.idiag_timer < std::size(kTimers)) socket.timer = kTimers[body.idiag_timer];
  const auto attributes = netlink_attributes(message, sizeof body);
  const auto info = attributes.find(INET_DIAG_INFO);
  if (info != attributes.end() && socket.state != "LISTEN") socket.tcp = account_of(info->second);
  return out;
}

KernelSockets read_kernel_sockets(const AgentCall& call) {
  KernelSockets out;
  for (const int family : {AF_INET, AF_INET6}) {
    inet_diag_req_v2 body{};
    body.sdiag_family = static_cast<uint8_t>(family);
    body.sdiag_protocol = IPPROTO_TCP;
    body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    body.idiag_states = ~(1U << kTimeWait);
    const NetlinkRequest request(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &body, sizeof body);
    const Status asked = ask_netlink(
        request, call,
        [&](const nlmsghdr& message) {
          if (out.sockets.size() >= kMostSockets) return;
          if (auto socket = kernel_socket(message)) out.sockets.push_back(std::move(*socket));
        },
        NETLINK_SOCK_DIAG);
    if (!asked) out.cut.push_back("TCP sockets: " + asked.error().message());
  }
  if (out.sockets.size() >= kMostSockets) {
    out.cut.push_back(
        fmt::format("more than {} TCP sockets: the others are left out", kMostSockets));
  }
  return out;
}

}  // namespace plumbline
