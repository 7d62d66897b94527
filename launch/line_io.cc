#include "launch/line_io.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/number.h"

namespace plumbline {
namespace {

constexpr int kLookMs = 50;                // how soon the end of this object is seen
constexpr size_t kLongestLine = 1u << 16;  // bytes
constexpr int kPartsInTurn = 32;           // of 4 KiB: more than a pipe holds

constexpr size_t kLongestCount = 16;

}  // namespace

void LineBuffer::drop(std::string_view text) {
  constexpr size_t kShown = 200;
  ++overlong_;
  overlong_text_ = text.substr(0, kShown);
}

void LineBuffer::feed(std::string_view bytes) {
  if (dropping_) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    dropping_ = false;
    bytes.remove_prefix(end + 1);
  }
  buffer_.append(bytes);
}

std::optional<std::string> LineBuffer::next() {
  while (true) {
    const size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (line.size() <= max_bytes_) return std::string(line);
    drop(line);
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  scanned_ = buffer_.size();
  if (buffer_.size() > max_bytes_) {
    drop(buffer_);
    buffer_ = std::string();
    scanned_ = 0;
    dropping_ = true;
  }
  return std::nullopt;
}

bool feed_from(int fd, LineBuffer& lines) {
  std::array<char, 65536> chunk;
  ssize_t n = 0;
  do n = ::read(fd, chunk.data(), chunk.size());
  while (n < 0 && errno == EINTR);
  if (n > 0) lines.feed({chunk.data(), static_cast<size_t>(n)});
  return n > 0;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

NonBlocking::NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
  if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
}

NonBlocking::~NonBlocking() {
  if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_);
}

NoSigpipe::NoSigpipe() {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  blocked_here_ = sigismember(&before, SIGPIPE) == 0;
}

NoSigpipe::~NoSigpipe() {
  if (!blocked_here_) return;
  sigset_t pipe_signal, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  // One that waits would strike as soon as it is let through.
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1) {
    int taken = 0;
    sigwait(&pipe_signal, &taken);
  }
  pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

void LineSource::read() {
  for (int part = 0; part < kPartsInTurn && read_some(); ++part) {
  }
}

// false when nothing more is there now.
bool LineSource::read_some() {
  std::array<char, 4096> chunk;
  const ssize_t n = pipe_.valid() ? ::read(pipe_.get(), chunk.data(), chunk.size()) : 0;
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    end();
    pipe_.reset();
    return false;
  }
  for (ssize_t i = 0; i < n; ++i) {
    const char c = chunk[static_cast<size_t>(i)];
    if (c != '\n') text_ += c;
    if (c == '\n' || text_.size() >= longest_) say_(std::exchange(text_, {}));
  }
  return true;
}

void LineSource::end() {
  if (!text_.empty()) say_(std::exchange(text_, {}));
}

ErrorLines::ErrorLines(std::vector<Fd> pipes,
                       const std::function<void(const std::string& line)>& say) {
  for (Fd& pipe : pipes) {
    if (pipe.valid()) sources_.emplace_back(std::move(pipe), kLongestLine, say);
  }
  thread_ = std::thread([this] { run(); });
}

ErrorLines::~ErrorLines() {
  stop_.store(true);
  thread_.join();
}

void ErrorLines::run() {
  for (bool last = false; !last;) {
    last = stop_.load();
    std::vector<pollfd> entries;
    for (const LineSource& source : sources_) entries.push_back({source.fd(), POLLIN, 0});
    poll(entries.data(), static_cast<nfds_t>(entries.size()), last ? 0 : kLookMs);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (entries[i].revents != 0) sources_[i].read();
      if (last) sources_[i].end();
    }
    std::erase_if(sources_, [](const LineSource& source) { return source.fd() < 0; });
  }
}

std::string input_frame(std::string_view bytes) {
  return "d " + std::to_string(bytes.size()) + "\n" + std::string(bytes);
}

std::string end_of_input_frame() { return "e\n"; }

bool InputFrames::feed(std::string_view bytes) {
  while (!bytes.empty() && !nonsense_) {
    if (rest_ > 0) {
      const size_t part = std::min(rest_, bytes.size());
      if (!ended_) input_.append(bytes.substr(0, part));
      rest_ -= part;
      bytes.remove_prefix(part);
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    if (c != '\n') {
      line_ += c;
      nonsense_ = line_.size() > kLongestCount;
    } else {
      nonsense_ = !take_line();
      line_.clear();
    }
  }
  return !nonsense_;
}

bool InputFrames::take_line() {
  if (line_.empty()) return true;
  if (line_ == "e") {
    ended_ = true;
    return true;
  }
  if (line_.rfind("d ", 0) != 0) return false;
  const auto bytes = parse_whole<size_t>(std::string_view(line_).substr(2), 0, kMostFrameBytes);
  rest_ = bytes.value_or(0);
  return bytes.has_value();
}

void InputFeed::drop(int to) {
  std::erase_if(ways_, [to](const Way& way) { return way.to == to; });
}

bool InputFeed::busy(int to) const {
  return std::any_of(ways_.begin(), ways_.end(),
                     [to](const Way& way) { return way.to == to && !way.rest.empty(); });
}

// A process in the background that reads its terminal is stopped by the kernel.
bool InputFeed::wants_more() const {
  const bool idle =
      std::all_of(ways_.begin(), ways_.end(), [](const Way& way) { return way.rest.empty(); });
  if (from_ < 0 || ways_.empty() || !idle) return false;
  return isatty(from_) == 0 || tcgetpgrp(from_) == getpgrp();
}

void InputFeed::want(std::vector<pollfd>& entries) const {
  if (wants_more()) entries.push_back({from_, POLLIN, 0});
  for (const Way& way : ways_) {
    if (!way.rest.empty()) entries.push_back({way.to, POLLOUT, 0});
  }
}

void InputFeed::move() {
  write_rest();
  if (wants_more() && read_some()) write_rest();
}

bool InputFeed::read_some() {
  pollfd entry{from_, POLLIN, 0};
  if (poll(&entry, 1, 0) <= 0) return false;
  std::array<char, 65536> chunk;
  const ssize_t n = ::read(from_, chunk.data(), chunk.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  const std::string frame =
      n > 0 ? input_frame({chunk.data(), static_cast<size_t>(n)}) : end_of_input_frame();
  for (Way& way : ways_) way.rest = frame;
  if (n <= 0) from_ = -1;
  return true;
}

void InputFeed::write_rest() {
  for (Way& way : ways_) {
    while (!way.rest.empty()) {
      const ssize_t n = ::write(way.to, way.rest.data(), way.rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) way.rest.clear();  // its end is seen elsewhere
      if (n > 0) way.rest.erase(0, static_cast<size_t>(n));
    }
  }
}

}  // namespace plumbline
