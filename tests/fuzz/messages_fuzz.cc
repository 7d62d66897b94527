// What ranks tell one another beside the data, from a rank that has the run's token and lost its
// mind: every message is refused or understood, what was understood is the same when it is written
// and read again, and a connection that gets anything in any pieces hands over whole messages only.
#include <sys/socket.h>

#include <array>
#include <string>

#include "fuzz_bytes.h"
#include "transport/control/control_link.h"

namespace plumbline {
namespace {

std::span<const std::byte> fields_of(std::span<const std::byte> message) {
  return message.subspan(kControlHeaderBytes);
}

bool same(const RankStatus& a, const RankStatus& b) {
  return a.rank == b.rank && a.sequence == b.sequence && a.op_hash == b.op_hash &&
         a.operation == b.operation && a.in_operation == b.in_operation &&
         a.waiting_for == b.waiting_for && a.step == b.step &&
         a.since_progress_ns == b.since_progress_ns;
}

void heartbeat(std::span<const std::byte> fields) {
  const auto status = decode_heartbeat(fields);
  if (!status) return;
  const auto again = decode_heartbeat(fields_of(encode_heartbeat(*status)));
  require(again && same(*status, *again));
}

void answer(std::span<const std::byte> fields) {
  const auto said = decode_answer(fields);
  if (!said) return;
  const auto again = decode_answer(fields_of(encode_answer(*said)));
  require(again && again->id == said->id && same(said->status, again->status) &&
          again->recorder.size() == said->recorder.size());
}

void abort_of(std::span<const std::byte> fields) {
  const auto said = decode_abort(fields);
  if (!said) return;
  const auto again = decode_abort(fields_of(encode_abort(*said)));
  require(again && again->origin == said->origin && again->error.code == said->error.code &&
          again->error.cause == said->error.cause && again->error.ranks == said->error.ranks);
  for (const char c : said->error.message()) require(static_cast<unsigned char>(c) >= 0x20);
}

bool handle(ControlKind kind, std::span<const std::byte> fields) {
  switch (kind) {
    case ControlKind::kHeartbeat:
      heartbeat(fields);
      break;
    case ControlKind::kQuery:
      if (const auto id = decode_query(fields)) {
        require(decode_query(fields_of(encode_query(*id))) == id);
      }
      break;
    case ControlKind::kAnswer:
      answer(fields);
      break;
    case ControlKind::kAbort:
      abort_of(fields);
      break;
    case ControlKind::kBye:
    case ControlKind::kConnect:
      break;
  }
  return fields.size() != 13;  // one that the owner does not like
}

void whole_connection(FuzzBytes& input) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd peer(ends[0]);
  ControlLink link{Fd(ends[1])};
  while (!input.empty()) {
    std::vector<std::byte> bytes;
    if (input.flag()) {  // a header that is right for what follows
      const std::vector<std::byte> fields = input.bytes(input.below(400));
      bytes = {static_cast<std::byte>(1 + input.number() % 7), {}, {}, {}};
      const auto length = static_cast<uint32_t>(fields.size());
      for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<std::byte>(length >> shift));
      }
      bytes.insert(bytes.end(), fields.begin(), fields.end());
    } else {
      bytes = input.bytes(input.below(400));
    }
    if (bytes.empty()) continue;
    require(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    PollSet poll;
    link.add_to(poll);
    poll.wait(0);
    if (!link.step(poll, handle)) return;
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumbline::FuzzBytes input(data, size);
  if (input.flag()) {
    plumbline::whole_connection(input);
    return 0;
  }
  const auto kind = static_cast<plumbline::ControlKind>(1 + input.number() % 6);
  const std::vector<std::byte> fields = input.bytes(size);
  plumbline::handle(kind, fields);
  return 0;
}
