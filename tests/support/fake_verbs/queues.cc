#include "tests/support/fake_verbs/queues.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "tests/support/fake_verbs/settings.h"

namespace plumbline::fake {
namespace {

constexpr int kTooLong = 1, kFlushed = 5, kNoAccess = 10, kNoAnswer = 12;  // of completions
constexpr int kLookMs = 50;

// An abstract name, which goes with its socket, or a file.
sockaddr_un name_of(uint32_t number, socklen_t& length) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (const auto now = settings(); !now->sockets.empty()) {
    std::snprintf(name.sun_path, sizeof name.sun_path, "%s/%u", now->sockets.c_str(), number);
    length = sizeof name;
    return name;
  }
  const int written =
      std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "plumbline-fake-verbs-%u-%u",
                    static_cast<unsigned>(getuid()), number);
  length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(written));
  return name;
}

struct Registered {
  uint64_t address, bytes;
  int access;
};
std::mutex regions_mutex;
std::map<uint32_t, Registered> regions;
uint32_t next_key = 1000;

bool is_lost(uint32_t bytes) {
  const auto now = settings();
  if (bytes < static_cast<uint32_t>(now->lose_bytes)) return false;
  return now->lose > 0 && ++now->messages % now->lose == 0;
}

}  // namespace

uint32_t add_region(void* address, size_t bytes, int access) {
  const std::lock_guard lock(regions_mutex);
  regions[next_key] = {reinterpret_cast<uintptr_t>(address), bytes, access};
  return next_key++;
}
void remove_region(uint32_t key) {
  const std::lock_guard lock(regions_mutex);
  regions.erase(key);
}
bool may_use(uint32_t key, uint64_t address, uint32_t bytes, int access) {
  const std::lock_guard lock(regions_mutex);
  const auto found = regions.find(key);
  if (found == regions.end()) return false;
  const Registered& region = found->second;
  return (region.access & access) == access && address >= region.address && bytes <= region.bytes &&
         address - region.address <= region.bytes - bytes;
}

Channel::Channel(VerbsContext* of) {
  context = of;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  fd = ends[0];
  write_end_ = ends[1];
}
Channel::~Channel() {
  ::close(fd);
  ::close(write_end_);
}
void Channel::tell(VerbsCompletionQueue* queue) {
  const std::lock_guard lock(mutex_);
  events_.push_back(queue);
  const char one = 1;
  [[maybe_unused]] const ssize_t done = ::write(write_end_, &one, 1);
}
bool Channel::take(VerbsCompletionQueue** queue) {
  char one = 0;
  if (::read(fd, &one, 1) != 1) return false;
  const std::lock_guard lock(mutex_);
  *queue = events_.front();
  events_.pop_front();
  return true;
}

void CompletionQueue::push(const VerbsCompletion& completion) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(completion);
  if (!armed_ || channel == nullptr) return;
  armed_ = false;
  static_cast<Channel*>(channel)->tell(this);
}
int CompletionQueue::poll(int most, VerbsCompletion* out) {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (; count < most && !waiting_.empty(); ++count) {
    out[count] = waiting_.front();
    waiting_.pop_front();
  }
  return count;
}
void CompletionQueue::arm() {
  const std::lock_guard lock(mutex_);
  armed_ = true;
}

QueuePair::QueuePair(const VerbsQpRequest& request) {
  send_cq = request.send_cq;
  receive_cq = request.receive_cq;
  type = request.type;
  std::random_device random;
  for (int tries = 0; tries < 32 && listener_ < 0; ++tries) {
    number = random() & 0xffffff;
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = 0;
    const sockaddr_un name = name_of(number, length);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0 && ::listen(fd, 1) == 0) {
      listener_ = fd;
    } else {
      ::close(fd);
    }
  }
  if (!bound()) return;
  reader_ = std::thread([this] { read_all(); });
  writer_ = std::thread([this] { write_all(); });
}

