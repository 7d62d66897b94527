#include "tests/support/endpoint_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/clock.h"
#include "core/json.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using ServerJson = nlohmann::json;

constexpr int kLookMs = 20;  // how soon it notices that it is to end

bool send_whole(int fd, const std::string& text) {
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, send_flags());
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) sent += static_cast<size_t>(n);
    pollfd entry{fd, POLLOUT, 0};
    if (n < 0) ::poll(&entry, 1, kLookMs);
  }
  return true;
}

const char* status_words(int status) {
  return status == 200 ? "OK" : status == 429 ? "Too Many Requests" : "Something Else";
}

void send_json(int fd, int status, const ServerJson& json) {
  const std::string body = json.dump();
  send_whole(fd, fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\n"
                             "Content-Length: {}\r\n\r\n{}",
                             status, status_words(status), body.size(), body));
}

ServerJson server_error(const std::string& message) { return {{"error", {{"message", message}}}}; }

// One chunk, or each half of it as one.
bool send_chunks(int fd, const std::string& text, bool odd) {
  const size_t cut = odd ? text.size() / 2 : text.size();
  for (const std::string& part : {text.substr(0, cut), text.substr(cut)}) {
    if (part.empty()) continue;
    if (!send_whole(fd, fmt::format("{:x};odd=\"{}\"\r\n{}\r\n", part.size(), odd, part))) {
      return false;
    }
  }
  return true;
}

}  // namespace

EndpointServer::EndpointServer(ServerScript script) : script_(std::move(script)) {
  const SocketAddress address = make_socket_address("127.0.0.1", 0).value();
  listener_ = std::move(listen_on(address, {}).value());
  port_ = local_address(listener_.get()).port();
  accepting_ = std::thread([this] { accept_loop(); });
}

EndpointServer::~EndpointServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  accepting_.join();
  for (std::thread& connection : connections_) connection.join();
}

std::string EndpointServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<ServedQuestion> EndpointServer::served() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Who asked may have the answer before it is noted.
  changed_.wait_for(lock, std::chrono::seconds(2), [this] { return open_ == 0; });
  return served_;
}

void EndpointServer::accept_loop() {
  while (!ending_) {
    pollfd entry{listener_.get(), POLLIN, 0};
    if (::poll(&entry, 1, kLookMs) <= 0) continue;
    Expected<Fd> connection = accept_from(listener_.get());
    if (!connection || !connection->valid()) continue;
    const int fd = connection->release();
    connections_.emplace_back([this, fd] {
      const Fd own(fd);
      serve(fd);
      ::shutdown(fd, SHUT_WR);
    });
  }
}

bool EndpointServer::read_request(int fd, Asked& asked) const {
  std::string text;
  std::array<char, 4096> piece;
  while (!ending_) {
    const size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string head = text.substr(0, end + 2);
      const auto value = [&](const std::string& name) {
        const size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return std::string();
        const size_t begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
      };
      const std::string length = value("Content-Length");
      const size_t bytes = length.empty() ? 0 : std::stoul(length);
      if (text.size() >= end + 4 + bytes) {
        const size_t space = head.find(' ');
        asked.method = head.substr(0, space);
        asked.path = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
        asked.authorization = value("Authorization");
        asked.body = text.substr(end + 4, bytes);
        return true;
      }
    }
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, kLookMs) <= 0) continue;
    const ssize_t n = ::recv(fd, piece.data(), piece.size(), 0);
    if (n <= 0) return false;
    text.append(piece.data(), static_cast<size_t>(n));
  }
  return false;
}

void EndpointServer::serve(int fd) {
  if (script_.fault == ServerFault::kDrops) return;
  Asked asked;
  if (!read_request(fd, asked)) return;
  if (script_.fault == ServerFault::kNoHttp) {
    send_whole(fd, "SSH-2.0-OpenSSH_9.2p1\r\n");
    return;
  }
  if (script_.fault == ServerFault::kEndless) {
    send_whole(fd, "HTTP/1.1 200 OK\r\n");
    while (!ending_ && send_whole(fd, "A: " + std::string(1000, 'b') + "\r\n")) {
    }
    return;
  }
  if (asked.path == "/health") {
    send_json(fd, script_.health_status, {{"status", "ok"}, {"queue_size", 0}});
  } else if (!script_.key.empty() && asked.authorization != "Bearer " + script_.key) {
    send_json(fd, 401, server_error("no such key"));
  } else if (asked.path == "/v1/models") {
    const bool other = script_.fault == ServerFault::kOtherModel;
    send_json(fd, 200, {{"data", {{{"id", other ? "other-model" : script_.model}}}}});
  } else if (asked.path == "/v1/chat/completions" || asked.path == "/v1/completions") {
    answer_question(fd, asked);
  } else {
    send_json(fd, 404, {{"detail", "Not Found"}});
  }
}

