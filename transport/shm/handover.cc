#include "transport/shm/handover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/control/wire.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMessageBytes = 32 + 8 + 8;
// More than any system passes with one message: so none is cut off, and all that come are closed.
constexpr size_t kMostDescriptors = 512;
constexpr int kBacklog = 4;
// So many strangers are looked at in one go.
constexpr int kMostStrangers = 16;

Digest derived(const Digest& secret, std::string_view purpose) {
  return hmac_sha256(secret, std::as_bytes(std::span(purpose)));
}

// sockaddr_un has room for 104 bytes on macOS, whose directory takes 49 or so.
std::string path_of(const Digest& secret) {
  const Digest name = derived(secret, "plumbline handover path");
  const std::string directory = handover_directory();
  if (directory.empty()) return {};
  std::string path = directory + "plumbline-" + to_hex(std::span(name).first(12));
  return path.size() < sizeof(sockaddr_un{}.sun_path) ? path : std::string();
}

Digest proof_of(const Digest& secret, Handover::Part part) {
  return derived(secret, part == Handover::Part::kConnects ? "plumbline handover: connects"
                                                           : "plumbline handover: listens");
}

Handover::Part other(Handover::Part part) {
  return part == Handover::Part::kConnects ? Handover::Part::kListens : Handover::Part::kConnects;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

// Room for descriptors beside a message.
template <size_t Count>
struct ControlRoom {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(Count * sizeof(int))> bytes{};
};

// All descriptors that came with a message, owned.
std::vector<Fd> descriptors_of(msghdr& message) {
  std::vector<Fd> all;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      all.emplace_back(fd);
      static_cast<void>(::fcntl(fd, F_SETFD, FD_CLOEXEC));
    }
  }
  return all;
}

tl::unexpected<Error> no_message(std::string what) {
  return fail(ErrorCode::kProtocol, "memory is handed over by a message " + std::move(what),
              "do all ranks run the same version of plumbline?");
}

// What waits in this socket; nothing = no message does, or the other end has gone.
Expected<std::optional<HandedMemory>> next_of(int socket, const Digest& proof) {
  std::array<std::byte, kMessageBytes> bytes{};
  ControlRoom<kMostDescriptors> room;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = static_cast<decltype(message.msg_controllen)>(room.bytes.size());
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, receive_flags());
  } while (got < 0 && errno == EINTR);
  const bool none = got == 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNRESET;
  if (got < 0 && !none) {
    return fail_errno(ErrorCode::kSystem, "take memory that is handed over", errno,
                      resource_hint(errno));
  }
  if (got <= 0) return std::optional<HandedMemory>();
  std::vector<Fd> came = descriptors_of(message);
  if ((message.msg_flags & MSG_CTRUNC) != 0 && came.empty()) {
    return fail_errno(ErrorCode::kSystem, "take memory that is handed over", EMFILE,
                      resource_hint(EMFILE));
  }
  if (static_cast<size_t>(got) != bytes.size() || (message.msg_flags & MSG_CTRUNC) != 0) {
    return no_message("that is cut off");
  }
  if (came.size() != 1) return no_message(fmt::format("with {} descriptors", came.size()));
  WireReader in(bytes);
  Digest proves{};
  in.bytes(proves);
  if (!equal_digest(proves, proof)) return no_message("of somebody else");
  HandedMemory handed;
  handed.id = in.u64();
  handed.bytes = in.u64();
  handed.memory = std::move(came.front());
  return std::optional<HandedMemory>(std::move(handed));
}

}  // namespace

Handover::Handover(const Digest& secret, Part part)
    : part_(part),
      path_(path_of(secret)),
      own_proof_(proof_of(secret, part)),
      peer_proof_(proof_of(secret, other(part))) {}

Status Handover::meet() {
  if (path_.empty()) {
    return fail(ErrorCode::kUnsupported,
                "the system has no directory where two processes can meet, or its path is too long "
                "for a socket");
  }
  const sockaddr_un address = address_of(path_);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  Fd fd = new_stream_socket(AF_UNIX);
  const bool listens = part_ == Part::kListens;
  // To connect takes no wait: the system does it without the one who listens.
  const bool met = fd.valid() && (listens ? ::bind(fd.get(), at, sizeof address) == 0 &&
                                                ::listen(fd.get(), kBacklog) == 0
                                          : ::connect(fd.get(), at, sizeof address) == 0);
  const int err = errno;
  if (!listens) remove_path();
  if (!met) {
    return fail_errno(ErrorCode::kSystem,
                      fmt::format("{} {}", listens ? "listen at" : "connect to", path_), err,
                      resource_hint(err));
  }
  (listens ? listener_ : socket_) = std::move(fd);
  return {};
}

void Handover::remove_path() {
  if (std::exchange(path_there_, false)) ::unlink(path_.c_str());
}

void Handover::close() {
  remove_path();
  listener_.reset();
  socket_.reset();
}

bool Handover::send(uint64_t id, uint64_t bytes, int memory) {
  if (!socket_.valid()) return false;
  WireWriter out;
  out.bytes(own_proof_);
  out.u64(id);
  out.u64(bytes);
  ControlRoom<1> room;
  iovec part{const_cast<std::byte*>(out.view().data()), out.view().size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = static_cast<decltype(message.msg_controllen)>(room.bytes.size());
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof memory);
  std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, send_flags());
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(kMessageBytes)) return true;
  // Part of a message (no system cuts one so small) would garble those behind it.
  if (sent >= 0) socket_.reset();
  return false;
}

Expected<std::optional<HandedMemory>> Handover::receive() {
  if (socket_.valid()) return next_of(socket_.get(), peer_proof_);
  if (listener_.valid()) return accept_first();
  return std::optional<HandedMemory>();
}

// The other end says that it has come only after it has sent: so whoever has sent nothing, or
// something else, is not it.
Expected<std::optional<HandedMemory>> Handover::accept_first() {
  for (int strangers = 0; strangers < kMostStrangers; ++strangers) {
    Fd candidate = accept_socket(listener_.get());
    if (!candidate.valid()) break;
    Expected<std::optional<HandedMemory>> first = next_of(candidate.get(), peer_proof_);
    if (!first && first.error().code != ErrorCode::kProtocol) return first;
    if (!first || !*first) continue;
    socket_ = std::move(candidate);
    listener_.reset();
    remove_path();
    return first;
  }
  return std::optional<HandedMemory>();
}

}  // namespace plumbline
