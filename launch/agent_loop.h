// The answering end of an agent: reads requests from one descriptor, runs each in a thread of its
// own (bounded), writes the answers to another. Ends when its input ends or the time is over, and
// never leaves a request without an answer before its time limit. Hostile lines are answered with
// an error or ignored; they cannot end the agent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "launch/agent_lines.h"

namespace plumbline {

struct AgentLoopSettings {
  std::string version, build;
  std::map<std::string, std::string> config;  // options as seen here, for hello
  size_t max_line_bytes = kMaxRequestBytes;
  int max_running = 64;  // requests at the same time; more wait
  // Ends when nothing has been heard for so long: over a network an asker may vanish without a
  // word. 0 = waits for the end of the input only.
  int64_t lease_ms = 0;
};

// `hello` and `time` are answered by the loop itself. A handler gets a little less than the time
// that the asker named; one that overruns it is answered for with a kTimeout, its own answer thrown
// away. Returns when the input ends or nobody reads the output any more: handlers are told
// (AgentCall::ending) and waited for at most a second. One that still runs then keeps its thread,
// with copies of all that it needs of the loop; the process should end soon. Until it returns, both
// descriptors are non-blocking.
Status serve_agent(int in, int out, const std::vector<AgentRequest>& requests,
                   const AgentLoopSettings& settings);

// `plumbline agent --listen`: waits for one coordinator on `port` (0 = any) of these addresses, at
// most `wait_ms`, lets it prove that it knows `token`, and serves it until it leaves. `ready` is
// called once with the real port. Others are turned away without harm: silent ones after a few
// seconds, at the latest when more of them come. kTimeout when nobody came. What follows the proof
// is neither signed nor encrypted: it keeps strangers out, not somebody who sits on the path.
Status serve_one_coordinator(const std::vector<std::string>& addresses, int port,
                             const std::string& token, int64_t wait_ms,
                             const std::vector<AgentRequest>& requests,
                             const AgentLoopSettings& settings,
                             const std::function<void(int port)>& ready);

}  // namespace plumbline
