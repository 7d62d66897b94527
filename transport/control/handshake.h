// How two ranks convince one another that they belong to one group: challenge and response with
// HMAC-SHA256 (RFC 2104) under the run token, in four messages.
//
//   dialer  -> Hello      magic, version, purpose, group, rank, size, whom it wants, which of the
//                         pair's streams, config hash, nonce
//   dialer <-  Challenge  magic, version, group, rank, size, config hash, nonce
//   dialer  -> Proof      HMAC over ("dialer", everything above)
//   dialer <-  Verdict    status, HMAC over ("acceptor", everything above, status), text
//
// The acceptor proves itself only after the dialer has, so a stranger gets nothing to work with.
// Groups, sizes and configurations are compared after both are authentic; when configurations
// differ, both send theirs and name the differing keys. The class knows no socket: it is fed with
// bytes and asked for bytes, so that tests can feed it anything. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/encode.h"
#include "core/error.h"

namespace plumbline {

inline constexpr uint16_t kProtocolVersion = 4;

enum class Purpose : uint8_t { kControl = 1, kData = 2 };
const char* to_string(Purpose purpose);

// What the owner of an acceptor says to a dialer that has proved who it is.
enum class Admission {
  kWelcome,
  kDuplicate,     // it has such a connection already
  kNoSuchStream,  // the pair has fewer streams, as this rank counts them
};

// What one rank says of itself. All ranks of a group share everything but `rank`.
struct HandshakeIdentity {
  int rank = 0;
  int size = 1;
  uint32_t group = 1;
  Digest token{};
  std::string config_text;  // "key=value\n" lines; its SHA-256 is the configuration hash
};

class Handshake {
 public:
  enum class State {
    kRunning,
    kAuthenticated,  // acceptor only: the dialer is genuine; call conclude()
    kDone,           // both agree; the connection is the caller's
    kFailed,         // error() says why; what output() still holds should be sent before closing
  };

  // `self` must outlive the handshake.
  // `stream` counts a pair's data connections from 0.
  static Handshake dialer(const HandshakeIdentity& self, int peer, Purpose purpose,
                          size_t stream = 0, uint16_t version = kProtocolVersion);
  static Handshake acceptor(const HandshakeIdentity& self, uint16_t version = kProtocolVersion) {
    return Handshake(self, false, version);
  }

  // Bytes to send now; sent() takes them off.
  std::span<const std::byte> output() const { return std::span(output_).subspan(sent_); }
  void sent(size_t bytes) { sent_ += std::min(bytes, output_.size() - sent_); }
  // How many bytes the next message still lacks: never read more than that, what follows belongs to
  // others. 0 = nothing is expected now.
  size_t wanted() const;
  void received(std::span<const std::byte> bytes);
  // Acceptor: admits the dialer, or refuses it.
  void conclude(Admission admission);

  State state() const { return state_; }
  const Error& error() const { return error_; }
  // The failure cannot go away by trying again, and concerns a rank of ours: an authentic peer
  // disagrees, or the dialer was refused for its version or token.
  bool fatal() const { return fatal_; }
  // Who is (or claims to be, while not authentic) at the other end; -1 = not yet known.
  int peer_rank() const { return peer_.rank; }
  bool authentic() const { return authentic_; }
  Purpose purpose() const { return purpose_; }
  size_t stream() const { return stream_; }

 private:
  enum class Step { kPrefix, kHello, kChallenge, kProof, kVerdict, kTextLength, kText, kNothing };
  enum class Status : uint8_t;
  struct Peer {
    int rank = -1;
    int size = 0;
    uint32_t group = 0;
    Digest config{}, nonce{};
  };

  Handshake(const HandshakeIdentity& self, bool dials, uint16_t version);
  void expect(Step step, size_t bytes);
  void introduce(uint8_t purpose_or_status);
  bool read_introduction();
  void handle_prefix();
  void handle_hello();
  void handle_challenge();
  void handle_proof();
  void handle_verdict();
  void handle_text();
  void send_own_config();
  void refuse(Status status, Error error);
  void stop(Error error, bool fatal);
  static bool for_good(Status status);
  Digest proof(const char* role, Status status) const;
  Error disagreement(Status status) const;
  Error config_difference(const std::string& theirs) const;

  const HandshakeIdentity* self_;
  bool dials_;
  uint16_t version_;
  Purpose purpose_ = Purpose::kControl;
  uint32_t stream_ = 0;
  State state_ = State::kRunning;
  Step step_ = Step::kPrefix;
  size_t expected_ = 0;
  std::vector<std::byte> input_, output_;
  size_t sent_ = 0;
  Digest nonce_{}, config_{};
  Peer peer_;
  int target_ = -1;  // dialer: whom it wants
  bool authentic_ = false, fatal_ = false;
  Error error_;
};

}  // namespace plumbline
