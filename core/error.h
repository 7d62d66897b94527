// What went wrong, as a value. An Error says what was tried and on whom (`what`), what the system
// answered (`sys_errno`), and what to do next (`hint`); `message()` joins them to one line.
// Functions that meet the network or the user return Expected<T> and never throw across a folder's
// border; the first place that knows the facts builds the Error, callers only pass it up.
// Thread-safe values.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace plumbline {

enum class ErrorCode {
  kUsage,        // the command line is wrong
  kConfig,       // a file or an option is wrong; nothing was started
  kTimeout,      // a deadline passed
  kRefused,      // the peer's system answered with a refusal
  kUnreachable,  // no route, or the host does not answer
  kPeerLost,     // an established connection ended or was reset
  kProtocol,     // the peer sent bytes that are not ours
  kAuth,         // wrong or missing run token
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
// The reverse; kSystem for a word that is not known.
ErrorCode error_code_from(const std::string& word);

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string what;   // "connect to 10.10.0.2:29601 (rank 1)"
  int sys_errno = 0;  // errno of the failing call, 0 when none
  std::string hint;   // what to do next; may be empty
  std::string cause;  // cause id of the diagnosis vocabulary, e.g. "tcp.port_in_use"; may be empty

  // "<what>: <strerror> (ECONNREFUSED); <hint>"
  std::string message() const;
};

template <typename T>
using Expected = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

// Shorthand for `return fail(ErrorCode::kTimeout, "...")` from a function returning Expected.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), 0, std::move(hint), {}});
}
// The same for a failed system call; `err` is the errno, saved before anything else can change it.
inline tl::unexpected<Error> fail_errno(ErrorCode code, std::string what, int err,
                                        std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), err, std::move(hint), {}});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// "ECONNREFUSED" for 111 on Linux; the number as text when it has no known name.
std::string errno_name(int err);

}  // namespace plumbline
