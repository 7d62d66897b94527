#include "transport/http/url.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostUrlBytes = 2048;
constexpr size_t kMostNameBytes = 253;  // RFC 1035, section 2.3.4
constexpr size_t kMostLabelBytes = 63;
constexpr const char* kGoodUrl = "write it as http://mini1:8080";

tl::unexpected<Error> bad_url(const std::string& what, std::string hint = kGoodUrl) {
  return fail(ErrorCode::kConfig, what, std::move(hint));
}

bool url_character(char c) {
  return c > ' ' && c < 0x7f && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
}

bool label_character(char c) { return is_alnum(c) || c == '-' || c == '_'; }

// Resolvers read "127.1" and "0x7f000001" as addresses; people do not.
bool looks_numeric(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return all_of(last, is_digit) || last.starts_with("0x");
}

bool is_host_name(std::string_view name) {
  if (name.size() > kMostNameBytes || looks_numeric(name)) return false;
  return all_of(split_at(name, '.'), [](const std::string& label) {
    return !label.empty() && label.size() <= kMostLabelBytes && all_of(label, label_character);
  });
}

// "fe80::1%25en2" of RFC 6874, or with a bare percent sign, as people type it.
Expected<std::string> v6_host(std::string_view inside) {
  std::string text(inside);
  const size_t percent = text.find("%25");
  if (percent != std::string::npos) text.erase(percent + 1, 2);
  const size_t zone = text.find('%');
  const bool plain_zone =
      zone == std::string::npos || is_host_name(std::string_view(text).substr(zone + 1));
  const auto ip = parse_zoned_ip(text);
  if (!ip || !ip->v6 || !plain_zone) {
    return bad_url(fmt::format("{} is no IPv6 address", in_quotes(text)));
  }
  return text;
}

// The host, taken from the start of `rest`.
Expected<std::string> take_host(std::string_view& rest) {
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return bad_url("the URL has a '[' without its ']'");
    const std::string_view inside = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return v6_host(inside);
  }
  const std::string host = lower_case(rest.substr(0, rest.find(':')));
  rest.remove_prefix(host.size());
  if (host.empty()) return bad_url("the URL names no host");
  const auto ip = parse_ip(host);
  if (!ip && !is_host_name(host)) {
    return bad_url(fmt::format("{} is neither a host's name nor an address", in_quotes(host)));
  }
  return host;
}

// What follows "http://".
Expected<HttpUrl> parse_rest(std::string_view rest) {
  HttpUrl url;
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  rest = rest.substr(0, slash);
  Expected<std::string> host = take_host(rest);
  if (!host) return fail(host.error());
  url.host = std::move(*host);
  if (rest.empty()) return url;
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) {
    return bad_url(fmt::format("{} is no port (1 to 65535)", in_quotes(std::string(rest))));
  }
  url.port = *port;
  return url;
}

}  // namespace

Expected<HttpUrl> parse_http_url(std::string_view text) {
  if (text.empty()) return bad_url("the URL is empty");
  if (text.size() > kMostUrlBytes) {
    return bad_url(fmt::format("the URL has more than {} bytes", kMostUrlBytes));
  }
  // First what may be secret: from here on messages may show the text.
  if (text.find('@') != std::string_view::npos) {
    return bad_url("the URL has a '@': user names and passwords do not belong into it",
                   "leave them out; a key comes out of a variable that `key_from` names");
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return bad_url("the URL has a query or a fragment ('?', '#')",
                   "leave it out: the paths of the interface are added by themselves");
  }
  const std::string shown = in_quotes(std::string(text));
  if (!all_of(text, url_character)) {
    return bad_url(fmt::format("the URL {} has characters that no URL has", shown));
  }
  const size_t colon = text.find("://");
  const std::string scheme =
      lower_case(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme == "https") {
    return bad_url(fmt::format("the URL {} is of https, which plumbline does not speak", shown),
                   "let a local proxy speak it, as in `socat TCP-LISTEN:8080,bind=127.0.0.1,fork "
                   "OPENSSL:HOST:443`, and name http://127.0.0.1:8080");
  }
  if (scheme != "http") {
    return bad_url(fmt::format("the URL {} does not begin with http://", shown));
  }
  return parse_rest(text.substr(colon + 3));
}

std::string authority(const HttpUrl& url) {
  const std::string plain = url.host.substr(0, url.host.find('%'));
  return fmt::format("{}:{}", is_v6(plain) ? "[" + plain + "]" : plain, url.port);
}

std::string to_text(const HttpUrl& url) {
  const std::string host = is_v6(url.host) ? "[" + url.host + "]" : url.host;
  return fmt::format("http://{}:{}{}", host, url.port, url.path);
}

}  // namespace plumbline
