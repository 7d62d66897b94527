#include "transport/http/client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <array>
#include <cstring>

#include "core/awaited.h"
#include "core/host/ip.h"

namespace plumbline {
namespace {

constexpr size_t kPieceBytes = 16 << 10;

struct UrlAddresses {
  std::vector<SocketAddress> addresses;
  std::string problem;
};

UrlAddresses ask_for_addresses(const HttpUrl& url) {
  UrlAddresses out;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(url.host.c_str(), nullptr, &hints, &list);
  if (status != 0) {
    out.problem = gai_strerror(status);
    return out;
  }
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    address.set_port(static_cast<uint16_t>(url.port));
    out.addresses.push_back(address);
  }
  freeaddrinfo(list);
  return out;
}

class HttpExchange {
 public:
  HttpExchange(const HttpUrl& url, const HttpSettings& settings, const Patience& patience)
      : url_(url), settings_(settings), patience_(patience), reader_(settings.limits) {}

  HttpResult run(const std::vector<SocketAddress>& addresses, const HttpRequest& request,
                 const TakeBody& take) {
    result_.times.begun = monotonic_ns();
    result_.status = steps(addresses, request, take);
    result_.head = reader_.head();
    result_.times.ended = monotonic_ns();
    if (result_.status) {
      result_.step = HttpStep::kDone;
    } else {
      Error& error = result_.status.error();
      error.what = fmt::format("{} {}{}: {}: {}", request.method, authority(url_), request.target,
                               to_string(result_.step), error.what);
    }
    return std::move(result_);
  }

 private:
  Status steps(const std::vector<SocketAddress>& addresses, const HttpRequest& request,
               const TakeBody& take) {
    const Expected<std::string> text = request_text(url_, request);
    if (!text) return fail(text.error());
    Status done = connect_to_one(addresses);
    if (!done) return done;
    result_.times.connected = monotonic_ns();
    result_.step = HttpStep::kSend;
    // Before the call: when it is back, the answer may be under way.
    result_.times.sent = monotonic_ns();
    done = send_all(socket_.get(), text->data(), text->size(), step_patience());
    if (!done) return done;
    result_.step = HttpStep::kAnswer;
    return receive(take);
  }

  Patience step_patience() const {
    return settings_.silence_ns ? patience_.within(*settings_.silence_ns) : patience_;
  }

  Status connect_to_one(const std::vector<SocketAddress>& addresses) {
    Status last = fail(ErrorCode::kUnreachable, "there is no address");
    for (const SocketAddress& address : addresses) {
      last = connect_to(address);
      if (last || patience_.over()) break;
    }
    return last;
  }

  Status connect_to(const SocketAddress& address) {
    Expected<Fd> socket = start_connect(address, nullptr, "", {});
    if (!socket) return fail(socket.error());
    const Patience patience = patience_.within(settings_.connect_ms * kMillisecond);
    if (const Status ready = await_ready(socket->get(), POLLOUT, patience); !ready) {
      if (ready.error().code != ErrorCode::kTimeout) return ready;
      return fail(ErrorCode::kTimeout, fmt::format("{} does not answer", to_text(address)),
                  "check the host, its address and its firewall");
    }
    Status connected = finish_connect(socket->get(), address);
    if (!connected) {
      // What the transport says there is about ranks.
      connected.error().hint = "does the server run there, and listen on that address and port?";
      connected.error().cause.clear();
      return connected;
    }
    tune_connection(socket->get(), 0);
    socket_ = std::move(*socket);
    return {};
  }

  Status receive(const TakeBody& take) {
    std::array<char, kPieceBytes> piece;
    while (!reader_.done()) {
      const Expected<size_t> got =
          receive_some(socket_.get(), piece.data(), piece.size(), step_patience());
      if (!got) return fail(got.error());
      const int64_t now = monotonic_ns();
      if (*got == 0) return reader_.end();
      std::string body;
      const Status read = reader_.feed({piece.data(), *got}, body);
      if (reader_.head_done() && result_.times.answered == 0) {
        result_.times.answered = now;
        result_.step = HttpStep::kBody;
      }
      // What came before the trouble did come.
      const Status taken = take_body(take, body, now);
      if (!read) return read;
      if (!taken) return taken;
    }
    return {};
  }

  Status take_body(const TakeBody& take, std::string& body, int64_t now) {
    if (body.empty()) return {};
    if (take) return take(reader_.head(), body, now);
    result_.body += body;
    return {};
  }

  const HttpUrl& url_;
  const HttpSettings& settings_;
  const Patience& patience_;
  HttpResponseReader reader_;
  HttpResult result_;
  Fd socket_;
};

}  // namespace

Expected<std::vector<SocketAddress>> resolve_url(const HttpUrl& url, Deadline deadline) {
  if (parse_zoned_ip(url.host)) {
    const auto address = make_socket_address(url.host, static_cast<uint16_t>(url.port));
    if (!address) return fail(address.error());
    return std::vector<SocketAddress>{*address};
  }
  // getaddrinfo(3) cannot be interrupted.
  const Awaited<UrlAddresses> asked(1, [url](size_t) { return ask_for_addresses(url); });
  std::optional<UrlAddresses> answer = std::move(asked.wait(deadline).front());
  if (answer && !answer->addresses.empty()) return std::move(answer->addresses);
  return fail(ErrorCode::kUnreachable,
              fmt::format("the name {} gives no address: {}", url.host,
                          answer ? answer->problem : "no answer in time"),
              "write a numeric address into the URL, or mend the name");
}

const char* to_string(HttpStep step) {
  switch (step) {
    case HttpStep::kConnect:
      return "connect";
    case HttpStep::kSend:
      return "send the request";
    case HttpStep::kAnswer:
      return "wait for the answer";
    case HttpStep::kBody:
      return "read the answer";
    case HttpStep::kDone:
      break;
  }
  return "done";
}

HttpResult http_exchange(const HttpUrl& url, const std::vector<SocketAddress>& addresses,
                         const HttpRequest& request, const HttpSettings& settings,
                         const Patience& patience, const TakeBody& take) {
  return HttpExchange(url, settings, patience).run(addresses, request, take);
}

}  // namespace plumbline
