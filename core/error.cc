#include "core/error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cstring>

namespace plumbline {
namespace {

struct CodeRow {
  ErrorCode code;
  const char* word;
};
constexpr std::array kCodes = {
    CodeRow{ErrorCode::kUsage, "usage"},
    CodeRow{ErrorCode::kConfig, "config"},
    CodeRow{ErrorCode::kTimeout, "timeout"},
    CodeRow{ErrorCode::kRefused, "refused"},
    CodeRow{ErrorCode::kUnreachable, "unreachable"},
    CodeRow{ErrorCode::kPeerLost, "peer_lost"},
    CodeRow{ErrorCode::kProtocol, "protocol"},
    CodeRow{ErrorCode::kAuth, "auth"},
    CodeRow{ErrorCode::kMismatch, "mismatch"},
    CodeRow{ErrorCode::kAborted, "aborted"},
    CodeRow{ErrorCode::kWrongData, "wrong_data"},
    CodeRow{ErrorCode::kUnsupported, "unsupported"},
    CodeRow{ErrorCode::kBusy, "busy"},
    CodeRow{ErrorCode::kInterrupted, "interrupted"},
    CodeRow{ErrorCode::kSystem, "system"},
};

struct ErrnoRow {
  int err;
  const char* name;
};
// The errnos that sockets, files and processes give; glibc's strerrorname_np does not exist on
// macOS.
constexpr std::array kErrnos = {
    ErrnoRow{EACCES, "EACCES"},
    ErrnoRow{EADDRINUSE, "EADDRINUSE"},
    ErrnoRow{EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    ErrnoRow{EAGAIN, "EAGAIN"},
    ErrnoRow{EBADF, "EBADF"},
    ErrnoRow{EBUSY, "EBUSY"},
    ErrnoRow{ECONNABORTED, "ECONNABORTED"},
    ErrnoRow{ECONNREFUSED, "ECONNREFUSED"},
    ErrnoRow{ECONNRESET, "ECONNRESET"},
    ErrnoRow{EEXIST, "EEXIST"},
    ErrnoRow{EFAULT, "EFAULT"},
    ErrnoRow{EHOSTDOWN, "EHOSTDOWN"},
    ErrnoRow{EHOSTUNREACH, "EHOSTUNREACH"},
    ErrnoRow{EINPROGRESS, "EINPROGRESS"},
    ErrnoRow{EINTR, "EINTR"},
    ErrnoRow{EINVAL, "EINVAL"},
    ErrnoRow{EIO, "EIO"},
    ErrnoRow{EISDIR, "EISDIR"},
    ErrnoRow{EMFILE, "EMFILE"},
    ErrnoRow{EMSGSIZE, "EMSGSIZE"},
    ErrnoRow{ENETDOWN, "ENETDOWN"},
    ErrnoRow{ENETUNREACH, "ENETUNREACH"},
    ErrnoRow{ENFILE, "ENFILE"},
    ErrnoRow{ENOBUFS, "ENOBUFS"},
    ErrnoRow{ENODEV, "ENODEV"},
    ErrnoRow{ENOENT, "ENOENT"},
    ErrnoRow{ENOEXEC, "ENOEXEC"},
    ErrnoRow{ENOMEM, "ENOMEM"},
    ErrnoRow{ENOPROTOOPT, "ENOPROTOOPT"},
    ErrnoRow{ENOSPC, "ENOSPC"},
    ErrnoRow{ENOTCONN, "ENOTCONN"},
    ErrnoRow{ENOTDIR, "ENOTDIR"},
    ErrnoRow{EPERM, "EPERM"},
    ErrnoRow{EPIPE, "EPIPE"},
    ErrnoRow{EPROTO, "EPROTO"},
    ErrnoRow{EROFS, "EROFS"},
    ErrnoRow{ETIMEDOUT, "ETIMEDOUT"},
};

struct LimitRow {
  int err;
  int resource;
  const char *name, *raise, *otherwise;
};
constexpr LimitRow kRows[] = {
    {EAGAIN, RLIMIT_NPROC, "processes and threads of this user", "ulimit -u",
     "end other programs of this user, or use fewer ranks"},
    {ENOMEM, RLIMIT_AS, "bytes of address space", "ulimit -v",
     "use smaller sizes, fewer ranks or smaller files"},
    {EMFILE, RLIMIT_NOFILE, "open files of a process", "ulimit -n", "use fewer ranks"},
};

}  // namespace

const char* to_string(ErrorCode code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row.word;
  }
  return "system";
}

ErrorCode error_code_from(const std::string& word) {
  for (const CodeRow& row : kCodes) {
    if (word == row.word) return row.code;
  }
  return ErrorCode::kSystem;
}

std::string errno_name(int err) {
  for (const ErrnoRow& row : kErrnos) {
    if (row.err == err) return row.name;
  }
  return "errno " + std::to_string(err);
}

std::string Error::message() const {
  std::string text = what;
  if (sys_errno != 0) {
    text += ": ";
    text += std::strerror(sys_errno);
    text += " (" + errno_name(sys_errno) + ")";
  }
  if (!hint.empty()) text += "; " + hint;
  return text;
}

std::string resource_hint(int err) {
  for (const LimitRow& row : kRows) {
    if (row.err != err) continue;
    rlimit limit{};
    const bool told = getrlimit(row.resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (!told) return row.otherwise;
    return fmt::format("the limit here is {} {}: raise it ({}), or {}",
                       static_cast<unsigned long long>(limit.rlim_cur), row.name, row.raise,
                       row.otherwise);
  }
  return {};
}

}  // namespace plumbline
