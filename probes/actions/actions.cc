#include "probes/actions/actions.h"

#include <utility>

#include "probes/actions/requests.h"

namespace plumbline {

void SessionState::close() {
  std::shared_ptr<ListenerHub> old_listeners;
  std::shared_ptr<DatagramHub> old_datagrams;
  std::map<std::string, std::shared_ptr<Capture>> old_captures;
  {
    const std::lock_guard lock(mutex);
    closed = true;
    old_listeners.swap(listeners);
    old_datagrams.swap(datagrams);
    old_captures.swap(running);
    kept.clear();
  }
  // Their threads are waited for here, without the lock.
}

std::shared_ptr<ListenerHub> SessionState::hub() {
  const std::lock_guard lock(mutex);
  return listeners;
}

std::shared_ptr<DatagramHub> SessionState::datagram_hub() {
  const std::lock_guard lock(mutex);
  return datagrams;
}

AgentSession::AgentSession() : state_(std::make_shared<SessionState>()) {}
AgentSession::~AgentSession() { state_->close(); }

std::vector<AgentRequest> AgentSession::requests() {
  std::vector<AgentRequest> out;
  for (std::vector<AgentRequest> rows :
       {host_requests(), listener_requests(state_), pair_requests(), datagram_requests(state_),
        capture_requests(state_)}) {
    for (AgentRequest& row : rows) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace plumbline
