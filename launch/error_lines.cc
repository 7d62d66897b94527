#include "launch/error_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace plumbline {
namespace {

constexpr int kLookMs = 50;                // how soon the end of this object is seen
constexpr size_t kLongestLine = 1u << 16;  // bytes; a longer one is handed on in parts
constexpr int kPartsInTurn = 32;           // of 4 KiB: more than a pipe holds

}  // namespace

ErrorLines::ErrorLines(std::vector<Fd> pipes, std::function<void(const std::string& line)> say)
    : say_(std::move(say)) {
  for (Fd& pipe : pipes) {
    if (pipe.valid()) sources_.push_back({std::move(pipe), {}});
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
    for (const Source& source : sources_) entries.push_back({source.pipe.get(), POLLIN, 0});
    poll(entries.data(), static_cast<nfds_t>(entries.size()), last ? 0 : kLookMs);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (entries[i].revents != 0) {
        for (int part = 0; part < kPartsInTurn && read(sources_[i]); ++part) {
        }
      }
      if (last) end(sources_[i]);
    }
    std::erase_if(sources_, [](const Source& source) { return !source.pipe.valid(); });
  }
}

// false when nothing more is there now.
bool ErrorLines::read(Source& source) {
  std::array<char, 4096> chunk;
  const ssize_t n = ::read(source.pipe.get(), chunk.data(), chunk.size());
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    end(source);
    source.pipe.reset();
    return false;
  }
  for (ssize_t i = 0; i < n; ++i) {
    const char c = chunk[static_cast<size_t>(i)];
    if (c != '\n') source.text += c;
    if (c == '\n' || source.text.size() >= kLongestLine) say_(std::exchange(source.text, {}));
  }
  return true;
}

void ErrorLines::end(Source& source) {
  if (!source.text.empty()) say_(std::exchange(source.text, {}));
}

}  // namespace plumbline
