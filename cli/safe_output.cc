#include "cli/safe_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/text.h"

namespace plumbline {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSequence = 16;  // of ours: ESC [ 3 1 ; 1 m

// Bytes of one of our own sequences at the begin of `text` (ESC[31;1m, ESC[K, \r); 0 = none, npos =
// the text ends before that can be told.
size_t own_sequence(std::string_view text) {
  if (text[0] == '\r') return 1;
  if (text[0] != kEscape) return 0;
  if (text.size() == 1) return std::string_view::npos;
  if (text[1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos) {
    return text.size() < kLongestSequence ? std::string_view::npos : 0;
  }
  const bool ours = text[end] == 'm' || (text[end] == 'K' && end == 2);
  return ours && end < kLongestSequence ? end + 1 : 0;
}

// Bytes that the character at the begin of `text` will have, by its first byte.
size_t announced(unsigned char first) {
  return first < 0xC2 || first > 0xF4 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
}

// How each of 0, 1 and 2 is opened where it is closed.
constexpr std::array kModes = {O_RDONLY, O_RDONLY, O_WRONLY};

bool is_closed(int fd) { return fcntl(fd, F_GETFD) < 0 && errno == EBADF; }

// Without a /dev, as in some containers, a folder will do: it neither gives nor takes a byte.
bool open_as(int fd, int mode) {
  int opened = ::open("/dev/null", mode);
  if (opened < 0) opened = ::open("/", O_RDONLY);
  return opened == fd;  // the lowest free number
}

}  // namespace

SafeOutput::SafeOutput(std::ostream& stream, bool terminal)
    : stream_(stream), inner_(stream.rdbuf(this)), terminal_(terminal) {}

SafeOutput::~SafeOutput() {
  if (!put_held() || sync() != 0) stream_.setstate(std::ios_base::badbit);
  const std::ios_base::iostate state = stream_.rdstate();
  stream_.rdbuf(inner_);
  stream_.setstate(state);
}

bool SafeOutput::put(std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return inner_->sputn(text.data(), size) == size;
}

bool SafeOutput::put_held() {
  if (held_.empty()) return true;
  std::string out;
  for (const char c : held_) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && byte >= 0x20) {
      out += c;
    } else {
      out += byte < 0xA0 ? fmt::format("\\u{:04x}", byte) : "?";
    }
  }
  held_.clear();
  return put(out);
}

SafeOutput::int_type SafeOutput::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char c = traits_type::to_char_type(byte);
  return xsputn(&c, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize SafeOutput::xsputn(const char* text, std::streamsize size) {
  if (raw_) return inner_->sputn(text, size);
  std::string all = std::exchange(held_, {});
  all.append(text, static_cast<size_t>(size));
  const std::string_view view = all;
  std::string out;
  out.reserve(all.size());
  for (size_t i = 0; i < view.size();) {
    const char c = view[i];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte < 0x7F) || c == '\n' || c == '\t') {
      out += c;
      ++i;
      continue;
    }
    const size_t own = terminal_ ? own_sequence(view.substr(i)) : 0;
    const bool cut_sequence = own == std::string_view::npos;
    const bool cut_character = byte >= 0x80 && i + announced(byte) > view.size();
    if (cut_sequence || cut_character) {
      held_ = view.substr(i);
      break;
    }
    const CodePoint point = code_point(view, i);
    if (own > 0) {
      out += view.substr(i, own);
      i += own;
    } else if (!point.valid || is_control(point.value)) {
      const auto value = point.valid ? static_cast<unsigned>(point.value) : byte;
      // A byte that is no UTF-8 may be a control character of a terminal of eight bits.
      out += point.valid || value < 0xA0 ? fmt::format("\\u{:04x}", value) : "?";
      i += point.bytes;
    } else {
      out += view.substr(i, point.bytes);
      i += point.bytes;
    }
  }
  return put(out) ? size : 0;
}

int SafeOutput::sync() { return inner_->pubsync(); }

RawOutput::RawOutput(std::ostream& stream) : output_(dynamic_cast<SafeOutput*>(stream.rdbuf())) {
  if (output_ == nullptr) return;
  output_->put_held();
  output_->raw_ = true;
}

RawOutput::~RawOutput() {
  if (output_ != nullptr) output_->raw_ = false;
}

bool open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (is_closed(fd) && !open_as(fd, kModes[static_cast<size_t>(fd)])) return false;
  }
  return true;
}

std::string output_trouble() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  const bool refuses = flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
  return refuses ? "standard output is closed" : "is the disk full?";
}

}  // namespace plumbline
