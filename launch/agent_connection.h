// A HostAgent over two descriptors: those of a process that we started, or a socket twice. One
// thread moves all bytes, so that ask() never waits, whatever the other end does. The first line
// that is no answer to one of our requests ends the connection: who talks nonsense once is not
// believed again. While requests are open and the agent is silent, it is asked for the `time` now
// and then, which its loop answers at once even when all its handlers are busy; one that does not
// is hung. A process that is lost is killed, and its last words become part of the error.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/fd.h"
#include "launch/agent_link.h"
#include "launch/line_io.h"
#include "launch/process.h"
#include "transport/control/poll_set.h"

namespace plumbline {

// The ends of the wires, non-blocking. `to` may be empty: then `from` is a socket for both ways.
struct AgentWires {
  Fd to, from, errors;
  std::unique_ptr<Process> process;  // null when somebody else started it
  bool remote = false;  // the process is ssh: the agent behind it ends when it hears nothing
};

// When one exchange left and came back, on our wall clock.
struct ExchangeTimes {
  int64_t sent_ns = 0, received_ns = 0;
};

// How a connection ended by itself.
struct AgentEnding {
  Error error;              // cause rank.agent_lost
  int exit_status = -1;     // of the process when it ended by itself; -1 = it did not
  std::string last_words;   // end of its standard error
  bool ever_spoke = false;  // at least one answer had come
  bool remote = false;      // it was started through ssh, whose words and status these may be
};

class AgentConnection : public HostAgent {
 public:
  static Expected<std::unique_ptr<AgentConnection>> open(std::string host, AgentWires wires);
  // Ends the process: end of input, then SIGTERM, then SIGKILL; less than a second.
  ~AgentConnection() override;

  const std::string& host() const override { return host_; }
  int64_t ask(const std::string& request, const nlohmann::json& params, Deadline deadline) override;
  Expected<nlohmann::json> reply(int64_t ticket) override;
  Expected<nlohmann::json> reply(int64_t ticket, ExchangeTimes* times);

  // Nothing while it is alive as far as we know.
  std::optional<AgentEnding> ending();
  // The last lines of its standard error so far, on one line.
  std::string words();

 private:
  struct Pending;
  struct Message {
    int64_t ticket = 0;
    std::string text;
  };

  AgentConnection(std::string host, AgentWires wires, WakePipe wake);
  // `own`: a question of look_after(), whose answer nobody fetches.
  int64_t post(const std::string& request, const nlohmann::json& params, Deadline deadline,
               bool own);
  // All of these run in the moving thread.
  void move();
  bool closing();
  void write_some();
  bool next_message();
  bool read_answers();  // false when nothing is there, or the connection is lost
  void read_errors();
  void take(const std::string& line);
  void look_after();
  void ask_for_time_if_silent();
  void lose(ErrorCode code, const std::string& what);

  const std::string host_;
  AgentWires wires_;
  const WakePipe wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::shared_ptr<Pending>> pending_;
  std::set<int64_t> abandoned_;  // given up by reply(), but an answer may still come
  std::deque<Message> outbox_;
  size_t outbox_bytes_ = 0;
  int64_t last_ticket_ = 0;
  bool closing_ = false;
  std::optional<AgentEnding> ending_;
  std::string last_words_;
  // Of the moving thread alone.
  LineBuffer lines_;
  Message sending_;
  size_t sent_ = 0;
  int64_t heard_ns_ = 0, asked_ns_ = 0;  // monotonic; asked_ns_ 0 = no own question is out
  int64_t bytes_ns_ = 0;                 // when the last bytes of an answer came
  int64_t kept_alive_ns_ = 0;
  bool ever_spoke_ = false, lost_ = false;
  int shell_lines_ = 0;
  std::thread mover_;
};

// The greeting of connected agents, whoever connected them (agent_link.cc, agent_socket.cc):
// hello, the version, the clock; side by side, at the latest at the deadline. A connection that is
// an Error becomes an AgentStart with that error and its cause; one that fails is ended.
std::vector<AgentStart> greet_agents(
    std::vector<Expected<std::unique_ptr<AgentConnection>>> connections,
    const std::map<std::string, std::string>& config, Deadline deadline);

}  // namespace plumbline
