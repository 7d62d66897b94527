// A small client of HTTP/1.1: one request over one connection of its own, over plain TCP, with a
// deadline on every step. What came out is a value also where it went wrong: which step it was,
// when each was through by the monotonic clock, and what had come until then, so that a server that
// refuses, is silent or breaks off can be told apart. Thread-safe functions; several may be under
// way, each in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "transport/http/message.h"
#include "transport/http/url.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/traffic.h"

namespace plumbline {

// Addresses of the URL's host with its port, in the resolver's order; at least one. kUnreachable
// where the name gives none, or no answer comes in time.
Expected<std::vector<SocketAddress>> resolve_url(const HttpUrl& url, Deadline deadline);

struct HttpSettings {
  HttpLimits limits = {};
  int64_t connect_ms = 5000;  // to connect to one address
  // Longest time in which no byte moves; none: only the patience of the exchange ends it.
  std::optional<int64_t> silence_ns = {};
};

// The step in which a request is, or was when it failed.
enum class HttpStep : uint8_t { kConnect, kSend, kAnswer, kBody, kDone };
const char* to_string(HttpStep step);

// By monotonic_ns(); 0 = it did not come so far.
struct HttpTimes {
  int64_t begun = 0, connected = 0;
  int64_t sent = 0;      // the request begins to leave
  int64_t answered = 0;  // the head of the response was there
  int64_t ended = 0;     // always
};

struct HttpResult {
  HttpStep step = HttpStep::kConnect;
  Status status =
      {};  // kTimeout: no byte came in time; kPeerLost: it broke off; kProtocol: no HTTP
  HttpHead head = {};
  std::string body = {};  // what came of it; empty where `take` got it
  HttpTimes times = {};

  bool done() const { return step == HttpStep::kDone; }
};

// Bytes of the body, as they come, and when. An Error ends the exchange with it.
using TakeBody = std::function<Status(const HttpHead& head, std::string_view bytes, int64_t at_ns)>;

// Tries the addresses one after the other until one connects.
HttpResult http_exchange(const HttpUrl& url, const std::vector<SocketAddress>& addresses,
                         const HttpRequest& request, const HttpSettings& settings,
                         const Patience& patience, const TakeBody& take = {});

}  // namespace plumbline
