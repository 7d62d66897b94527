// Two ranks shake hands while somebody between them changes bytes, cuts and inserts; and a stranger
// without the run's token says anything to either. Nobody is let in whose bytes were changed, and a
// stranger never.
#include <utility>

#include "fuzz_bytes.h"
#include "transport/control/handshake.h"

namespace plumbline {
namespace {

constexpr size_t kMostMoves = 200;

HandshakeIdentity identity(int rank, uint8_t choice) {
  HandshakeIdentity self;
  self.rank = rank;
  self.size = choice % 16 == 0 ? 4 : 3;
  self.group = choice % 16 == 1 ? 2 : 1;
  self.token.fill(std::byte{choice % 16 == 2 ? uint8_t{9} : uint8_t{5}});
  self.config_text = choice % 16 == 3 ? "chunk_bytes=1\ncrc=1\n" : "chunk_bytes=2\ncrc=1\n";
  return self;
}

// Hands over as much as is wanted.
void tell(Handshake& to, std::vector<std::byte>& bytes) {
  const size_t count = std::min(to.wanted(), bytes.size());
  if (count == 0) return;
  const auto end = bytes.begin() + static_cast<ptrdiff_t>(count);
  const std::vector<std::byte> exact(bytes.begin(), end);
  to.received(exact);
  bytes.erase(bytes.begin(), end);
}

void between(FuzzBytes& input) {
  const HandshakeIdentity lower = identity(0, 255), higher = identity(1, input.number());
  Handshake dialer = Handshake::dialer(lower, 1, Purpose::kData);
  Handshake acceptor = Handshake::acceptor(higher);
  bool changed = false;
  std::vector<std::byte> there, back;
  for (size_t moves = 0; moves < kMostMoves; ++moves) {
    for (auto [from, wire] : {std::pair{&dialer, &there}, std::pair{&acceptor, &back}}) {
      const std::span<const std::byte> out = from->output();
      std::vector<std::byte> said(out.begin(), out.end());
      from->sent(said.size());
      if (!said.empty() && input.number() >= 192) {
        const auto change = static_cast<std::byte>(input.number());
        said[input.below(said.size())] ^= change;
        changed = changed || change != std::byte{};
      }
      wire->insert(wire->end(), said.begin(), said.end());
    }
    tell(acceptor, there);
    tell(dialer, back);
    if (acceptor.state() == Handshake::State::kAuthenticated) {
      require(acceptor.peer_rank() == 0);
      acceptor.conclude(input.number() == 255 ? Admission::kDuplicate : Admission::kWelcome);
    }
  }
  const bool both =
      dialer.state() == Handshake::State::kDone && acceptor.state() == Handshake::State::kDone;
  require(!both || !changed);
  for (const Handshake* end : {&dialer, &acceptor}) {
    require(end->state() != Handshake::State::kFailed || !end->error().what.empty());
  }
}

void stranger(FuzzBytes& input) {
  const HandshakeIdentity self = identity(1, 255);
  Handshake end =
      input.flag() ? Handshake::dialer(self, 2, Purpose::kControl) : Handshake::acceptor(self);
  while (!input.empty() && end.wanted() > 0) {
    std::vector<std::byte> bytes;
    if (input.number() < 128) {  // a message of ours, as far as anybody knows how it begins
      const HandshakeIdentity other = identity(0, 2);
      const Handshake speaker = Handshake::dialer(other, 1, Purpose::kData);
      bytes.assign(speaker.output().begin(), speaker.output().end());
    } else {
      bytes = input.bytes(input.number());
    }
    while (!bytes.empty() && end.wanted() > 0) tell(end, bytes);
    end.sent(input.number());
  }
  require(end.state() != Handshake::State::kDone &&
          end.state() != Handshake::State::kAuthenticated && !end.authentic());
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumbline::FuzzBytes input(data, size);
  input.flag() ? plumbline::between(input) : plumbline::stranger(input);
  return 0;
}
