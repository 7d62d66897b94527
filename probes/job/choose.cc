// Which of a host's processes and sockets belong to the job that was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/ranges.h"
#include "core/text.h"
#include "probes/job/job_variables.h"
#include "probes/job/look.h"

namespace plumbline {
namespace {

using SocketEnds = std::tuple<std::string, int, std::string, int>;

SocketEnds ends_of(const JobSocket& socket) {
  return {socket.ip, socket.port, socket.peer_ip, socket.peer_port};
}
SocketEnds ends_across(const JobSocket& socket) {
  return {socket.peer_ip, socket.peer_port, socket.ip, socket.port};
}

bool is_listener(const JobSocket& socket) { return socket.state == "LISTEN"; }

// What starts ranks on other hosts and keeps a connection to where it was started itself.
constexpr std::string_view kLaunchers[] = {"orterun", "orted",         "prterun",
                                           "prted",   "mpiexec.hydra", "hydra_pmi_proxy"};

class JobChoice {
 public:
  JobChoice(const SystemLook& system, const JobSelection& selection)
      : system_(system), selection_(selection) {
    for (const SeenProcess& seen : system.processes) by_pid_.emplace(seen.process.pid, &seen);
    for (const JobSocket& socket : system.sockets) {
      if (socket.pid != 0) of_pid_[socket.pid].push_back(&socket);
      if (!is_listener(socket)) by_ends_.emplace(ends_of(socket), &socket);
    }
    for (const JobSelection::End& end : selection.ends) {
      if (end.peer_port == 0) {
        called_.insert({end.ip, end.port});
      } else {
        across_.insert({end.peer_ip, end.peer_port, end.ip, end.port});
      }
    }
  }

  JobLook run(const std::vector<JobProcess>& first) {
    for (const JobProcess& process : first) {
      const SeenProcess* seen = find(process.pid);
      if (seen != nullptr && seen->process.started == process.started) add(*seen, process.why);
    }
    take_asked();
    // Each round adds at least one process, or is the last.
    size_t before = 0;
    do {
      before = why_.size();
      grow();
    } while (before != why_.size() && why_.size() < kMostJobProcesses);
    return finish();
  }

 private:
  const SeenProcess* find(int64_t pid) const {
    const auto found = by_pid_.find(pid);
    return found == by_pid_.end() ? nullptr : found->second;
  }

  void add(const SeenProcess& seen, std::string why) {
    const JobProcess& process = seen.process;
    if (seen.ours && why != "asked") return;
    if (seen.sight == Sight::kElsewhere) {
      partial_ = true;
      unseen_.insert(fmt::format(
          "PID {} ({}) is in another network namespace (a container, or another host of a lab): "
          "what it does there is not seen from here",
          process.pid, escaped_short(process.name)));
      return;
    }
    if (why_.size() >= kMostJobProcesses) {
      partial_ = true;
      unseen_.insert(
          fmt::format("more than {} processes: the others are left out", kMostJobProcesses));
      return;
    }
    if (why == "peer" && is_launcher(process.pid)) why = "launcher";
    if ((why == "peer" || why == "same program") && is_of_another_job(process)) why = "other job";
    if (!why_.emplace(process.pid, why).second) return;
    if (seen.sight == Sight::kOtherUser) {
      partial_ = partial_ || why == "asked";
      unseen_.insert(
          fmt::format("PID {} ({}) belongs to user {}: its variables, and which sockets "
                      "are its own, may not be read",
                      process.pid, escaped_short(process.name), process.uid));
    }
    if (why == "other job" || !place_of(process.environment)) return;
    for (std::string& identity : identities_of(process.environment)) {
      identities_.insert(std::move(identity));
    }
  }

  void take_asked() {
    for (const std::string& identity : selection_.identities) identities_.insert(identity);
    if (selection_.pid > 0) {
      if (const SeenProcess* seen = find(selection_.pid)) add(*seen, "asked");
    }
    if (selection_.port > 0) take_port();
    take_named();
    take_lone();
    if (called_.empty() && across_.empty()) return;
    for (const JobSocket& socket : system_.sockets) {
      if (!is_listener(socket) && leads_there(socket)) {
        if (const SeenProcess* seen = find(socket.pid)) add(*seen, "peer");
      }
    }
  }

  // To one of the ends that were named.
  bool leads_there(const JobSocket& socket) const {
    return called_.count({socket.peer_ip, socket.peer_port}) != 0 ||
           across_.count(ends_of(socket)) != 0;
  }

  // Others of that name, of which nothing can be seen, are most likely not meant.
  void take_named() {
    for (const bool visible : {true, false}) {
      for (const SeenProcess& seen : system_.processes) {
        const JobProcess& process = seen.process;
        if ((seen.sight == Sight::kSeen) != visible) continue;
        const bool named = !selection_.name.empty() &&
                           (process.name == selection_.name || process.program == selection_.name);
        if (named || is_of_run(process)) add(seen, "asked");
      }
      if (!why_.empty()) return;
    }
  }

