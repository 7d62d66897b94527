// Messages of HTTP/1.1 (RFC 9112) as far as a client needs them: the text of a request, whose parts
// are checked so that none of them can end a line; and a reader of responses that takes bytes as
// they come, one or a million at a time, and keeps no more of them than its limits say. What the
// other end sends may be anything: whatever is no response is an Error that says at which byte.
// Bodies end by Content-Length, by chunks (with trailers, which are checked and dropped), or with
// the connection. Nothing here waits or knows a socket. Values; a reader belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "transport/http/url.h"

namespace plumbline {

struct HttpHeader {
  std::string name, value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";         // the path, as it is sent
  std::vector<HttpHeader> headers;  // beside those that every request has
  std::string body;
};

// Every request asks the server to close the connection behind the answer. kConfig for a part that
// cannot be sent; a header's value is never shown, for it may be a key.
Expected<std::string> request_text(const HttpUrl& url, const HttpRequest& request);

struct HttpHead {
  int status = 0;
  std::string reason;               // may be anything that is printable
  std::vector<HttpHeader> headers;  // names in lower case

  // Of the first header of this (lower-case) name; empty = there is none.
  std::string_view value(std::string_view name) const;
};

struct HttpLimits {
  size_t head_bytes = 64 << 10;  // of status line and headers, and of the trailers again
  size_t body_bytes = 4 << 20;
};

class HttpResponseReader {
 public:
  explicit HttpResponseReader(HttpLimits limits = {}) : limits_(limits) {}

  // The next bytes; what of them is body is appended to `body`. After an Error it stays broken.
  Status feed(std::string_view bytes, std::string& body);
  // The connection has ended: kPeerLost where the response has not.
  Status end();

  bool head_done() const { return head_done_; }
  bool done() const { return part_ == Part::kDone; }
  const HttpHead& head() const { return head_; }

 private:
  enum class Part : uint8_t {
    kStatusLine,
    kHeaders,
    kLength,
    kUntilClose,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailers,
    kDone
  };

  tl::unexpected<Error> broken(const std::string& what);
  Status take_line(std::string_view line);
  Status take_status_line(std::string_view line);
  Status take_header(std::string_view line);
  Status end_of_head();
  Status take_chunk_size(std::string_view line);
  Expected<size_t> take_body(std::string_view bytes, std::string& body);

  HttpLimits limits_;
  Part part_ = Part::kStatusLine;
  HttpHead head_;
  bool head_done_ = false, broken_ = false;
  std::string line_;        // the beginning of a line
  size_t lines_bytes_ = 0;  // of the head, or of the trailers
  uint64_t left_ = 0;       // of the body, or of the chunk
  uint64_t body_bytes_ = 0, position_ = 0;
};

}  // namespace plumbline