QueuePair::~QueuePair() {
  ending_ = true;
  if (out_ >= 0) ::shutdown(out_, SHUT_RDWR);
  if (const int in = in_; in >= 0) ::shutdown(in, SHUT_RDWR);
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
  if (!settings()->sockets.empty()) {
    socklen_t length = 0;
    ::unlink(name_of(number, length).sun_path);
  }
  for (const int fd : {listener_, out_, in_.load()}) {
    if (fd >= 0) ::close(fd);
  }
}

int QueuePair::connect_to(uint32_t peer) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = 0;
  const sockaddr_un name = name_of(peer, length);
  const bool found = ::connect(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0;
  if (!found) ::close(fd);
  const std::lock_guard lock(mutex_);
  if (found) out_ = fd;
  connected_ = true;  // a card does not ask the other end either
  changed_.notify_all();
  return 0;
}

int QueuePair::post(const VerbsSend& send) {
  const bool reads = send.opcode == kRdmaRead && type == kReliable;
  const bool moves = send.opcode == kSend || send.opcode == kRdmaWrite;
  if ((!moves && !reads) || send.piece_count != 1) return EINVAL;
  Sending one{send, {}, *send.pieces};
  if ((send.flags & kInline) != 0) {
    const auto* from = reinterpret_cast<const std::byte*>(one.piece.address);
    one.copy.assign(from, from + one.piece.length);
  }
  const bool own = one.copy.empty() || one.request.opcode == kRdmaRead;
  if (own &&
      !may_use(one.piece.local_key, one.piece.address, one.piece.length, reads ? kLocalWrite : 0)) {
    return EFAULT;
  }
  // Without a completion nothing tells a sanitizer that its bytes have left.
  if (send.opcode == kRdmaWrite && one.copy.empty()) {
    const auto* from = reinterpret_cast<const std::byte*>(one.piece.address);
    one.copy.assign(from, from + one.piece.length);
  }
  const std::lock_guard lock(mutex_);
  if (stopped_) return EINVAL;
  sending_.push_back(std::move(one));
  changed_.notify_all();
  return 0;
}

int QueuePair::post(const VerbsReceive& receive) {
  const std::lock_guard lock(mutex_);
  const int most = settings()->posts;
  if (most > 0 && static_cast<int>(places_.size()) >= most) return ENOMEM;
  const VerbsPiece& piece = *receive.pieces;
  if (!may_use(piece.local_key, piece.address, piece.length, kLocalWrite)) return EFAULT;
  places_.push_back(receive);
  place_pieces_.push_back(*receive.pieces);
  changed_.notify_all();
  return 0;
}

void QueuePair::stop() {
  std::deque<Sending> flushed;
  std::deque<VerbsReceive> places;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    flushed.swap(sending_);
    places.swap(places_);
    place_pieces_.clear();
  }
  for (const Sending& one : flushed) complete(false, one.request.id, kFlushed, 0);
  for (const VerbsReceive& one : places) complete(true, one.id, kFlushed, 0);
  if (out_ >= 0) ::shutdown(out_, SHUT_RDWR);
  if (const int in = in_; in >= 0) ::shutdown(in, SHUT_RDWR);
}

void QueuePair::complete(bool receives, uint64_t id, int status, uint32_t bytes) {
  VerbsCompletion completion;
  completion.id = id;
  completion.status = status;
  completion.bytes = bytes;
  completion.qp = number;
  static_cast<CompletionQueue*>(receives ? receive_cq : send_cq)->push(completion);
}