  void take_lone() {
    for (const SeenProcess& seen : system_.processes) {
      const JobProcess& process = seen.process;
      if (process.program.empty() || process.program != selection_.lone_program) continue;
      const auto place = place_of(process.environment);
      if (place && place->size == 1) add(seen, "alone");
    }
  }

  void take_port() {
    for (const bool listening : {true, false}) {
      bool found = false;
      for (const JobSocket& socket : system_.sockets) {
        if (socket.port != selection_.port || is_listener(socket) != listening) continue;
        if (const SeenProcess* seen = find(socket.pid)) {
          add(*seen, "asked");
          found = true;
        } else if (socket.state == "LISTEN" || socket.state == "ESTABLISHED") {
          unseen_.insert(
              fmt::format("port {} is held by a process of user {} that this user "
                          "cannot look into",
                          socket.port, socket.uid));
        }
      }
      if (found) return;
    }
  }

  bool is_of_run(const JobProcess& process) const {
    if (selection_.run.empty() || !place_of(process.environment)) return false;
    for (const char* name : {"PLUMBLINE_RUN_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
                             "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"}) {
      const auto value = process.environment.find(name);
      if (value != process.environment.end() && value->second == selection_.run) return true;
    }
    return false;
  }

  bool belongs(int64_t pid) const { return why_.count(pid) != 0; }
  // At the other end of a connection, and of another program: what it does besides is none of the
  // job's business.
  bool is_leaf(int64_t pid) const {
    const auto found = why_.find(pid);
    if (found == why_.end()) return false;
    return found->second == "other job" ||
           (found->second == "peer" && !is_rank(pid) && !is_launcher(pid));
  }
  bool is_launcher(int64_t pid) const {
    const SeenProcess* seen = find(pid);
    return seen != nullptr && is_in(kLaunchers, std::string_view(seen->process.program));
  }
  bool is_rank(int64_t pid) const {
    const SeenProcess* seen = find(pid);
    return seen != nullptr && place_of(seen->process.environment).has_value();
  }

  void grow() {
    const std::map<int64_t, std::string> known = why_;
    for (const SeenProcess& seen : system_.processes) {
      if (belongs(seen.process.pid)) continue;
      if (shares_identity(seen.process)) add(seen, "same job");
      if (is_below(seen.process, known)) add(seen, "below");
      if (is_sibling(seen.process, known)) add(seen, "same job");
    }
    for (const auto& [pid, why] : known) {
      if (is_leaf(pid)) continue;
      add_other_ends(pid);
      add_launchers(pid);
    }
  }

  // Who started it, and its like on other hosts, on behalf of the job.
  void add_launchers(int64_t pid) {
    const SeenProcess* at = find(pid);
    for (size_t steps = 0; steps < 32 && at != nullptr && at->process.parent > 1; ++steps) {
      at = find(at->process.parent);
      if (at != nullptr && is_launcher(at->process.pid)) add(*at, "launcher");
    }
  }

  bool shares_identity(const JobProcess& process) const {
    if (!place_of(process.environment)) return false;
    return any_of(identities_of(process.environment),
                  [&](const std::string& each) { return identities_.count(each) != 0; });
  }
  // Its launcher gave it another name than the job's ranks have, and nothing else is the same.
  bool is_of_another_job(const JobProcess& process) const {
    if (!place_of(process.environment) || shares_identity(process)) return false;
    return any_of(identities_of(process.environment), [&](const std::string& own) {
      const std::string name = own.substr(0, own.find('=') + 1);
      if (!is_given_by_launcher(name)) return false;
      const auto first = identities_.lower_bound(name);
      return first != identities_.end() && first->starts_with(name) && !is_one_launch(own, *first);
    });
  }
  // What a launcher, a shell or a rank started: where it is a rank, or has connections. One daemon
  // may have started the ranks of two jobs.
  bool is_below(const JobProcess& process, const std::map<int64_t, std::string>& known) const {
    if (!is_rank(process.pid) && of_pid_.count(process.pid) == 0) return false;
    if (is_of_another_job(process)) return false;
    int64_t at = process.parent;
    for (size_t steps = 0; steps < 32 && at > 1; ++steps) {
      if (known.count(at) != 0 && !is_leaf(at)) return true;
      const SeenProcess* above = find(at);
      if (above == nullptr || is_of_another_job(above->process)) return false;
      at = above->process.parent;
    }
    return false;
  }
  // Ranks that one process manager started, which gives them nothing else in common (Hydra).
  bool is_sibling(const JobProcess& process, const std::map<int64_t, std::string>& known) const {
    if (process.environment.count("PMI_RANK") == 0 || process.parent <= 1) return false;
    return any_of(known, [&](const auto& each) {
      const SeenProcess* other = find(each.first);
      return other != nullptr && other->process.parent == process.parent &&
             other->process.environment.count("PMI_RANK") != 0;
    });
  }

