#include "probes/gather/gather_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/job/job_ranks.h"

namespace plumbline {
namespace {

constexpr int64_t kFindMs = 8000, kApartMs = 2000;
constexpr size_t kMostEnds = 4096;  // of which another host is asked
constexpr size_t kMostListeners = 1024;
constexpr int kMostRounds = 4;  // a job's ranks lead to one another in one or two

using ProcessKey = std::tuple<std::string, int64_t, int64_t>;  // host, pid, start

std::string variable_of(const JobProcess& process, const char* name) {
  const auto found = process.environment.find(name);
  return found == process.environment.end() ? std::string() : found->second;
}

class JobFinder {
 public:
  JobFinder(ProbeContext& context, const JobQuestion& question)
      : context_(context), question_(question) {
    for (const HostEvidence& host : context.evidence.hosts) {
      JobHostEvidence seen;
      seen.host = host.name;
      if (context.agents[hosts_.size()] == nullptr) {
        seen.error = host.agent_error.empty() ? "no agent" : host.agent_error;
      }
      hosts_.push_back(std::move(seen));
    }
  }

  Status find() {
    std::vector<JobSelection> selections(hosts_.size());
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (is_meant(i)) selections[i] = question_.selection;
    }
    ask(selections, 0);
    if (known().empty()) return fail(nothing_there());
    if (const Status one = one_host_of_pid(); !one) return one;
    if (const Status one = one_job(); !one) return one;
    asked_ = known();
    for (int round = 0; hosts_.size() > 1 && round < kMostRounds; ++round) {
      const std::set<ProcessKey> before = known();
      ask(wider(), 0);
      if (known() == before) break;
    }
    return {};
  }

  JobEvidence look(bool alone) {
    ask(wider(), kApartMs);
    drop_strangers();
    if (cut_) say_cut();
    return {question_.text, alone, std::move(hosts_)};
  }

 private:
  void say_cut() {
    for (JobHostEvidence& host : hosts_) {
      if (host.first.processes.empty()) continue;
      JobLook& last = host.second ? *host.second : host.first;
      // Ranks that carry a name of the job are found by that.
      last.partial = last.partial || none_of(host.first.processes, [](const JobProcess& process) {
                       return !identities_of(process.environment).empty();
                     });
      last.unseen.push_back(fmt::format(
          "more than {} connections, or {} listeners, lead to other hosts: not all were followed",
          kMostEnds, kMostListeners));
      return;
    }
  }

  bool is_meant(size_t host) const {
    return question_.host.empty() || hosts_[host].host == question_.host;
  }

  // What was found before stays where nothing new is said.
  void ask(const std::vector<JobSelection>& selections, int64_t apart_ms) {
    AgentBatch batch(context_);
    for (size_t i = 0; i < hosts_.size(); ++i) {
      AskJob request;
      static_cast<JobSelection&>(request) = selections[i];
      request.apart_ms = apart_ms;
      batch.ask(
          i, request, kFindMs + apart_ms,
          [this, i](JobHostEvidence reply) {
            reply.host = hosts_[i].host;
            reply.captured.clear();  // nobody was asked to
            hosts_[i] = std::move(reply);
          },
          [this, i](const Error& error) {
            if (hosts_[i].error.empty()) hosts_[i].error = error.message();
          });
    }
    batch.collect();
  }

  std::set<ProcessKey> known() const {
    std::set<ProcessKey> out;
    for (const JobHostEvidence& host : hosts_) {
      for (const JobProcess& process : host.first.processes) {
        out.insert({host.host, process.pid, process.started});
      }
    }
    return out;
  }

