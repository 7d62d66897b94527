// Where the ranks of a job listen: on loopback, where ranks on other hosts cannot come
// (name.loopback, tcp.listener_wrong_address), or in a network that the others do not have
// (stack.interface).
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/job/job_variables.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// Without what networks ("10.0.0.0/8"), exclusions ("^docker") and ports ("mlx5_0:1") are written
// with.
constexpr const char* kInterfaceNames =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,-_";

bool is_everywhere(const std::string& ip) { return ip == "0.0.0.0" || ip == "::"; }

const JobAddress* address_on(const JobHostEvidence& host, const std::string& ip) {
  return find_where(host.addresses, [&](const JobAddress& each) { return each.ip == ip; });
}

class JobPlaces {
 public:
  JobPlaces(const EvidenceSet& evidence, const JobFacts& facts, const Checks& checks)
      : evidence_(evidence), facts_(facts), checks_(checks) {}

  std::vector<Candidate> run() {
    if (!spans_hosts()) return {};
    for (const JobMember& member : facts_.members) {
      // Where launchers listen is between them and their daemons.
      if (member.outside || member.last == nullptr || member.first->why == "launcher") continue;
      judge_variables(member);
      judge_master(member);
      judge_listeners(member);
      judge_callers(member);
    }
    return std::move(out_);
  }

 private:
  // On several hosts, also where those of the others have failed and gone already.
  bool spans_hosts() const {
    if (hosts_with_members(facts_.members).size() > 1) return true;
    size_t here = 0;
    bool meet_here = true;
    for (const JobMember& member : facts_.members) {
      if (member.outside || !member.place) continue;
      ++here;
      const auto& variables = member.process().environment;
      const auto master = variables.find("MASTER_ADDR");
      // A name may be this machine's own.
      const bool named = master != variables.end() && !parse_zoned_ip(master->second);
      meet_here = meet_here && (master == variables.end() || is_loopback_ip(master->second) ||
                                (named && facts_.job->alone) || master->second == "localhost");
    }
    const auto size = world_size(facts_.members);
    return !meet_here && size && here > 0 && static_cast<size_t>(*size) > here;
  }

  // A variable of its stack names interfaces of which this host has none.
  void judge_variables(const JobMember& member) {
    if (talks_to_others(facts_, member)) return;  // it is another stack's, or goes by another way
    for (const auto& [name, value] : member.process().environment) {
      const JobVariableRow* row = find_job_variable(name);
      if (row == nullptr || !names_wanted(*row) || has_one_of(*member.host, value)) continue;
      const std::string& host = member.host->host;
      out_.push_back(
          Proposal("stack.interface", Severity::kFail, host)
              .see(host, "",
                   fmt::format("{} has {}={}, and {} has no such interface with an address",
                               describe(member), name, in_quotes(value), host))
              .remedy(take_interface(*member.host))
              .proven()
              .take(checks_));
    }
  }

  static bool names_wanted(const JobVariableRow& row) {
    const bool excludes = std::string_view(row.name).ends_with("_exclude");
    return std::string_view(row.value) == "interfaces" && !excludes;
  }

  // Names, or beginnings of names, by commas; each stack has more than that, which is not judged.
  static bool has_one_of(const JobHostEvidence& host, const std::string& value) {
    if (host.addresses.empty() || value.find_first_not_of(kInterfaceNames) != value.npos) {
      return true;
    }
    for (const std::string& name : split_at(value, ',')) {
      if (name.empty() || name == "all" || any_of(host.addresses, [&](const JobAddress& each) {
            return each.interface.starts_with(name);
          })) {
        return true;
      }
    }
    return false;
  }

  // Rank 0 listens for the others, on loopback alone.
  void judge_master(const JobMember& member) {
    const int port = master_port_of(member);
    if (port == 0 || !member.place || member.place->rank != 0) return;
    const JobSocket* loopback = nullptr;
    for (const JobSocket* socket : member.sockets) {
      if (socket->state != "LISTEN" || socket->port != port) continue;
      if (!is_loopback_ip(socket->ip)) return;
      loopback = socket;
    }
    if (loopback == nullptr) return;
    const std::string& host = member.host->host;
    out_.push_back(
        Proposal("tcp.listener_wrong_address", Severity::kFail, host)
            .ports({port})
            .see(host, "",
                 fmt::format("{} listens on {}:{} alone, where ranks on other hosts "
                             "cannot come",
                             describe(member), loopback->ip, port))
            .remedy(fmt::format("start all ranks with MASTER_ADDR={}", data_ip(*member.host)))
            .proven()
            .take(checks_));
  }

  void judge_listeners(const JobMember& member) {
    if (talks_to_others(facts_, member)) return;
    const JobSocket* wrong = nullptr;
    bool loopback = false;
    for (const JobSocket* socket : member.sockets) {
      if (socket->state != "LISTEN" || socket->port == master_port_of(member)) continue;
      if (is_loopback_ip(socket->ip)) {
        wrong = socket;
        loopback = true;
      } else if (is_everywhere(socket->ip) || is_for_data(*member.host, socket->ip)) {
        return;  // there is a place where others can come
      } else if (wrong == nullptr) {
        wrong = socket;
      }
    }
    if (wrong != nullptr) loopback ? say_loopback(member, *wrong) : say_interface(member, *wrong);
  }

  // By the host file where it says so, else by the addresses that the hosts have.
  bool is_for_data(const JobHostEvidence& own, const std::string& ip) const {
    const JobHost* job = find_job_host(evidence_, own.host);
    const bool told = job != nullptr && any_of(job->data, [](const std::string& text) {
                        return !is_loopback_ip(parse_cidr(text).ip);
                      });
    if (!told) return others_reach(own, ip);
    return any_of(job->data, [&](const std::string& text) { return parse_cidr(text).ip == ip; }) ||
           address_on(own, ip) == nullptr;
  }

