#include "transport/control/handshake.h"

#include <fmt/format.h>

#include <limits>

#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr std::string_view kHelloMagic = "PLUMBLN\n";
constexpr size_t kPrefixBytes = 8 + 2 + 1 + 1;  // magic, version, purpose or status, 0
constexpr size_t kHelloBytes = 5 * 4 + 32 + 32;
constexpr size_t kChallengeBytes = 3 * 4 + 32 + 32;
constexpr size_t kProofBytes = 32;
constexpr size_t kVerdictBytes = 4 + 32;
constexpr size_t kMaxConfigBytes = 64 * 1024;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_text(WireWriter& writer, std::string_view text) {
  writer.bytes(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

// Travels in the Challenge (kOk, kVersion) and in the Verdict (all others).
enum class Handshake::Status : uint8_t {
  kOk,
  kVersion,    // other protocol version
  kAuth,       // the proof does not fit our token
  kGroup,      // authentic, but of another group: a leftover, or one that has restarted already
  kSize,       // other number of ranks
  kRank,       // wanted another rank, or may not dial us
  kDuplicate,  // that rank has such a connection already
  kStream,     // the pair has no stream of that number
  kConfig,     // other configuration; texts follow
};

const char* to_string(Purpose purpose) { return purpose == Purpose::kData ? "data" : "control"; }

Handshake::Handshake(const HandshakeIdentity& self, bool dials, uint16_t version)
    : self_(&self),
      dials_(dials),
      version_(version),
      nonce_(random_token()),
      config_(sha256(self.config_text)) {
  expect(Step::kPrefix, kPrefixBytes);
}

Handshake Handshake::dialer(const HandshakeIdentity& self, int peer, Purpose purpose, size_t stream,
                            uint16_t version) {
  Handshake handshake(self, true, version);
  handshake.target_ = peer;
  handshake.purpose_ = purpose;
  handshake.stream_ = static_cast<uint32_t>(stream);
  handshake.introduce(static_cast<uint8_t>(purpose));
  return handshake;
}

// Hello and Challenge: they differ in that only the dialer says whom it wants, and for what.
void Handshake::introduce(uint8_t purpose_or_status) {
  WireWriter writer;
  put_text(writer, kHelloMagic);
  writer.u16(version_);
  writer.u8(purpose_or_status);
  writer.u8(0);
  writer.u32(self_->group);
  writer.u32(static_cast<uint32_t>(self_->rank));
  writer.u32(static_cast<uint32_t>(self_->size));
  if (dials_) {
    writer.u32(static_cast<uint32_t>(target_));
    writer.u32(stream_);
  }
  writer.bytes(config_);
  writer.bytes(nonce_);
  output_ = writer.take();
  sent_ = 0;
}

// The same of the other end. false = it says numbers that no rank has.
bool Handshake::read_introduction() {
  WireReader reader(input_);
  bool sane = true;
  const auto number = [&] {
    const uint32_t value = reader.u32();
    sane = sane && value <= std::numeric_limits<int>::max();
    return static_cast<int>(value);
  };
  peer_.group = reader.u32();
  peer_.rank = number();
  peer_.size = number();
  if (!dials_) {
    target_ = number();
    stream_ = reader.u32();
  }
  reader.bytes(peer_.config);
  reader.bytes(peer_.nonce);
  if (!sane) stop({ErrorCode::kProtocol, "peer says numbers that no rank has", 0, {}, {}}, false);
  return sane;
}

size_t Handshake::wanted() const {
  const bool reading = state_ == State::kRunning && step_ != Step::kNothing;
  return reading ? expected_ - input_.size() : 0;
}

void Handshake::expect(Step step, size_t bytes) {
  step_ = step;
  expected_ = bytes;
  input_.clear();
}

void Handshake::stop(Error error, bool fatal) {
  error_ = std::move(error);
  fatal_ = fatal;
  state_ = State::kFailed;
  step_ = Step::kNothing;
}

void Handshake::received(std::span<const std::byte> bytes) {
  while (!bytes.empty() && wanted() > 0) {
    const size_t part = std::min(bytes.size(), wanted());
    input_.insert(input_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(part));
    bytes = bytes.subspan(part);
    if (wanted() > 0) return;
    switch (step_) {
      case Step::kPrefix:
        handle_prefix();
        break;
      case Step::kHello:
        handle_hello();
        break;
      case Step::kChallenge:
        handle_challenge();
        break;
      case Step::kProof:
        handle_proof();
        break;
      case Step::kVerdict:
        handle_verdict();
        break;
      case Step::kTextLength: {
        const uint32_t length = WireReader(input_).u32();
        if (length > kMaxConfigBytes) {
          return stop({ErrorCode::kProtocol, "peer announces too long a configuration", 0, {}, {}},
                      false);
        }
        expect(Step::kText, length);
        if (length == 0) handle_text();
        break;
      }
      case Step::kText:
        handle_text();
        break;
      case Step::kNothing:
        return;
    }
  }
}

// The first bytes of Hello and Challenge are the same in every version of the protocol.
void Handshake::handle_prefix() {
  if (as_text(input_).substr(0, kHelloMagic.size()) != kHelloMagic) {
    return stop({ErrorCode::kProtocol, "what is there does not speak our protocol", 0,
                 "another program uses the port: choose another --port-base", "tcp.wrong_service"},
                false);
  }
  WireReader reader(std::span<const std::byte>(input_).subspan(kHelloMagic.size()));
  const uint16_t theirs = reader.u16();
  const uint8_t kind = reader.u8();
  if (theirs != version_) {
    Error error{ErrorCode::kMismatch,
                fmt::format("peer speaks protocol version {}, this rank {}", theirs, version_), 0,
                "run the same build on every host", "config.version_mismatch"};
    if (dials_) return stop(std::move(error), true);
    return refuse(Status::kVersion, std::move(error));
  }
  const bool known = dials_ ? kind == static_cast<uint8_t>(Status::kOk)
                            : kind == static_cast<uint8_t>(Purpose::kControl) ||
                                  kind == static_cast<uint8_t>(Purpose::kData);
  if (!known || reader.u8() != 0) {
    const char* const what = dials_ ? "answer" : "purpose";
    return stop({ErrorCode::kProtocol, fmt::format("unknown {} {}", what, kind), 0, {}, {}}, false);
  }
  if (dials_) return expect(Step::kChallenge, kChallengeBytes);
  purpose_ = static_cast<Purpose>(kind);
  expect(Step::kHello, kHelloBytes);
}

void Handshake::handle_hello() {
  if (!read_introduction()) return;
  introduce(static_cast<uint8_t>(Status::kOk));
  expect(Step::kProof, kProofBytes);
}

void Handshake::handle_challenge() {
  if (!read_introduction()) return;
  const Digest mac = proof("plumbline dialer", Status::kOk);
  output_.assign(mac.begin(), mac.end());
  sent_ = 0;
  expect(Step::kVerdict, kVerdictBytes);
}

// HMAC over the role, the status and both ends' statements, the dialer's first.
Digest Handshake::proof(const char* role, Status status) const {
  const Peer own{self_->rank, self_->size, self_->group, config_, nonce_};
  WireWriter writer;
  writer.text(role, 64);
  writer.u16(version_);
  writer.u8(static_cast<uint8_t>(purpose_));
  writer.u8(static_cast<uint8_t>(status));
  writer.u32(static_cast<uint32_t>(target_));
  writer.u32(stream_);
  for (const Peer* side : {dials_ ? &own : &peer_, dials_ ? &peer_ : &own}) {
    writer.u32(side->group);
    writer.u32(static_cast<uint32_t>(side->rank));
    writer.u32(static_cast<uint32_t>(side->size));
    writer.bytes(side->config);
    writer.bytes(side->nonce);
  }
  return hmac_sha256(self_->token, writer.view());
}

void Handshake::handle_proof() {
  Digest theirs;
  WireReader(input_).bytes(theirs);
  if (!equal_digest(theirs, proof("plumbline dialer", Status::kOk))) {
    return refuse(Status::kAuth,
                  {ErrorCode::kAuth,
                   fmt::format("claims to be rank {} but has another run token", peer_.rank),
                   0,
                   "a process of another run, or a stranger",
                   {}});
  }
  authentic_ = true;
  step_ = Step::kNothing;
  const bool may_dial = peer_.rank < self_->rank && target_ == self_->rank;
  if (peer_.group != self_->group) return refuse(Status::kGroup, disagreement(Status::kGroup));
  if (peer_.size != self_->size) return refuse(Status::kSize, disagreement(Status::kSize));
  if (!may_dial) return refuse(Status::kRank, disagreement(Status::kRank));
  if (!equal_digest(peer_.config, config_)) return refuse(Status::kConfig, {});
  state_ = State::kAuthenticated;
}

void Handshake::conclude(Admission admission) {
  if (admission != Admission::kWelcome) {
    const Status status = admission == Admission::kDuplicate ? Status::kDuplicate : Status::kStream;
    return refuse(status, disagreement(status));
  }
  WireWriter verdict;
  verdict.u32(static_cast<uint32_t>(Status::kOk));
  verdict.bytes(proof("plumbline acceptor", Status::kOk));
  output_ = verdict.take();
  sent_ = 0;
  state_ = State::kDone;
}

// Acceptor: answers with a Challenge (other version) or a Verdict, then fails with `error`; on
// kConfig the texts are exchanged first.
void Handshake::refuse(Status status, Error error) {
  WireWriter answer;
  if (status == Status::kVersion) {
    put_text(answer, kHelloMagic);
    answer.u16(version_);
    answer.u8(static_cast<uint8_t>(status));
    answer.u8(0);
  } else {
    answer.u32(static_cast<uint32_t>(status));
    answer.bytes(authentic_ ? proof("plumbline acceptor", status) : Digest{});
  }
  output_ = answer.take();
  sent_ = 0;
  if (status == Status::kConfig) {
    send_own_config();
    return expect(Step::kTextLength, 4);
  }
  stop(std::move(error), for_good(status));
}

// Trying again cannot help.
bool Handshake::for_good(Status status) {
  return status == Status::kSize || status == Status::kRank || status == Status::kStream;
}

void Handshake::send_own_config() {
  WireWriter text;
  const std::string_view own = std::string_view(self_->config_text).substr(0, kMaxConfigBytes);
  text.u32(static_cast<uint32_t>(own.size()));
  put_text(text, own);
  output_.insert(output_.end(), text.view().begin(), text.view().end());
}

void Handshake::handle_verdict() {
  WireReader reader(input_);
  const uint32_t code = reader.u32();
  Digest theirs;
  reader.bytes(theirs);
  if (code > static_cast<uint32_t>(Status::kConfig)) {
    return stop({ErrorCode::kProtocol, fmt::format("unknown answer {}", code), 0, {}, {}}, false);
  }
  const auto status = static_cast<Status>(code);
  if (status == Status::kAuth || !equal_digest(theirs, proof("plumbline acceptor", status))) {
    return stop(
        {ErrorCode::kAuth, fmt::format("rank {} there has another run token", peer_.rank), 0,
         "a process of another run holds that port: end it (plumbline stop), or choose "
         "another --port-base",
         "host.stale_process"},
        true);
  }
  authentic_ = true;
  if (status == Status::kOk && (peer_.rank != target_ || peer_.size != self_->size ||
                                peer_.group != self_->group || peer_.config != config_)) {
    return stop(
        {ErrorCode::kProtocol, "the peer accepted a configuration that does not match", 0, {}, {}},
        false);
  }
  if (status == Status::kOk) {
    state_ = State::kDone;
    step_ = Step::kNothing;
    return;
  }
  if (status == Status::kConfig) {
    output_.clear();
    sent_ = 0;
    send_own_config();
    return expect(Step::kTextLength, 4);
  }
  stop(disagreement(status), for_good(status));
}

void Handshake::handle_text() { stop(config_difference(std::string(as_text(input_))), true); }

// Both ends are authentic and differ in `status`.
Error Handshake::disagreement(Status status) const {
  const Peer& theirs = peer_;
  switch (status) {
    case Status::kGroup:
      return {ErrorCode::kMismatch,
              fmt::format("rank {} belongs to group {}, this rank to group {}", theirs.rank,
                          theirs.group, self_->group),
              0, "a process of the group before, or one that has restarted already",
              "host.stale_process"};
    case Status::kSize:
      return {ErrorCode::kMismatch,
              fmt::format("rank {} counts {} ranks, rank {} counts {}", theirs.rank, theirs.size,
                          self_->rank, self_->size),
              0, "start all ranks with the same number of ranks", "config.mismatch"};
    case Status::kDuplicate:
      return {ErrorCode::kMismatch,
              fmt::format("rank {} and rank {} have a {} connection already",
                          dials_ ? self_->rank : theirs.rank, dials_ ? theirs.rank : self_->rank,
                          to_string(purpose_)),
              0, "two processes with the same rank?", "config.mismatch"};
    case Status::kStream:
      return {ErrorCode::kMismatch,
              fmt::format("rank {} dials {} connection {} to rank {}, which has fewer for it",
                          dials_ ? self_->rank : theirs.rank, to_string(purpose_),
                          uint64_t{stream_} + 1, dials_ ? theirs.rank : self_->rank),
              0, "all ranks must run the same build with the same options and addresses",
              "config.mismatch"};
    default:
      return {
          ErrorCode::kMismatch,
          fmt::format("rank {} wanted rank {} and met rank {}", dials_ ? self_->rank : theirs.rank,
                      target_, dials_ ? theirs.rank : self_->rank),
          0, "two ranks share a number, or addresses and ports are mixed up in the host file",
          "config.mismatch"};
  }
}

Error Handshake::config_difference(const std::string& theirs) const {
  std::string keys = config_differences(self_->config_text, self_->rank, theirs, peer_.rank);
  if (keys.empty()) keys = "too long to be compared here";
  return {ErrorCode::kMismatch,
          fmt::format("configuration of rank {} and rank {} differs: {}", self_->rank, peer_.rank,
                      keys),
          0, "give every rank the same options", "config.mismatch"};
}

}  // namespace plumbline
