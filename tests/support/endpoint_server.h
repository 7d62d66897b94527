// A small OpenAI-style server on a free port of loopback, as a thread of the test: it does what its
// script says, which is to serve, or to be slow, full, silent, broken or lying, and notes what it
// really did and when. Its HTTP is its own, so that it proves the client's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/fd.h"

namespace plumbline {

enum class ServerFault : uint8_t {
  kNone,
  kSilent,       // takes a question and never answers
  kGone,         // 504 after `first_token_ms`
  kCutStream,    // ends the connection behind half of the tokens
  kNoDone,       // the stream ends as it should, but for its last event
  kNoJson,       // answers in words
  kNoHttp,       // greets as another service would
  kDrops,        // closes every connection at once
  kOtherModel,   // has and names another model
  kWrongAnswer,  // 2 + 2 = 5
  kStreamError,  // an error as an event of the stream
  kEndless,      // a head that never ends
};

struct ServerScript {
  ServerFault fault = ServerFault::kNone;
  int first_token_ms = 0, gap_ms = 0;
  int tokens = 4;    // of an answer, and no more than are asked for
  int at_once = 16;  // questions that are answered side by side; others wait
  int queue = 16;    // so many may wait; beyond it: 429
  int health_status = 200;
  std::string model = "test-model", answer = "4";
  std::string key = {};     // who does not send it gets 401; empty: anybody may ask
  bool odd_chunks = false;  // chunks begin and end in the middle of events
};

// One question, by monotonic_ns().
struct ServedQuestion {
  int status = 200;
  int64_t came_ns = 0;                 // its last byte was there
  std::vector<int64_t> token_ns = {};  // each left
  std::string body = {}, authorization = {};
};

class EndpointServer {
 public:
  explicit EndpointServer(ServerScript script);
  ~EndpointServer();  // ends whatever it is doing

  std::string url() const;
  int port() const { return port_; }
  // What it answered until now, those that it broke off too.
  std::vector<ServedQuestion> served();

 private:
  struct Asked {
    std::string method, path, authorization, body;
  };

  void accept_loop();
  void serve(int fd);
  bool read_request(int fd, Asked& asked) const;
  void answer_question(int fd, const Asked& asked);
  void generate(int fd, const Asked& asked, ServedQuestion& question);
  void stream_tokens(int fd, bool chat, int tokens, ServedQuestion& question);
  std::string token_text(int index, int tokens) const;
  bool take_place();  // false: the queue is full
  void leave_place();
  bool sleep_until(int64_t at_ns);  // false: the server ends
  void note(const ServedQuestion& question);

  const ServerScript script_;
  Fd listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int busy_ = 0, waiting_ = 0;
  int open_ = 0;  // questions that are not noted yet
  std::atomic<bool> ending_{false};
  std::vector<ServedQuestion> served_;
  std::list<std::thread> connections_;
  std::thread accepting_;
};

}  // namespace plumbline
