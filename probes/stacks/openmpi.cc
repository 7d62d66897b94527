// Open MPI: point-to-point ob1 over TCP, or UCX; and the daemons of its launcher.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

constexpr const char* kExcluded = "127.0.0.1/8,sppp";  // default of btl_tcp_if_exclude
constexpr int kFirstPort = 1024, kPortRange = 64511;   // defaults of btl_tcp_port_*_v4
constexpr int kLastOfAll = 65535;

std::string mca(const char* name) { return std::string("OMPI_MCA_") + name; }

// Names of interfaces (an exclusion takes prefixes of names) and networks, by commas.
bool names_it(const std::string& list, const StackAddress& at, bool prefixes) {
  for (const std::string& part : split_at(list, ',')) {
    if (part.empty()) continue;
    const Cidr network = parse_cidr(part);
    if (network.prefix > 0) {
      if (same_subnet(at.address->ip, network.ip, network.prefix)) return true;
    } else if (prefixes ? at.interface->name.starts_with(part) : at.interface->name == part) {
      return true;
    }
  }
  return false;
}

std::vector<StackAddress> taken(const PlannedRank& rank, const char* include, const char* exclude,
                                const char* excluded_by_default) {
  const std::string wanted = rank.variable(mca(include));
  const std::string unwanted =
      rank.is_set(mca(exclude)) ? rank.variable(mca(exclude)) : excluded_by_default;
  std::vector<StackAddress> out;
  for (const StackAddress& at : addresses_in_order(rank.host(), Wants::kUp)) {
    if (is_v6(at.address->ip)) continue;  // Debian's and most builds: IPv4 only
    if (wanted.empty() ? !names_it(unwanted, at, true) : names_it(wanted, at, false)) {
      out.push_back(at);
    }
  }
  return out;
}

// Does a rank of another host lie in this network?
bool leads_to_peer(const StackQuestion& question, const StackAddress& at, const std::string& own) {
  return any_of(question.hosts, [&](const std::string& name) {
    const HostEvidence* peer = find_host(*question.evidence, name);
    if (peer == nullptr || name == own) return false;
    return first_address(*peer,
                         [&](const StackAddress& there) {
                           return there.address->ip != at.address->ip &&
                                  shares_subnet(at, there.address->ip);
                         })
        .has_value();
  });
}

bool is_listening(const HostEvidence& host, int port) {
  return any_of(host.sockets, [&](const SocketEvidence& socket) {
    return socket.protocol == "tcp" && socket.port == port && socket.state == "LISTEN";
  });
}

class OpenMpiRank {
 public:
  OpenMpiRank(const StackQuestion& question, StackPlan& plan, size_t rank)
      : question_(question), plan_(plan), index_(rank), rank_(question, plan, rank) {}

  void run() {
    if (!rank_.known()) return rank_.cannot("the host's interfaces are not known");
    if (rank_.is_set(mca("btl_tcp_if_include")) && rank_.is_set(mca("btl_tcp_if_exclude"))) {
      rank_.trap("config.mismatch", "fail",
                 "btl_tcp_if_include and btl_tcp_if_exclude are both set; Open MPI refuses that",
                 "leave out OMPI_MCA_btl_tcp_if_exclude");
    }
    if (rank_.variable(mca("pml")) == "ucx") {
      plan_ucx_rank(question_, plan_, index_);
    } else {
      choose();
      listen();
    }
    if (is_first_of_host()) daemon();
  }

 private:
  void choose() {
    std::vector<StackAddress> found =
        taken(rank_, "btl_tcp_if_include", "btl_tcp_if_exclude", kExcluded);
    const std::string wanted = rank_.variable(mca("btl_tcp_if_include"));
    if (found.empty()) {
      rank_.cannot("no interface is left");
      const std::string what =
          wanted.empty() ? "no IPv4 interface that is up" : "nothing that btl_tcp_if_include takes";
      rank_.trap("stack.interface", "fail",
                 fmt::format("{} has {}{}", rank_.rank().host, what,
                             wanted.empty() ? "" : " (" + wanted + ")"),
                 set_interface(plan_, rank_.host()));
      return;
    }
    // All are published; a peer is paired with the one that is in its own network.
    std::stable_partition(found.begin(), found.end(), [&](const StackAddress& at) {
      return leads_to_peer(question_, at, rank_.rank().host);
    });
    rank_.choose(found[0], wanted.empty()
                               ? "every interface but loopback is given to the peers; this one is "
                                 "in a network of theirs"
                               : "btl_tcp_if_include=" + wanted);
    for (size_t i = 1; i < found.size(); ++i) rank_.rank().also.push_back(shown(found[i]));
  }

  // One listener for each process, on every address: the first port from btl_tcp_port_min_v4 on
  // that is free.
  void listen() {
    const int first = rank_.port(mca("btl_tcp_port_min_v4"), kFirstPort);
    const int64_t range =
        parse_whole(rank_.variable(mca("btl_tcp_port_range_v4"))).value_or(kPortRange);
    if (first == 0) return;
    const int last = static_cast<int>(std::min<int64_t>(kLastOfAll, first + range - 1));
    int before = 0;  // ranks of this host that come first
    for (size_t i = 0; i < index_; ++i) before += question_.hosts[i] == rank_.rank().host ? 1 : 0;
    for (int port = first; port <= last; ++port) {
      if (port == static_port() || is_listening(rank_.host(), port) || before-- > 0) continue;
      return rank_.window("connections of peers (btl tcp)", "0.0.0.0", port, port);
    }
    const bool daemons = static_port() >= first && static_port() <= last;
    rank_.trap(daemons ? "tcp.port_collision" : "tcp.port_in_use", "fail",
               fmt::format("the {} ports from {} on are too few for the ranks on {}{}", range,
                           first, rank_.rank().host,
                           daemons ? fmt::format(", where mpirun's daemon holds {}", static_port())
                                   : std::string()),
               "raise OMPI_MCA_btl_tcp_port_range_v4");
  }

  // The port that mpirun and each daemon were told to take; 0 = none was given.
  int static_port() const {
    return parse_port(rank_.variable(mca("oob_tcp_static_ipv4_ports"))).value_or(0);
  }

  bool is_first_of_host() const {
    for (size_t i = 0; i < index_; ++i) {
      if (question_.hosts[i] == question_.hosts[index_]) return false;
    }
    return true;
  }

  // mpirun and its daemon on every other host (ORTE): where they speak to each other.
  void daemon() {
    const auto ports = port_span(rank_.variable(mca("oob_tcp_dynamic_ipv4_ports")), '-');
    const char* purpose = "mpirun and its daemons (oob tcp)";
    if (static_port() != 0) {
      rank_.fixed(purpose, "0.0.0.0", static_port());
    } else if (ports) {
      rank_.window(purpose, "0.0.0.0", ports->first, ports->second);
    } else {
      rank_.ephemeral(purpose, "0.0.0.0");
    }
    // The daemons call mpirun, which is taken to be where rank 0 is; nobody calls them.
    if (rank_.rank().host != question_.hosts[0]) {
      rank_.rank().listeners.back().callers = std::vector<std::string>{};
    }
  }

  const StackQuestion& question_;
  StackPlan& plan_;
  size_t index_;
  PlannedRank rank_;
};

}  // namespace

void plan_openmpi(const StackQuestion& question, StackPlan& plan) {
  for (size_t i = 0; i < plan.ranks.size(); ++i) OpenMpiRank(question, plan, i).run();
  plan.remarks.emplace_back(
      "mpirun hands OMPI_MCA_* variables of its own shell to all ranks; any other variable needs "
      "-x NAME");
}

}  // namespace plumbline