bool EndpointServer::take_place() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (busy_ >= script_.at_once && waiting_ >= script_.queue) return false;
  ++waiting_;
  changed_.wait(lock, [this] { return ending_ || busy_ < script_.at_once; });
  --waiting_;
  ++busy_;
  return true;
}

void EndpointServer::leave_place() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --busy_;
  }
  changed_.notify_all();
}

bool EndpointServer::sleep_until(int64_t at_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_ && monotonic_ns() < at_ns) {
    const int64_t left = std::min<int64_t>(at_ns - monotonic_ns(), kSecond);
    changed_.wait_for(lock, std::chrono::nanoseconds(left));
  }
  return !ending_;
}

void EndpointServer::note(const ServedQuestion& question) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    served_.push_back(question);
    --open_;
  }
  changed_.notify_all();
}

void EndpointServer::answer_question(int fd, const Asked& asked) {
  ServedQuestion question;
  question.came_ns = monotonic_ns();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++open_;
  }
  question.body = asked.body;
  question.authorization = asked.authorization;
  if (!take_place()) {
    question.status = 429;
    note(question);
    send_json(fd, 429, server_error("the queue is full"));
    return;
  }
  generate(fd, asked, question);
  leave_place();
  note(question);
}

std::string EndpointServer::token_text(int index, int tokens) const {
  if (script_.fault == ServerFault::kWrongAnswer) return "5";
  return index + 1 == tokens ? script_.answer : " ";
}

void EndpointServer::generate(int fd, const Asked& asked, ServedQuestion& question) {
  const ServerJson body = ServerJson::parse(asked.body);
  const bool chat = asked.path == "/v1/chat/completions";
  const int tokens = std::min(script_.tokens, body.value("max_tokens", script_.tokens));
  if (script_.fault == ServerFault::kSilent) {
    sleep_until(INT64_MAX);
    return;
  }
  if (!sleep_until(question.came_ns + script_.first_token_ms * kMillisecond)) return;
  if (script_.fault == ServerFault::kGone) {
    question.status = 504;
    return send_json(fd, 504, {{"detail", "a worker does not answer"}});
  }
  if (script_.fault == ServerFault::kNoJson) {
    send_whole(fd, "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n");
    return;
  }
  if (body.value("stream", false)) return stream_tokens(fd, chat, tokens, question);
  const int64_t last =
      question.came_ns +
      (script_.first_token_ms + int64_t{script_.gap_ms} * (tokens - 1)) * kMillisecond;
  if (!sleep_until(last)) return;
  std::string text;
  for (int i = 0; i < tokens; ++i) text += token_text(i, tokens);
  const ServerJson choice =
      chat ? ServerJson{{"message", {{"role", "assistant"}, {"content", text}}},
                        {"finish_reason", "stop"}}
           : ServerJson{{"text", text}, {"finish_reason", "stop"}};
  const bool other = script_.fault == ServerFault::kOtherModel;
  ServerJson answer = {{"model", other ? "other-model" : script_.model},
                       {"choices", ServerJson::array({choice})},
                       {"usage", {{"completion_tokens", tokens}}}};
  if (script_.fault == ServerFault::kCutStream) {
    send_whole(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\":");
    return;
  }
  send_json(fd, 200, answer);
  question.token_ns.push_back(monotonic_ns());
}

void EndpointServer::stream_tokens(int fd, bool chat, int tokens, ServedQuestion& question) {
  send_whole(fd,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
             "Transfer-Encoding: chunked\r\n\r\n");
  const bool other = script_.fault == ServerFault::kOtherModel;
  const std::string model = other ? "other-model" : script_.model;
  for (int i = 0; i < tokens; ++i) {
    const int64_t due =
        question.came_ns + (script_.first_token_ms + int64_t{script_.gap_ms} * i) * kMillisecond;
    if (!sleep_until(due)) return;
    const bool half = i == tokens / 2;
    if (half && script_.fault == ServerFault::kCutStream) return;
    if (half && script_.fault == ServerFault::kStreamError) {
      send_chunks(fd, "data: " + server_error("out of memory").dump() + "\n\n", false);
      return;
    }
    const std::string text = token_text(i, tokens);
    const ServerJson choice =
        chat ? ServerJson{{"delta", {{"content", text}}}} : ServerJson{{"text", text}};
    const ServerJson event = {{"model", model}, {"choices", ServerJson::array({choice})}};
    question.token_ns.push_back(monotonic_ns());
    if (!send_chunks(fd, ": still here\r\n\r\ndata: " + event.dump() + "\r\n\r\n",
                     script_.odd_chunks)) {
      return;
    }
  }
  const bool ends = script_.fault != ServerFault::kNoDone;
  send_whole(fd, ends ? "e\r\ndata: [DONE]\n\n\r\n0\r\nX: y\r\n\r\n" : "0\r\n\r\n");
}

}  // namespace plumbline