  // An address that every host has for itself leads nowhere; neither does one in a network that the
  // host file does not name, if nobody answers there.
  void judge_callers(const JobMember& member) {
    if (talks_to_others(facts_, member)) return;
    for (const JobConnection& connection : facts_.connections) {
      if (connection.owner != &member) continue;
      const std::string& to = connection.socket->peer_ip;
      const bool own = connection.socket->ip == to && !is_loopback_ip(to) &&
                       any_of(facts_.job->hosts, [&](const JobHostEvidence& other) {
                         return &other != member.host && address_on(other, to) != nullptr;
                       });
      if (own)
        return say_caller(member, *connection.socket, "an address that other hosts have, too");
      const JobHostEvidence* there = connection.peer_host;
      const bool vain = never_answered(connection) && there != nullptr && there != member.host;
      if (vain && !is_for_data(*there, to)) {
        return say_caller(member, *connection.socket,
                          "no data address of " + there->host + ", and nobody answers there");
      }
    }
  }

  void say_caller(const JobMember& member, const JobSocket& socket, const std::string& why) {
    const std::string& host = member.host->host;
    const JobAddress* address = address_on(*member.host, socket.ip);
    out_.push_back(Proposal("stack.interface", Severity::kFail, host)
                       .see(host, "",
                            fmt::format("{} talks to {}:{} from {} ({}): {}", describe(member),
                                        socket.peer_ip, socket.peer_port, socket.ip,
                                        address == nullptr ? "?" : address->interface, why))
                       .remedy(take_interface(*member.host))
                       .proven()
                       .take(checks_));
  }

  // Another host has an address in the same network, and not this very one.
  bool others_reach(const JobHostEvidence& own, const std::string& ip) const {
    const JobAddress* address = address_on(own, ip);
    if (address == nullptr) return true;  // not known
    return any_of(facts_.job->hosts, [&](const JobHostEvidence& other) {
      if (&other == &own || address_on(other, ip) != nullptr) return false;
      return any_of(other.addresses, [&](const JobAddress& each) {
        return same_subnet(each.ip, ip, address->prefix);
      });
    });
  }

  // An address of this host that ranks on other hosts reach; the host file's where there is one.
  const JobAddress* data_address(const JobHostEvidence& host) const {
    if (const JobHost* job = find_job_host(evidence_, host.host)) {
      for (const std::string& text : job->data) {
        const JobAddress* own = address_on(host, parse_cidr(text).ip);
        if (own != nullptr && !is_loopback_ip(own->ip)) return own;
      }
    }
    return find_where(host.addresses, [&](const JobAddress& each) {
      return !is_loopback_ip(each.ip) && !is_link_local_ip(each.ip) && others_reach(host, each.ip);
    });
  }
  std::string data_ip(const JobHostEvidence& host) const {
    const JobAddress* own = data_address(host);
    return own == nullptr ? "an address that all hosts reach" : own->ip;
  }

  // In words: the variables of several stacks.
  std::string take_interface(const JobHostEvidence& host) const {
    const JobAddress* own = data_address(host);
    if (own == nullptr) return "name an interface of the network that all hosts share";
    return fmt::format(
        "start the rank with GLOO_SOCKET_IFNAME={0} (NCCL: NCCL_SOCKET_IFNAME={0}; "
        "Open MPI: --mca btl_tcp_if_include {0})",
        own->interface);
  }

  void say_loopback(const JobMember& member, const JobSocket& socket) {
    const std::string& host = member.host->host;
    const HostEvidence* asked = find_host(evidence_, host);
    const JobAddress* own = data_address(*member.host);
    Proposal proposal("name.loopback", Severity::kFail, host);
    proposal.see(host, "",
                 fmt::format("{} listens on {}:{}, where ranks on other hosts cannot come",
                             describe(member), socket.ip, socket.port));
    Remedy remedy;
    for (const NameEvidence& name : asked == nullptr ? std::vector<NameEvidence>() : asked->names) {
      if (name.role != "own" || !any_of(name.v4, is_loopback_ip)) continue;
      proposal.see(host, "",
                   fmt::format("its own name '{}' is {}", name.name, join_words(name.v4)));
      if (own != nullptr && fits(Slot::kHostName, name.name)) {
        remedy.run(remedy_own_name(name.name, own->ip));
      }
    }
    remedy.say(take_interface(*member.host));
    out_.push_back(proposal.remedy(remedy).proven().take(checks_));
  }

  void say_interface(const JobMember& member, const JobSocket& socket) {
    const std::string& host = member.host->host;
    const JobAddress* address = address_on(*member.host, socket.ip);
    out_.push_back(
        Proposal("stack.interface", Severity::kFail, host)
            .ports({socket.port})
            .see(host, "",
                 fmt::format("{} listens on {}:{} ({}), which is no place where ranks on other "
                             "hosts come",
                             describe(member), socket.ip, socket.port,
                             address == nullptr ? "?" : address->interface))
            .remedy(take_interface(*member.host))
            .proven()
            .take(checks_));
  }

  const EvidenceSet& evidence_;
  const JobFacts& facts_;
  const Checks& checks_;
  std::vector<Candidate> out_;
};

}  // namespace

Candidates propose_job_places(const EvidenceSet& evidence, const Checks& checks) {
  const auto facts = job_facts(evidence);
  return facts ? JobPlaces(evidence, *facts, checks).run() : Candidates();
}

}  // namespace plumbline
