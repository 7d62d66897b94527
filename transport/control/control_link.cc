#include "transport/control/control_link.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

bool would_block(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

tl::unexpected<Error> nonsense() {
  return fail(ErrorCode::kProtocol, "control connection carries bytes that are not ours",
              "are all ranks of the same build?");
}

}  // namespace

void ControlLink::add_to(PollSet& poll) {
  poll_index_ = poll.add(fd_.get(), unsent() > 0 ? POLLIN | POLLOUT : POLLIN);
}

void ControlLink::send(std::span<const std::byte> message) {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  output_.insert(output_.end(), message.begin(), message.end());
}

void ControlLink::finish() { finishing_ = true; }

Status ControlLink::step(const PollSet& poll, const Handler& handler) {
  const bool fired = poll_index_ != PollSet::kNotAdded && poll.fired(poll_index_);
  poll_index_ = PollSet::kNotAdded;
  const Status written = flush();
  // A peer that is gone may have said why before: its last words count more than the broken pipe.
  const Status read = fired || !written ? fill(handler) : Status();
  if (!read) return read;
  return written;
}

Status ControlLink::flush() {
  while (unsent() > 0) {
    const ssize_t done = ::send(fd_.get(), output_.data() + sent_, unsent(), send_flags());
    if (done < 0) {
      if (would_block(errno)) return {};
      return fail(socket_error("control connection failed", errno));
    }
    sent_ += static_cast<size_t>(done);
  }
  if (finishing_ && !shut_) {
    ::shutdown(fd_.get(), SHUT_WR);
    shut_ = true;
  }
  return {};
}

Status ControlLink::fill(const Handler& handler) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const ssize_t done = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (done == 0) return fail(ErrorCode::kPeerLost, "control connection closed");
    if (done < 0) {
      if (would_block(errno)) return {};
      return fail(socket_error("control connection failed", errno));
    }
    input_.insert(input_.end(), buffer.begin(), buffer.begin() + done);
    if (Status status = cut(handler); !status) return status;
  }
}

// Hands over every whole message at the front of the input.
Status ControlLink::cut(const Handler& handler) {
  size_t at = 0;
  const std::span<const std::byte> input(input_);
  while (input.size() - at >= kControlHeaderBytes) {
    const std::optional<ControlHeader> header =
        decode_header(input.subspan(at).first<kControlHeaderBytes>());
    if (!header) return nonsense();
    if (input.size() - at - kControlHeaderBytes < header->bytes) break;
    if (!handler(header->kind, input.subspan(at + kControlHeaderBytes, header->bytes))) {
      return nonsense();
    }
    at += kControlHeaderBytes + header->bytes;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(at));
  return {};
}

}  // namespace plumbline