void QueuePair::write_all() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ending_ || (connected_ && !sending_.empty()); });
    if (ending_) return;
    const Sending one = std::move(sending_.front());
    sending_.pop_front();
    lock.unlock();
    if (one.request.opcode == kRdmaRead) {
      sent(one.request, read_memory(one.request, one.piece) ? 0 : kNoAccess);
      continue;
    }
    const Header header{one.piece.length, one.request.immediate};
    const void* const bytes = one.copy.empty() ? reinterpret_cast<const void*>(one.piece.address)
                                               : static_cast<const void*>(one.copy.data());
    if (one.request.opcode == kRdmaWrite) {
      const bool lost = settings()->deaf || (type == kUnreliable && is_lost(one.piece.length));
      sent(one.request, lost || write_memory(one.request, bytes, one.piece.length) ? 0 : kNoAccess);
      continue;
    }
    bool there = true;
    if (const auto now = settings(); one.piece.length <= static_cast<uint32_t>(now->linger_bytes)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(now->linger_ms));
    }
    const bool lost = settings()->deaf || (type == kUnreliable && is_lost(one.piece.length));
    if (!lost) {
      there = send_fully(&header, sizeof header) && send_fully(bytes, one.piece.length);
    }
    if (ending_) return;
    sent(one.request, there || type == kUnreliable ? 0 : kNoAnswer);
  }
}

// Requests that went well are told of where that was asked for only.
void QueuePair::sent(const VerbsSend& request, int status) {
  if (status == 0 && (request.flags & kSignalled) == 0) return;
  complete(false, request.id, status, 0);
}

// The process at the other end, as long as its queue pair is there and lets its memory be used; 0 =
// there is none.
int QueuePair::process_of_memory(const VerbsSend& request, uint32_t bytes, int access) const {
  ucred peer{};
  socklen_t length = sizeof peer;
  pollfd entry{out_, POLLOUT, 0};
  if (::getsockopt(out_, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      ::poll(&entry, 1, 0) < 0 || (entry.revents & (POLLHUP | POLLERR)) != 0) {
    return 0;
  }
  // Of another process nobody here knows the regions.
  const bool foreign = peer.pid != ::getpid();
  return foreign || may_use(request.remote_key, request.remote_address, bytes, access) ? peer.pid
                                                                                       : 0;
}
bool QueuePair::read_memory(const VerbsSend& request, const VerbsPiece& piece) const {
  const int process = process_of_memory(request, piece.length, kRemoteRead);
  const iovec to{reinterpret_cast<void*>(piece.address), piece.length};
  const iovec from{reinterpret_cast<void*>(request.remote_address), piece.length};
  return process > 0 &&
         ::process_vm_readv(process, &to, 1, &from, 1, 0) == static_cast<ssize_t>(piece.length);
}
bool QueuePair::write_memory(const VerbsSend& request, const void* bytes, uint32_t length) const {
  const int process = process_of_memory(request, length, kRemoteWrite);
  const iovec from{const_cast<void*>(bytes), length};
  const iovec to{reinterpret_cast<void*>(request.remote_address), length};
  return process > 0 &&
         ::process_vm_writev(process, &from, 1, &to, 1, 0) == static_cast<ssize_t>(length);
}

void QueuePair::read_all() {
  while (!ending_) {
    pollfd entry{listener_, POLLIN, 0};
    if (::poll(&entry, 1, kLookMs) <= 0) continue;
    in_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    break;
  }
  while (!ending_ && read_message(in_)) {
  }
}

bool QueuePair::read_message(int from) {
  Header header{};
  if (!read_fully(from, &header, sizeof header)) return false;
  std::unique_lock lock(mutex_);
  if (type == kReliable) changed_.wait(lock, [&] { return ending_ || !places_.empty(); });
  if (ending_) return false;
  std::vector<std::byte> lost;
  if (places_.empty()) {
    lock.unlock();
    lost.resize(header.bytes);
    return read_fully(from, lost.data(), lost.size());
  }
  const uint64_t id = places_.front().id;
  const VerbsPiece place = place_pieces_.front();
  places_.pop_front();
  place_pieces_.pop_front();
  lock.unlock();
  if (header.bytes > place.length) {
    complete(true, id, kTooLong, 0);
    return false;
  }
  if (!read_fully(from, reinterpret_cast<void*>(place.address), header.bytes)) return false;
  complete(true, id, 0, header.bytes);
  return true;
}

bool QueuePair::read_fully(int from, void* to, size_t bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(from, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool QueuePair::send_fully(const void* from, size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(out_, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace plumbline::fake
