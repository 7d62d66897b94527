#include "probes/actions/netlink_linux.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/fd.h"
#include "core/host/ip.h"
#include "probes/actions/ends.h"

namespace plumbline {
namespace {

constexpr size_t kBuffer = 64 << 10;

struct StateRow {
  unsigned state;
  const char* name;
};
// As ip-neighbour(8) prints them.
constexpr StateRow kStates[] = {
    {NUD_INCOMPLETE, "INCOMPLETE"}, {NUD_REACHABLE, "REACHABLE"}, {NUD_STALE, "STALE"},
    {NUD_DELAY, "DELAY"},           {NUD_PROBE, "PROBE"},         {NUD_FAILED, "FAILED"},
    {NUD_NOARP, "NOARP"},           {NUD_PERMANENT, "PERMANENT"},
};

}  // namespace

NetlinkRequest::NetlinkRequest(uint16_t type, uint16_t flags, const void* body, size_t size) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  header.nlmsg_seq = 1;
  bytes_.assign(reinterpret_cast<const char*>(&header), sizeof header);
  bytes_.append(static_cast<const char*>(body), size);
  close();
}

void NetlinkRequest::add(uint16_t type, const void* data, size_t size) {
  rtattr attribute{};
  attribute.rta_type = type;
  attribute.rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
  bytes_.append(reinterpret_cast<const char*>(&attribute), sizeof attribute);
  bytes_.append(static_cast<const char*>(data), size);
  close();
}

void NetlinkRequest::close() {
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  const auto length = static_cast<uint32_t>(bytes_.size());
  std::memcpy(bytes_.data(), &length, sizeof length);
}

Status ask_netlink(const NetlinkRequest& request, const AgentCall& call,
                   const std::function<void(const nlmsghdr&)>& message, int protocol) {
  const Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!fd.valid()) return fail_errno(ErrorCode::kSystem, "open a netlink socket", errno);
  const std::string& bytes = request.bytes();
  if (::send(fd.get(), bytes.data(), bytes.size(), 0) < 0) {
    return fail_errno(ErrorCode::kSystem, "ask the kernel", errno);
  }
  const bool dump =
      (reinterpret_cast<const nlmsghdr*>(bytes.data())->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  std::vector<char> buffer(kBuffer);
  while (wait_for(fd.get(), POLLIN, call)) {
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return fail_errno(ErrorCode::kSystem, "read the kernel's answer", errno);
    auto left = static_cast<unsigned>(got);
    for (const auto* part = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(part, left);
         part = NLMSG_NEXT(part, left)) {
      if (part->nlmsg_type == NLMSG_DONE) return {};
      if (part->nlmsg_type == NLMSG_ERROR) {
        int error = 0;  // the first member of nlmsgerr
        if (!netlink_body(*part, &error, sizeof error) || error == 0) return {};
        return fail_errno(ErrorCode::kSystem, "the kernel answers", -error);
      }
      message(*part);
      if (!dump) return {};
    }
  }
  return fail(ErrorCode::kTimeout, "the kernel did not answer in time");
}

bool netlink_body(const nlmsghdr& message, void* body, size_t size) {
  if (message.nlmsg_len < NLMSG_LENGTH(size)) return false;
  std::memcpy(body, reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN, size);
  return true;
}

std::map<int, std::string> netlink_attributes(const nlmsghdr& message, size_t body_size) {
  std::map<int, std::string> out;
  const size_t begin = NLMSG_LENGTH(body_size);
  if (message.nlmsg_len < begin) return out;
  const auto* data = reinterpret_cast<const char*>(&message) + NLMSG_ALIGN(begin);
  size_t left = message.nlmsg_len - begin;
  while (left >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, data, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > left) break;
    out[attribute.rta_type & NLA_TYPE_MASK] =
        std::string(data + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
    const size_t step = std::min<size_t>(RTA_ALIGN(attribute.rta_len), left);
    data += step;
    left -= step;
  }
  return out;
}

std::string netlink_ip(const std::map<int, std::string>& attributes, int type, int family) {
  const auto it = attributes.find(type);
  const size_t size = family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
  if (it == attributes.end() || it->second.size() != size) return {};
  return to_text(ip_of_bytes(it->second.data(), family == AF_INET6));
}

uint32_t netlink_number(const std::map<int, std::string>& attributes, int type) {
  const auto it = attributes.find(type);
  uint32_t value = 0;
  if (it != attributes.end() && it->second.size() == sizeof value) {
    std::memcpy(&value, it->second.data(), sizeof value);
  }
  return value;
}

Expected<std::vector<KernelNeighbour>> kernel_neighbours(int family, const AgentCall& call) {
  ndmsg body{};
  body.ndm_family = static_cast<uint8_t>(family);
  const NetlinkRequest request(RTM_GETNEIGH, NLM_F_DUMP, &body, sizeof body);
  std::vector<KernelNeighbour> out;
  const auto read = [&](const nlmsghdr& message) {
    ndmsg entry{};
    if (message.nlmsg_type != RTM_NEWNEIGH || !netlink_body(message, &entry, sizeof entry)) return;
    // A bridge answers for its own table of MACs too (AF_BRIDGE).
    if (entry.ndm_family != AF_INET && entry.ndm_family != AF_INET6) return;
    if (family != AF_UNSPEC && entry.ndm_family != family) return;
    const auto attributes = netlink_attributes(message, sizeof entry);
    KernelNeighbour one;
    one.interface = entry.ndm_ifindex;
    one.ip = netlink_ip(attributes, NDA_DST, entry.ndm_family);
    if (const auto mac = attributes.find(NDA_LLADDR); mac != attributes.end()) {
      one.mac = mac_text(mac->second);
    }
    for (const StateRow& row : kStates) {
      if ((entry.ndm_state & row.state) != 0) one.state = row.name;
    }
    if (!one.ip.empty()) out.push_back(std::move(one));
  };
  if (const Status asked = ask_netlink(request, call, read); !asked) return fail(asked.error());
  return out;
}

}  // namespace plumbline
