#include "transport/control/control_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "transport/control/wire.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMaxOperationText = 256, kMaxErrorText = 8192;  // bytes
constexpr size_t kMaxEntries = 16;
constexpr size_t kMaxRanks = 64;  // of an error: the first, which is at fault, and some more

std::vector<std::byte> message(ControlKind kind, std::span<const std::byte> fields) {
  WireWriter writer;
  writer.u8(static_cast<uint8_t>(kind));
  writer.u8(0);
  writer.u16(0);
  writer.u32(static_cast<uint32_t>(fields.size()));
  writer.bytes(fields);
  return writer.take();
}

void write_status(WireWriter& writer, const RankStatus& status) {
  writer.u32(static_cast<uint32_t>(status.rank));
  writer.u32(status.sequence);
  writer.u32(status.op_hash);
  writer.text(status.operation, kMaxOperationText);
  writer.u8(status.in_operation ? 1 : 0);
  writer.u32(static_cast<uint32_t>(status.waiting_for));
  writer.u32(status.step);
  writer.u64(static_cast<uint64_t>(status.since_progress_ns));
}

RankStatus read_status(WireReader& reader) {
  RankStatus status;
  status.rank = static_cast<int>(reader.u32());
  status.sequence = reader.u32();
  status.op_hash = reader.u32();
  status.operation = printable(reader.text(), kMaxOperationText);
  status.in_operation = reader.u8() != 0;
  status.waiting_for = static_cast<int>(reader.u32());
  status.step = reader.u32();
  status.since_progress_ns = static_cast<int64_t>(reader.u64());
  return status;
}

bool would_block(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

tl::unexpected<Error> nonsense() {
  return fail(ErrorCode::kProtocol, "control connection carries bytes that are not ours",
              "are all ranks of the same build?");
}

}  // namespace

std::vector<std::byte> encode_heartbeat(const RankStatus& status) {
  WireWriter writer;
  write_status(writer, status);
  return message(ControlKind::kHeartbeat, writer.view());
}

std::vector<std::byte> encode_query(uint64_t id) {
  WireWriter writer;
  writer.u64(id);
  return message(ControlKind::kQuery, writer.view());
}

std::vector<std::byte> encode_answer(const ControlAnswer& answer) {
  WireWriter writer;
  writer.u64(answer.id);
  write_status(writer, answer.status);
  const size_t count = std::min(answer.recorder.size(), kMaxEntries);
  writer.u16(static_cast<uint16_t>(count));
  for (size_t i = answer.recorder.size() - count; i < answer.recorder.size(); ++i) {
    const FlightEntry& entry = answer.recorder[i];
    writer.u32(entry.sequence);
    writer.u32(entry.op_hash);
    writer.text(entry.operation, kMaxOperationText);
    writer.u8(entry.finished ? 1 : 0);
  }
  return message(ControlKind::kAnswer, writer.view());
}

std::vector<std::byte> encode_abort(const ControlAbort& abort) {
  Error without_hint = abort.error;
  without_hint.hint.clear();
  WireWriter writer;
  writer.u32(static_cast<uint32_t>(abort.origin));
  writer.text(to_string(abort.error.code), 64);
  writer.text(without_hint.message(), kMaxErrorText);
  writer.text(abort.error.hint, kMaxErrorText);
  writer.text(abort.error.cause, 256);
  const size_t ranks = std::min(abort.error.ranks.size(), kMaxRanks);
  writer.u16(static_cast<uint16_t>(ranks));
  for (size_t i = 0; i < ranks; ++i) writer.u32(static_cast<uint32_t>(abort.error.ranks[i]));
  return message(ControlKind::kAbort, writer.view());
}

std::vector<std::byte> encode_plain(ControlKind kind) { return message(kind, {}); }

std::optional<ControlHeader> decode_header(std::span<const std::byte, kControlHeaderBytes> bytes) {
  WireReader reader(bytes);
  const uint8_t kind = reader.u8();
  const bool zeros = reader.u8() == 0 && reader.u16() == 0;
  const uint32_t length = reader.u32();
  if (kind < static_cast<uint8_t>(ControlKind::kHeartbeat) ||
      kind > static_cast<uint8_t>(ControlKind::kConnect) || !zeros || length > kMaxControlBytes) {
    return std::nullopt;
  }
  return ControlHeader{static_cast<ControlKind>(kind), length};
}

std::optional<RankStatus> decode_heartbeat(std::span<const std::byte> fields) {
  WireReader reader(fields);
  RankStatus status = read_status(reader);
  if (!reader.complete()) return std::nullopt;
  return status;
}

std::optional<uint64_t> decode_query(std::span<const std::byte> fields) {
  WireReader reader(fields);
  const uint64_t id = reader.u64();
  if (!reader.complete()) return std::nullopt;
  return id;
}

std::optional<ControlAnswer> decode_answer(std::span<const std::byte> fields) {
  WireReader reader(fields);
  ControlAnswer answer;
  answer.id = reader.u64();
  answer.status = read_status(reader);
  const size_t count = std::min<size_t>(reader.u16(), kMaxEntries);
  for (size_t i = 0; i < count; ++i) {
    FlightEntry entry;
    entry.sequence = reader.u32();
    entry.op_hash = reader.u32();
    entry.operation = printable(reader.text(), kMaxOperationText);
    entry.finished = reader.u8() != 0;
    answer.recorder.push_back(std::move(entry));
  }
  if (!reader.complete()) return std::nullopt;
  return answer;
}

std::optional<ControlAbort> decode_abort(std::span<const std::byte> fields) {
  WireReader reader(fields);
  ControlAbort abort;
  abort.origin = static_cast<int>(reader.u32());
  abort.error.code = error_code_from(reader.text());
  abort.error.what = printable(reader.text(), kMaxErrorText);
  abort.error.hint = printable(reader.text(), kMaxErrorText);
  abort.error.cause = printable(reader.text(), 256);
  const size_t ranks = std::min<size_t>(reader.u16(), kMaxRanks);
  for (size_t i = 0; i < ranks; ++i) abort.error.ranks.push_back(static_cast<int>(reader.u32()));
  if (!reader.complete()) return std::nullopt;
  return abort;
}

void ControlLink::send(std::span<const std::byte> message) {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  output_.insert(output_.end(), message.begin(), message.end());
}

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
