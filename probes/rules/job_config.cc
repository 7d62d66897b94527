// Ranks of a job that were told different things: config.mismatch.
#include <fmt/format.h>

#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/text.h"
#include "core/usual.h"
#include "probes/ports.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

struct Told {
  const JobMember* member = nullptr;
  std::string value;
};

class JobComparison {
 public:
  JobComparison(const JobFacts& facts, const Checks& checks) : facts_(facts), checks_(checks) {}

  std::vector<Candidate> run() {
    // Each is a job of its own (job_worlds.cc).
    if (world_size(facts_.members) == 1) return {};
    compare_sizes();
    for (const char* name : {"MASTER_PORT", "MCCL_PORT_BASE", "MCCL_TRANSPORT", "NCCL_NET"}) {
      compare(name, false);
    }
    // Rank 0 may well call itself localhost, and a name and its address are the same place.
    compare("MASTER_ADDR", true);
    compare_ranks();
    count_ports();
    return std::move(out_);
  }

 private:
  // By the launcher's own word for it.
  void compare_sizes() {
    std::vector<Told> all;
    std::string name;
    for (const JobMember& member : facts_.members) {
      if (member.outside || !member.place || !member.place->size) continue;
      all.push_back({&member, std::to_string(*member.place->size)});
      name = member.place->size_name;
    }
    report(name, all, false);
  }

  void compare(const std::string& name, bool only_lonely) {
    std::vector<Told> all;
    for (const JobMember& member : facts_.members) {
      if (member.outside || !member.place) continue;
      const auto value = member.process().environment.find(name);
      if (value != member.process().environment.end()) all.push_back({&member, value->second});
    }
    report(name, all, only_lonely);
  }

  bool is_lonely(const JobMember& member) const {
    return none_of(facts_.connections, [&](const JobConnection& connection) {
      return connection.owner == &member && connection.socket->state == "ESTABLISHED";
    });
  }

  void report(const std::string& name, const std::vector<Told>& all, bool only_lonely) {
    std::vector<std::string> values;  // rank 0 comes first
    for (const Told& each : all) values.push_back(each.value);
    const std::string usual = usual_of(values);
    for (const Told& each : all) {
      if (each.value == usual || (only_lonely && !is_lonely(*each.member))) continue;
      const std::string& host = each.member->host->host;
      out_.push_back(
          Proposal("config.mismatch", Severity::kFail, host)
              .see(host, "",
                   fmt::format("{} has {}={}, others have {}", describe(*each.member), name,
                               in_quotes(each.value), in_quotes(usual)))
              .remedy(fmt::format("start all ranks with {}={}", name, escaped_short(usual)))
              .proven()
              .take(checks_));
    }
  }

  // One number, given twice to the same program: both wait for the one that nobody is.
  void compare_ranks() {
    std::map<int, const JobMember*> known;
    for (const JobMember& member : facts_.members) {
      const bool counts = member.place && !member.outside && member.last != nullptr &&
                          member.last->state != "zombie" && !member.sockets.empty();
      if (!counts) continue;
      const auto [other, fresh] = known.emplace(member.place->rank, &member);
      if (fresh || other->second->process().program != member.process().program) continue;
      const std::string& host = member.host->host;
      out_.push_back(
          Proposal("config.mismatch", Severity::kFail, host)
              .see(host, "",
                   fmt::format("{} has the number of {} on {}", describe(member),
                               describe(*other->second), other->second->host->host))
              .remedy(fmt::format("give each rank a {} of its own", member.place->rank_name))
              .proven()
              .take(checks_));
    }
  }

  // Every rank of a host takes a port of its own out of a range that the user gave.
  void count_ports() {
    std::map<std::pair<std::string, std::string>, std::vector<const JobMember*>> takers;
    for (const JobMember& member : facts_.members) {
      if (member.outside || !member.place || talks_to_others(facts_, member)) continue;
      const auto range = member.process().environment.find("UCX_TCP_PORT_RANGE");
      if (range != member.process().environment.end()) {
        takers[{member.host->host, range->second}].push_back(&member);
      }
    }
    for (const auto& [key, ranks] : takers) {
      const auto range = port_span(key.second, '-');
      if (range) judge_range(key.second, *range, ranks);
    }
  }

  void judge_range(const std::string& text, std::pair<int, int> range,
                   const std::vector<const JobMember*>& ranks) {
    const JobHostEvidence& host = *ranks.front()->host;
    std::set<int> held;  // by others
    for (const JobSocket& socket : last_look(host).sockets) {
      const bool own =
          any_of(ranks, [&](const JobMember* rank) { return is_in(rank->sockets, &socket); });
      const bool within = socket.port >= range.first && socket.port <= range.second;
      if (socket.state == "LISTEN" && within && !own) held.insert(socket.port);
    }
    const size_t ports = static_cast<size_t>(range.second - range.first + 1) - held.size();
    if (ports >= ranks.size()) return;
    const int next = range.second + 1;
    out_.push_back(
        Proposal("tcp.port_collision", Severity::kFail, host.host)
            .ports({held.begin(), held.end()})
            .see(host.host, "",
                 fmt::format("UCX_TCP_PORT_RANGE={} has {} free ports for {} ranks on {}{}", text,
                             ports, ranks.size(), host.host,
                             held.empty() ? "" : "; others of the job listen on the rest"))
            .remedy(fmt::format("set UCX_TCP_PORT_RANGE={}-{}", next,
                                next + static_cast<int>(ranks.size()) - 1))
            .proven()
            .take(checks_));
  }

  const JobFacts& facts_;
  const Checks& checks_;
  std::vector<Candidate> out_;
};

}  // namespace

Candidates propose_job_config(const EvidenceSet& evidence, const Checks& checks) {
  const auto facts = job_facts(evidence);
  return facts ? JobComparison(*facts, checks).run() : Candidates();
}

}  // namespace plumbline
