// Where an HTTP server is, as a person names it: "http://mini1:8080",
// "http://[fe80::1%en2]:8000/v1". A URL is a typed value from here on: the host is a name or a
// numeric address and nothing else, the port one that exists, the path free of what could end a
// line. Only plain http is spoken; https is refused, with the way around it. So are user names,
// passwords and queries: what is secret would be written down with the URL, and no message shows
// it. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace plumbline {

struct HttpUrl {
  std::string host;  // a name in lower case, or a numeric address, perhaps with "%interface"
  int port = 80;
  std::string path;  // empty, or begins with a slash and ends without one

  bool operator==(const HttpUrl&) const = default;
};

// kConfig where it is none that can be used; the message is one line and names a good one.
Expected<HttpUrl> parse_http_url(std::string_view text);
// "mini1:8080", "[fe80::1]:8000": without a zone, which means nothing to others.
std::string authority(const HttpUrl& url);
// The same URL again, always with its port.
std::string to_text(const HttpUrl& url);

}  // namespace plumbline