  // On each host what was found there, and what leads there from the others.
  std::vector<JobSelection> wider() {
    JobSelection shared;
    shared.lone_program = lone_program();
    std::vector<JobSelection::End> listeners;
    for (const JobHostEvidence& host : hosts_) {
      for (const JobProcess& process : host.first.processes) {
        if (!place_of(process.environment) || process.why == "other job") continue;
        for (std::string& each : identities_of(process.environment)) {
          if (!is_in(shared.identities, each)) shared.identities.push_back(std::move(each));
        }
      }
      for (const JobSocket& socket : host.first.sockets) {
        if (socket.state == "LISTEN") add_listener(host, socket, listeners);
        const bool leads_away =
            !socket.peer_ip.empty() && !is_loopback_ip(socket.peer_ip) && socket.pid != 0;
        if (leads_away && shared.ends.size() < kMostEnds) {
          shared.ends.push_back({socket.ip, socket.peer_ip, socket.port, socket.peer_port});
        } else if (leads_away) {
          cut_ = true;
        }
      }
    }
    shared.ends.insert(shared.ends.end(), listeners.begin(), listeners.end());
    std::vector<JobSelection> out;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      JobSelection selection;
      // A number means something on the host alone on which it was found.
      if (is_meant(i) && !hosts_[i].first.processes.empty()) selection = question_.selection;
      selection.identities = shared.identities;
      selection.lone_program = shared.lone_program;
      selection.ends = shared.ends;
      out.push_back(std::move(selection));
    }
    return out;
  }

  // Whoever calls there from another host: where packets get lost, nobody here knows of it.
  void add_listener(const JobHostEvidence& host, const JobSocket& socket,
                    std::vector<JobSelection::End>& ends) {
    const bool everywhere = socket.ip == "0.0.0.0" || socket.ip == "::";
    for (const JobAddress& address : host.addresses) {
      if (socket.pid == 0 || is_loopback_ip(address.ip)) continue;
      if (!everywhere && address.ip != socket.ip) continue;
      const bool shared = any_of(hosts_, [&](const JobHostEvidence& other) {
        return other.host != host.host && any_of(other.addresses, [&](const JobAddress& each) {
                 return each.ip == address.ip;
               });
      });
      const JobSelection::End end = {address.ip, {}, socket.port, 0};
      if (shared || is_in(ends, end)) continue;
      if (ends.size() < kMostListeners) {
        ends.push_back(end);
      } else {
        cut_ = true;
      }
    }
  }

  // The program of this job, if each of its processes was told to be a world of its own.
  std::string lone_program() const {
    std::string program;
    for (const JobHostEvidence& host : hosts_) {
      for (const JobProcess& process : host.first.processes) {
        const auto place = place_of(process.environment);
        if (!place || process.why == "other job") continue;
        if (place->size != 1) return {};
        program = process.program;
      }
    }
    return program;
  }