  void add_other_ends(int64_t pid) {
    const auto own = of_pid_.find(pid);
    const SeenProcess* self = find(pid);
    if (own == of_pid_.end() || self == nullptr) return;
    for (const JobSocket* socket : own->second) {
      const auto other = by_ends_.find(ends_across(*socket));
      if (is_listener(*socket) || other == by_ends_.end()) continue;
      const SeenProcess* seen = find(other->second->pid);
      if (seen == nullptr) {
        if (other->second->state != "SYN-RECV" && other->second->state != "TIME-WAIT") {
          unseen_.insert(fmt::format("who has the other end of {}:{} - {}:{} here cannot be seen",
                                     socket->ip, socket->port, socket->peer_ip, socket->peer_port));
        }
        continue;
      }
      const JobProcess& process = seen->process;
      const bool same = !process.program.empty() && process.uid == self->process.uid &&
                        process.program == self->process.program;
      add(*seen, same ? "same program" : "peer");
    }
  }

  bool touches_job(const JobSocket& socket) const {
    const auto other = by_ends_.find(ends_across(socket));
    return (other != by_ends_.end() && belongs(other->second->pid)) || leads_there(socket);
  }

  void take_sockets(JobLook& look) {
    std::set<int> listening;  // ports
    for (const JobSocket& socket : system_.sockets) {
      if (is_listener(socket) && belongs(socket.pid) && !is_leaf(socket.pid)) {
        listening.insert(socket.port);
      }
    }
    for (const JobSocket& socket : system_.sockets) {
      const bool waits = socket.pid == 0 && listening.count(socket.port) != 0;
      const bool own = belongs(socket.pid) && (!is_leaf(socket.pid) || touches_job(socket));
      if (!waits && !own) continue;
      if (look.sockets.size() < kMostJobSockets) {
        look.sockets.push_back(socket);
        continue;
      }
      look.unseen.push_back(
          fmt::format("more than {} sockets: the others are left out", kMostJobSockets));
      partial_ = true;
      return;
    }
  }

  JobLook finish() {
    JobLook look;
    look.at_ns = system_.at_ns;
    for (const SeenProcess& seen : system_.processes) {
      const auto why = why_.find(seen.process.pid);
      if (why == why_.end()) continue;
      look.processes.push_back(seen.process);
      look.processes.back().why = why->second;
    }
    take_sockets(look);
    constexpr size_t kMostLines = 32;
    for (const std::string& line : unseen_) {
      if (look.unseen.size() < kMostLines) look.unseen.push_back(line);
    }
    look.unseen.insert(look.unseen.end(), system_.cut.begin(), system_.cut.end());
    look.partial = partial_ || !system_.cut.empty();
    return look;
  }

  const SystemLook& system_;
  const JobSelection& selection_;
  std::map<int64_t, const SeenProcess*> by_pid_;
  std::map<int64_t, std::vector<const JobSocket*>> of_pid_;
  std::map<SocketEnds, const JobSocket*> by_ends_;
  std::set<std::pair<std::string, int>> called_;  // listeners elsewhere
  std::set<SocketEnds> across_;                   // this host's ends of connections from elsewhere
  std::map<int64_t, std::string> why_;            // of the processes that belong to the job
  std::set<std::string> identities_, unseen_;
  bool partial_ = false;
};

std::string possible_job(const JobProcess& process, const std::set<int>& listening) {
  std::string text =
      fmt::format("PID {} ({})", process.pid,
                  escaped_short(process.program.empty() ? process.name : process.program));
  if (const auto place = place_of(process.environment))
    text += fmt::format(" rank {}", place->rank);
  constexpr size_t kMostPorts = 4;
  size_t shown = 0;
  for (const int port : listening) {
    if (++shown <= kMostPorts) text += fmt::format(" :{}", port);
  }
  return text;
}

}  // namespace

std::vector<std::string> possible_jobs(const SystemLook& system) {
  std::map<int64_t, std::set<int>> listening;
  for (const JobSocket& socket : system.sockets) {
    if (is_listener(socket)) listening[socket.pid].insert(socket.port);
  }
  constexpr size_t kMostLines = 16;
  std::vector<std::string> ranks, others;
  for (const SeenProcess& seen : system.processes) {
    if (seen.ours || seen.sight != Sight::kSeen || seen.process.state == "zombie") continue;
    const auto ports = listening.find(seen.process.pid);
    const bool is_rank = place_of(seen.process.environment).has_value();
    if (!is_rank && ports == listening.end()) continue;
    (is_rank ? ranks : others)
        .push_back(
            possible_job(seen.process, ports == listening.end() ? std::set<int>() : ports->second));
  }
  ranks.insert(ranks.end(), others.begin(), others.end());
  if (ranks.size() > kMostLines) ranks.resize(kMostLines);
  return ranks;
}

JobLook choose_job(const SystemLook& system, const JobSelection& selection,
                   const std::vector<JobProcess>& first) {
  return JobChoice(system, selection).run(first);
}

}  // namespace plumbline
