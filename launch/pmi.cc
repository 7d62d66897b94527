#include "launch/pmi.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace plumbline {
namespace {

constexpr const char* kKey = "plumbline_master";
constexpr size_t kMaxLine = 64 * 1024;  // bytes
constexpr size_t kMaxText = 1000;       // PMI-1 promises 1024
constexpr int kPmiSleepMs = 500;

Error trouble(ErrorCode code, const std::string& what) {
  return Error{code, "PMI: " + what, 0,
               "give --master ADDRESS of rank 0's host instead, then PMI is not needed", ""};
}

class PmiClient {
 public:
  PmiClient(int fd, Deadline deadline) : fd_(fd), deadline_(deadline) {}

  // Sends a command and waits for the answer `expected`; its words as they stand.
  Expected<std::string> ask(const std::string& command, const std::string& expected) {
    if (const Status sent = send(command + "\n"); !sent) return fail(sent.error());
    Expected<std::string> line = read_line();
    if (!line) return line;
    if (word(*line, "cmd") != expected) {
      return fail(trouble(ErrorCode::kProtocol, "answers '" + line->substr(0, 80) + "' to '" +
                                                    command.substr(0, 80) + "'"));
    }
    const std::string code = word(*line, "rc");
    if (!code.empty() && code != "0") {
      return fail(
          trouble(ErrorCode::kProtocol, "refuses '" + command.substr(0, 80) + "': " + *line));
    }
    return line;
  }

  // The value of "key=value" in a line; the last word may hold anything but spaces.
  static std::string word(const std::string& line, const std::string& key) {
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find(' ', at), line.size());
      const std::string part = line.substr(at, end - at);
      if (part.rfind(key + "=", 0) == 0) return part.substr(key.size() + 1);
      at = end + 1;
    }
    return {};
  }

 private:
  Status ready(short events) const {
    while (true) {
      pollfd entry{fd_, events, 0};
      if (poll(&entry, 1, deadline_.poll_timeout_ms(kPmiSleepMs)) > 0) return {};
      if (deadline_.passed()) {
        return fail(trouble(ErrorCode::kTimeout, "no answer in time: not all ranks have come"));
      }
    }
  }

  Status send(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      if (const Status writable = ready(POLLOUT); !writable) return writable;
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR && errno != EAGAIN) {
        return fail_errno(ErrorCode::kPeerLost, "PMI: write to the process manager", errno);
      }
      if (n > 0) done += static_cast<size_t>(n);
    }
    return {};
  }

  Expected<std::string> read_line() {
    std::string line;
    while (line.size() < kMaxLine) {
      if (const Status readable = ready(POLLIN); !readable) return fail(readable.error());
      char c = 0;  // byte by byte: what follows the line is not ours to take
      const ssize_t n = ::read(fd_, &c, 1);
      if (n == 0) return fail(trouble(ErrorCode::kPeerLost, "the process manager has gone"));
      if (n < 0 && errno != EINTR && errno != EAGAIN) {
        return fail_errno(ErrorCode::kPeerLost, "PMI: read from the process manager", errno);
      }
      if (n == 1 && c == '\n') return line;
      if (n == 1) line += c;
    }
    return fail(trouble(ErrorCode::kProtocol, "an endless line"));
  }

  const int fd_;
  const Deadline deadline_;
};

}  // namespace

Expected<std::string> share_over_pmi(int fd, int rank, const std::string& text, Deadline deadline) {
  const bool fits = text.size() <= kMaxText && text.find_first_of(" \n") == std::string::npos;
  if (rank == 0 && (!fits || text.empty())) {
    return fail(trouble(ErrorCode::kConfig, "what rank 0 has to say does not fit"));
  }
  PmiClient pmi(fd, deadline);
  auto answer = pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!answer) return answer;
  answer = pmi.ask("cmd=get_my_kvsname", "my_kvsname");
  if (!answer) return answer;
  const std::string space = PmiClient::word(*answer, "kvsname");
  if (rank == 0) {
    answer =
        pmi.ask(fmt::format("cmd=put kvsname={} key={} value={}", space, kKey, text), "put_result");
    if (!answer) return answer;
  }
  answer = pmi.ask("cmd=barrier_in", "barrier_out");
  if (!answer) return answer;
  answer = pmi.ask(fmt::format("cmd=get kvsname={} key={}", space, kKey), "get_result");
  if (!answer) return answer;
  const std::string value = PmiClient::word(*answer, "value");
  // Without it the manager would take our end for a crash.
  answer = pmi.ask("cmd=finalize", "finalize_ack");
  if (!answer) return answer;
  if (value.empty()) return fail(trouble(ErrorCode::kProtocol, "rank 0 has left nothing there"));
  return value;
}

}  // namespace plumbline
