// What an HTTP server may send, as arbitrary bytes: the reader of responses and the one of events
// must say the same of them in one piece and byte by byte, and a URL that is taken must come back
// as it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_bytes.h"
#include "transport/http/events.h"
#include "transport/http/message.h"
#include "transport/http/url.h"

namespace plumbline {
namespace {

struct ReadBytes {
  bool good = true, done = false;
  std::string body;
  std::string events;
};

ReadBytes read_pieces(std::string_view bytes, size_t piece) {
  ReadBytes out;
  HttpResponseReader reader({4096, 8192});
  for (size_t at = 0; at < bytes.size() && out.good; at += piece) {
    out.good = reader.feed(bytes.substr(at, piece), out.body).has_value();
  }
  out.good = out.good && reader.end().has_value();
  out.done = reader.done();
  require(out.body.size() <= 8192 && (!out.good || out.done));
  EventReader lines;
  std::vector<ServerEvent> events;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!lines.feed(bytes.substr(at, piece), events)) break;
  }
  for (const ServerEvent& event : events) out.events += event.name + "|" + event.data + "\n";
  return out;
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const plumbline::ReadBytes whole = plumbline::read_pieces(bytes, size + 1);
  const plumbline::ReadBytes single = plumbline::read_pieces(bytes, 1);
  plumbline::require(whole.good == single.good && whole.done == single.done);
  plumbline::require(whole.events == single.events);
  if (whole.good) plumbline::require(whole.body == single.body);
  const auto url = plumbline::parse_http_url(bytes);
  if (url) plumbline::require(plumbline::parse_http_url(plumbline::to_text(*url)).value() == *url);
  return 0;
}