  Error nothing_there() const {
    std::vector<std::string> reasons, there;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      const JobHostEvidence& host = hosts_[i];
      const std::string on = hosts_.size() > 1 ? " on " + host.host : "";
      if (!is_meant(i)) continue;
      if (!host.error.empty()) reasons.push_back(host.host + ": " + host.error);
      for (const std::string& line : host.first.unseen) reasons.push_back(line + on);
      for (const std::string& line : host.there) there.push_back(line + on);
    }
    constexpr size_t kShown = 12;
    if (there.size() > kShown) {
      there.resize(kShown);
      there.emplace_back("...");
    }
    std::string what = fmt::format("no job {} is there to be seen{}", in_quotes(question_.text),
                                   question_.host.empty() ? "" : " on " + question_.host);
    if (!reasons.empty()) what += " (" + join_words(reasons, "; ") + ")";
    return Error{ErrorCode::kUsage, printable(what), 0,
                 printable(there.empty() ? "nothing of this user has a rank's variables or listens"
                                         : "there is: " + join_words(there)),
                 ""};
  }

  Status one_host_of_pid() const {
    std::vector<std::string> on;
    for (const JobHostEvidence& host : hosts_) {
      if (!host.first.processes.empty()) on.push_back(host.host);
    }
    if (question_.selection.pid == 0 || on.size() < 2) return {};
    return fail(ErrorCode::kUsage,
                fmt::format("PID {} is there on {}", question_.selection.pid, join_words(on)),
                fmt::format("say which: --job {}@{}", question_.selection.pid, on.front()));
  }

  // A name may be that of several jobs' processes.
  Status one_job() const {
    std::vector<std::string> firsts;                // one process of each
    std::vector<std::set<std::string>> identities;  // theirs
    if (!lone_program().empty()) return {};         // each is a job, and that may be what is wrong
    for (const JobHostEvidence& host : hosts_) {
      for (const JobProcess& process : host.first.processes) {
        if (process.why != "asked" || !place_of(process.environment)) continue;
        const std::vector<std::string> own = identities_of(process.environment);
        if (own.empty()) continue;
        const bool known = any_of(identities, [&](const std::set<std::string>& job) {
          return any_of(own, [&](const std::string& each) { return job.count(each) != 0; });
        });
        if (known) continue;
        identities.emplace_back(own.begin(), own.end());
        firsts.push_back(
            fmt::format("PID {} on {} ({})", process.pid, host.host, join_words(own, " ")));
      }
    }
    if (firsts.size() < 2) return {};
    return fail(ErrorCode::kUsage,
                printable(fmt::format("{} names {} jobs: {}", in_quotes(question_.text),
                                      firsts.size(), join_words(firsts))),
                "name one by its PID: --job PID@HOST");
  }

  // Jobs of one user on several machines often have the same master port. One that was found by it
  // alone is another job when it looks for rank 0 elsewhere and has ranks that this job has, too.
  void drop_strangers() {
    std::set<int> ranks;
    std::set<std::string> masters, connected;
    for (const JobHostEvidence& host : hosts_) {
      for (const JobProcess& process : host.first.processes) {
        if (asked_.count({host.host, process.pid, process.started}) == 0) continue;
        if (const auto place = place_of(process.environment)) ranks.insert(place->rank);
        masters.insert(variable_of(process, "MASTER_ADDR"));
        connected.insert(host.host);
      }
    }
    for (JobHostEvidence& host : hosts_) {
      if (connected.count(host.host) != 0 || host.first.processes.empty()) continue;
      const bool other_master = none_of(host.first.processes, [&](const JobProcess& process) {
        const std::string master = variable_of(process, "MASTER_ADDR");
        return masters.count(master) != 0 && !is_loopback_ip(master) && master != "localhost";
      });
      const bool same_ranks = any_of(host.first.processes, [&](const JobProcess& process) {
        const auto place = place_of(process.environment);
        return place && ranks.count(place->rank) != 0;
      });
      const bool by_port_alone = all_of(host.first.processes, [](const JobProcess& process) {
        const auto own = identities_of(process.environment);
        return process.why == "same job" && own.size() == 1 &&
               own.front().starts_with("MASTER_PORT=");
      });
      if (!other_master || !same_ranks || !by_port_alone) continue;
      host.first = {};
      host.second.reset();
    }
  }

  ProbeContext& context_;
  const JobQuestion& question_;
  std::vector<JobHostEvidence> hosts_;
  std::set<ProcessKey> asked_;
  bool cut_ = false;  // not everything that leads to other hosts was followed
};

}  // namespace

Expected<JobQuestion> parse_job_question(const std::string& text,
                                         const std::vector<std::string>& hosts) {
  JobQuestion question;
  question.text = text;
  const size_t at = text.rfind('@');
  const std::string what = text.substr(0, at);
  if (at != std::string::npos) {
    question.host = text.substr(at + 1);
    if (!is_in(hosts, question.host)) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("--job {}: no host '{}'", in_quotes(text), escaped_short(question.host)),
          hint_for(question.host, hosts));
    }
  }
  constexpr size_t kLongest = 128;
  if (what.empty() || what.size() > kLongest || what == ":") {
    return fail(ErrorCode::kUsage, fmt::format("--job {} names no job", in_quotes(text)),
                "give a PID, :PORT, NAME@HOST, or the id that plumbline launch printed");
  }
  if (what.front() == ':') {
    const auto port = parse_port(std::string_view(what).substr(1));
    if (!port) {
      return fail(ErrorCode::kUsage, fmt::format("--job {}: that is no port", in_quotes(text)),
                  "a port is a number from 1 to 65535");
    }
    question.selection.port = *port;
  } else if (const auto pid = parse_whole<int64_t>(what, 1, INT32_MAX)) {
    question.selection.pid = *pid;
  } else {
    question.selection.name = what;
    question.selection.run = what;
  }
  return question;
}

Status gather_job(ProbeContext& context, const JobQuestion& question, bool alone) {
  if (context.progress) context.progress("looking for the job");
  JobFinder finder(context, question);
  if (const Status found = finder.find(); !found) return found;
  if (context.progress) context.progress("looking at the job, twice");
  context.evidence.job_seen = finder.look(alone);
  return {};
}

}  // namespace plumbline
