#include "transport/http/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"

namespace plumbline {
namespace {

// RFC 9110, section 5.6.2.
bool token_character(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) { return !text.empty() && all_of(text, token_character); }

// In a value that we send: ASCII only.
bool sent_character(char c) { return c >= ' ' && c < 0x7f; }
// In one that we read: no controls but the tab.
bool read_character(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

// Written by request_text() itself.
bool is_ours(const std::string& name) {
  constexpr std::string_view kOurs[] = {"host", "connection", "content-length",
                                        "transfer-encoding"};
  return is_in(kOurs, std::string_view(name));
}

Status check_request(const HttpRequest& request) {
  if (!is_token(request.method)) {
    return fail(ErrorCode::kConfig, in_quotes(request.method) + " is no method of HTTP");
  }
  const bool printable_target =
      all_of(request.target, [](char c) { return sent_character(c) && c != ' '; });
  if (!request.target.starts_with('/') || !printable_target) {
    return fail(ErrorCode::kConfig, in_quotes(request.target) + " is no path of HTTP");
  }
  for (const HttpHeader& header : request.headers) {
    if (!is_token(header.name) || is_ours(lower_case(header.name))) {
      return fail(ErrorCode::kConfig, in_quotes(header.name) + " cannot be the name of a header");
    }
    if (!all_of(header.value, sent_character) || trimmed(header.value) != header.value) {
      return fail(ErrorCode::kConfig,
                  fmt::format("the value for the header {} has characters that cannot be sent",
                              header.name),
                  "it must be printable ASCII, without blanks or a line's end around it");
    }
  }
  return {};
}

// "200" of "HTTP/1.1 200 OK".
std::optional<int> status_of(std::string_view line) {
  const bool ours = line.starts_with("HTTP/1.") && line.size() >= 12 && is_digit(line[7]);
  if (!ours || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) return std::nullopt;
  return parse_whole<int>(line.substr(9, 3), 100, 599);
}

}  // namespace

Expected<std::string> request_text(const HttpUrl& url, const HttpRequest& request) {
  if (const Status good = check_request(request); !good) return fail(good.error());
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: plumbline\r\nConnection: close\r\n",
                  request.method, request.target, authority(url));
  for (const HttpHeader& header : request.headers) {
    text += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  if (!request.body.empty() || request.method == "POST") {
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return text + "\r\n" + request.body;
}

std::string_view HttpHead::value(std::string_view name) const {
  const HttpHeader* found =
      find_where(headers, [name](const HttpHeader& header) { return header.name == name; });
  return found == nullptr ? std::string_view() : found->value;
}

tl::unexpected<Error> HttpResponseReader::broken(const std::string& what) {
  broken_ = true;
  return fail(ErrorCode::kProtocol, fmt::format("at byte {} of the response: {}", position_, what),
              "is that an HTTP server?");
}

Status HttpResponseReader::feed(std::string_view bytes, std::string& body) {
  if (broken_) return broken("it was broken before");
  while (!bytes.empty()) {
    if (done()) return broken("something follows its end");
    const bool in_body =
        part_ == Part::kLength || part_ == Part::kUntilClose || part_ == Part::kChunk;
    if (in_body) {
      const Expected<size_t> taken = take_body(bytes, body);
      if (!taken) return fail(taken.error());
      bytes.remove_prefix(*taken);
      continue;
    }
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    lines_bytes_ += piece.size() + 1;
    position_ += piece.size();
    if (lines_bytes_ > limits_.head_bytes) {
      return broken(fmt::format("its lines have more than {} bytes", limits_.head_bytes));
    }
    line_ += piece;
    if (end == std::string_view::npos) return {};
    ++position_;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::move(line_);
    line_.clear();
    if (const Status taken = take_line(line); !taken) return taken;
  }
  return {};
}

Status HttpResponseReader::take_line(std::string_view line) {
  switch (part_) {
    case Part::kStatusLine:
      return take_status_line(line);
    case Part::kHeaders:
      return line.empty() ? end_of_head() : take_header(line);
    case Part::kChunkSize:
      return take_chunk_size(line);
    case Part::kChunkEnd:
      if (!line.empty()) return broken("a chunk is longer than it says");
      part_ = Part::kChunkSize;
      lines_bytes_ = 0;
      return {};
    default:
      if (!line.empty()) return take_header(line);
      part_ = Part::kDone;
      return {};
  }
}

Status HttpResponseReader::take_status_line(std::string_view line) {
  const auto status = status_of(line);
  if (!status || !all_of(line, read_character)) {
    return broken(fmt::format("no status line of HTTP/1: {}", escaped_short(line)));
  }
  head_.status = *status;
  head_.reason = line.size() > 13 ? line.substr(13) : std::string_view();
  part_ = Part::kHeaders;
  return {};
}

Status HttpResponseReader::take_header(std::string_view line) {
  const size_t colon = line.find(':');
  const bool named = colon != std::string_view::npos && is_token(line.substr(0, colon));
  if (!named || !all_of(line, read_character)) {
    return broken(fmt::format("no header: {}", escaped_short(line)));
  }
  if (part_ == Part::kTrailers) return {};
  head_.headers.push_back(
      {lower_case(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  return {};
}

Status HttpResponseReader::end_of_head() {
  if (head_.status == 101) return broken("another protocol, which nobody asked for");
  if (head_.status < 200) {  // an interim one: the response is still to come
    head_ = {};
    part_ = Part::kStatusLine;
    return {};
  }
  std::vector<std::string_view> lengths, codings;
  for (const HttpHeader& header : head_.headers) {
    if (header.name == "content-length") lengths.push_back(header.value);
    if (header.name == "transfer-encoding") codings.push_back(header.value);
  }
  lines_bytes_ = 0;
  head_done_ = true;
  if (!codings.empty()) {
    if (!lengths.empty()) return broken("both a length and chunks");
    if (codings.size() != 1 || lower_case(codings.front()) != "chunked") {
      return broken(fmt::format("the coding {} is not known", escaped_short(codings.front())));
    }
    part_ = Part::kChunkSize;
  } else if (!lengths.empty()) {
    const auto length = parse_whole<uint64_t>(lengths.front());
    const bool one = all_of(lengths, [&](std::string_view l) { return l == lengths.front(); });
    if (!length || !one) {
      return broken(fmt::format("no length: {}", escaped_short(lengths.front())));
    }
    if (*length > limits_.body_bytes) {
      return broken(fmt::format("a body of {} bytes, more than {}", *length, limits_.body_bytes));
    }
    left_ = *length;
    part_ = left_ == 0 ? Part::kDone : Part::kLength;
  } else {
    part_ = Part::kUntilClose;
  }
  if (head_.status == 204 || head_.status == 304) part_ = Part::kDone;
  return {};
}

Status HttpResponseReader::take_chunk_size(std::string_view line) {
  const std::string_view digits = trimmed(line.substr(0, line.find(';')));
  const auto size = parse_hex<uint64_t>(digits);
  if (!size) return broken(fmt::format("no size of a chunk: {}", escaped_short(line)));
  left_ = *size;
  lines_bytes_ = 0;
  part_ = left_ == 0 ? Part::kTrailers : Part::kChunk;
  return {};
}

Expected<size_t> HttpResponseReader::take_body(std::string_view bytes, std::string& body) {
  const bool to_close = part_ == Part::kUntilClose;
  const size_t count =
      to_close ? bytes.size() : static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
  if (count > limits_.body_bytes - body_bytes_) {
    return broken(fmt::format("its body has more than {} bytes", limits_.body_bytes));
  }
  body += bytes.substr(0, count);
  body_bytes_ += count;
  position_ += count;
  if (!to_close) left_ -= count;
  if (!to_close && left_ == 0) part_ = part_ == Part::kChunk ? Part::kChunkEnd : Part::kDone;
  return count;
}

Status HttpResponseReader::end() {
  if (broken_) return broken("it was broken before");
  if (part_ == Part::kUntilClose) part_ = Part::kDone;
  if (done()) return {};
  broken_ = true;
  return fail(ErrorCode::kPeerLost,
              fmt::format("the connection ended at byte {}, {}", position_,
                          position_ == 0 ? "before a response"
                          : head_done_   ? "in the middle of the response's body"
                                         : "in the middle of the response's head"));
}

}  // namespace plumbline
