// What went wrong, as a value. An Error says what was tried and on whom (`what`), what the system
// answered (`sys_errno`), and what to do next (`hint`); `message()` joins them to one line. No
// function of the library throws one: those that may fail return ErrorOr<T>, which holds a T or the
// reason why there is none. Plain values, thread-safe.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plumbline {

enum class ErrorCode {
  kUsage,        // the call is wrong: sizes, types, a root that is no rank
  kConfig,       // an option is wrong; nothing was started
  kTimeout,      // a deadline passed
  kRefused,      // the peer's system answered with a refusal
  kUnreachable,  // no route, or the host does not answer
  kPeerLost,     // an established connection ended or was reset
  kProtocol,     // the peer sent bytes that are not ours
  kAuth,         // wrong or missing secret
  kMismatch,     // ranks disagree (operation, configuration, version)
  kAborted,      // another rank ended the operation; the reason is relayed in `what`
  kWrongData,    // content does not verify
  kUnsupported,  // this machine or build cannot do it; `what` says why
  kBusy,         // a resource (a port, mostly) is held by somebody else
  kInterrupted,  // the user asked to stop
  kSystem,       // any other failed system call
};

// Stable lower-case word for records and logs, e.g. "timeout".
const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string what;   // "connect to 10.10.0.2:29601 (rank 1)"
  int sys_errno = 0;  // errno of the failing call, 0 when none
  std::string hint;   // what to do next; may be empty
  std::string cause;  // cause id of the diagnosis vocabulary, e.g. "tcp.port_in_use"; may be empty
  // Ranks of the group that `what` is about: first the one at fault, as far as that is known. Empty
  // where it is about none.
  std::vector<int> ranks = {};

  // "<what>: <strerror> (ECONNREFUSED); <hint>"
  std::string message() const;
};

// A T, or why there is none; true = there is one. T = std::monostate (see Done) where there is
// nothing to return.
template <typename T>
class [[nodiscard]] ErrorOr {
 public:
  ErrorOr(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  ErrorOr(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return held_.index() == 0; }
  // Only where it holds one; std::bad_variant_access otherwise.
  T& operator*() { return std::get<0>(held_); }
  const T& operator*() const { return std::get<0>(held_); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  // Only where it holds none.
  const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

// It is done, or the reason why it is not. `return {};` = done.
class [[nodiscard]] Done : public ErrorOr<std::monostate> {
 public:
  Done() : ErrorOr(std::monostate{}) {}
  Done(Error error) : ErrorOr(std::move(error)) {}
};

}  // namespace plumbline
