#include "launch/error_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace plumbline {
namespace {

constexpr int kLookMs = 50;                // how soon the end of this object is seen
constexpr size_t kLongestLine = 1u << 16;  // bytes
constexpr int kPartsInTurn = 32;           // of 4 KiB: more than a pipe holds

}  // namespace

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

}  // namespace plumbline
