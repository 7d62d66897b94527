#include "runs/ranks/launched.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "core/host/host.h"
#include "core/host/process_facts.h"
#include "launch/data_addresses.h"
#include "launch/process.h"
#include "launch/rank_wire.h"
#include "launch/rendezvous.h"
#include "runs/ranks/meeting.h"
#include "runs/ranks/protocol.h"
#include "runs/ranks/rank_loop.h"

namespace plumbline {
namespace {

constexpr int kLaunchedStopMs = 300;

JoinRequest own_request(const LauncherPlace& place, const LaunchCall& call) {
  const HostFacts facts = read_host_facts();
  JoinRequest request;
  request.rank = place.rank;
  request.size = place.size;
  request.launcher = place.program;
  request.version = PLUMBLINE_VERSION;
  request.host = place.node.empty() ? facts.hostname : place.node;
  request.pid = getpid();
  request.machine = own_machine(facts.boot_id.empty() ? facts.hostname : facts.boot_id);
  request.nics = facts.nics;
  request.config = call.config;
  request.words = call.words;
  request.variables = read_option_environment();
  return request;
}

RollCallSpec roll_call_spec(const Meeting& meeting, const LaunchCall& call, const RollCall& roll,
                            const Logger& log) {
  RollCallSpec spec;
  spec.listen = listening_addresses(meeting.master, roll.own().nics);
  spec.port = meeting.port;
  spec.secret = meeting.secret;
  spec.deadline = Deadline::after_ms(call.options->integer("connect_timeout_ms"));
  spec.where = fmt::format("{} port {}", meeting.master.hosts.front(), meeting.port);
  spec.say = [&call](const std::string& text) {
    if (!call.quiet) call.caller->say("plumbline: " + text);
  };
  spec.stranger = [&log](const std::string& text) { log.info("rendezvous: " + text); };
  spec.interrupted = [&call] { return call.caller->ask() != Wish::kGoOn; };
  return spec;
}

// Nodes as hosts, one per network stack, with names that differ.
class Nodes {
 public:
  size_t index(const JoinRequest& request) {
    const auto [entry, fresh] = index_.emplace(request.machine, hosts_.size());
    if (fresh) hosts_.push_back(new_host(request.host));
    return entry->second;
  }
  std::vector<ScenarioHost>& hosts() { return hosts_; }

 private:
  ScenarioHost new_host(const std::string& name) const {
    ScenarioHost host;
    host.ranks = 0;
    host.name = name;
    const auto taken = [&] {
      return std::any_of(hosts_.begin(), hosts_.end(),
                         [&](const ScenarioHost& other) { return other.name == host.name; });
    };
    for (int number = 2; taken(); ++number) host.name = fmt::format("{}-{}", name, number);
    return host;
  }
  std::map<std::string, size_t> index_;  // machine -> host
  std::vector<ScenarioHost> hosts_;
};

Expected<std::vector<AddressChoice>> addresses_of(const std::vector<JoinRequest>& requests,
                                                  const std::vector<size_t>& taking_part,
                                                  const Logger& log) {
  std::vector<RankNics> nics;
  for (const size_t rank : taking_part) {
    const JoinRequest& request = requests[rank];
    nics.push_back({request.rank, request.host, request.machine, request.nics});
  }
  Expected<std::vector<AddressChoice>> choices = choose_data_addresses(nics);
  if (!choices) return choices;
  for (size_t i = 0; i < choices->size(); ++i) {
    log.info(fmt::format("rank {} on {} uses {}", i, nics[i].host, (*choices)[i].reason));
  }
  return choices;
}

std::string summary(const Launched& launched) {
  std::string text;
  for (const ScenarioHost& host : launched.hosts) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", host.name, host.ranks);
  }
  return fmt::format("{} placed {} ranks: {}", launched.program, launched.ranks.size(), text);
}

// Builds the world of those who take part out of the connections of all.
class Assembly {
 public:
  Assembly(const std::vector<std::string>& exclude, std::vector<JoinRequest> requests)
      : exclude_(exclude), requests_(std::move(requests)) {
    for (const JoinRequest& request : requests_) node_of_.push_back(nodes_.index(request));
  }

  // Whatever happens next, all ranks can be dismissed.
  void take(Gathered gathered, Launched& launched) {
    std::vector<Fd>& fds = gathered.wires;
    agents_ = std::move(gathered.agents);
    for (size_t rank = 1; rank < fds.size(); ++rank) {
      const auto pid = static_cast<pid_t>(requests_[rank].pid);
      launched.idle.push_back(std::make_unique<SocketWire>(
          std::move(fds[rank]), fmt::format("the connection to pid {} on {}", pid, node(rank)),
          pid));
      launched.remotes.push_back(launched.idle.back().get());
    }
  }

  Status build(Launched& launched, const std::string& program, const Logger& log) {
    launched.hosts = nodes_.hosts();
    if (const Status known = exclude_hosts(exclude_, launched.hosts); !known) return known;
    std::vector<size_t> taking_part;
    for (size_t rank = 0; rank < requests_.size(); ++rank) {
      if (host_of(rank, launched) < launched.hosts.size()) taking_part.push_back(rank);
    }
    const Expected<std::vector<AddressChoice>> choices = addresses_of(requests_, taking_part, log);
    if (!choices) return fail(choices.error());
    std::unique_ptr<RankWire> own;
    if (taking_part.front() == 0) {
      Expected<std::unique_ptr<Process>> process = Process::spawn({program, "rank"});
      if (!process) return fail(process.error());
      own = std::move(*process);
    }
    // From here on nothing fails.
    std::vector<std::string> names;
    std::vector<std::unique_ptr<RankWire>> wires;
    for (size_t i = 0; i < taking_part.size(); ++i) {
      const size_t rank = taking_part[i], host = host_of(rank, launched);
      add_rank(launched.hosts[host], (*choices)[i]);
      launched.ranks.push_back({host, rank != 0, (*choices)[i].addresses});
      names.push_back(node(rank));
      wires.push_back(std::move(rank == 0 ? own : launched.idle[rank - 1]));
    }
    std::erase(launched.idle, nullptr);
    for (size_t rank = 1; rank < agents_.size(); ++rank) {
      const size_t host = host_of(rank, launched);
      if (!agents_[rank].valid() || host == launched.hosts.size()) continue;
      launched.agents.emplace_back(host, std::move(agents_[rank]));
    }
    launched.wires = RankSet::adopt(names, std::move(wires), encode(AliveMessage{}));
    return {};
  }

 private:
  const std::string& node(size_t rank) { return nodes_.hosts()[node_of_[rank]].name; }

  // Its index in launched.hosts; their number when its host is excluded.
  size_t host_of(size_t rank, const Launched& launched) {
    size_t host = 0;
    while (host < launched.hosts.size() && launched.hosts[host].name != node(rank)) ++host;
    return host;
  }

  static void add_rank(ScenarioHost& host, const AddressChoice& choice) {
    ++host.ranks;
    for (const RankAddress& address : choice.addresses) {
      const std::string text = fmt::format("{}/{}", address.ip, address.prefix);
      const bool fresh = std::find(host.data.begin(), host.data.end(), text) == host.data.end();
      if (fresh) host.data.push_back(text);
    }
  }

  const std::vector<std::string>& exclude_;
  const std::vector<JoinRequest> requests_;
  Nodes nodes_;
  std::vector<size_t> node_of_;
  std::vector<Fd> agents_;  // by rank
};

}  // namespace

Launched::~Launched() {
  for (RankWire* remote : remotes) {
    constexpr int64_t kFarewellMs = 200;
    // Whoever cannot be told has gone, or ends when the connection closes.
    static_cast<void>(
        remote->write_line(encode(DismissMessage{}), Deadline::after_ms(kFarewellMs)));
  }
  if (wires) wires->stop(kLaunchedStopMs);
}

Expected<std::unique_ptr<Launched>> lead_launch(const LauncherPlace& place, const LaunchCall& call,
                                                const std::string& program, const Logger& log) {
  // mpirun that is killed tells nobody; the other ranks end with this one.
  const bool by_hand = place.launcher == "torchrun" || place.launcher == "plumbline";
  if (!by_hand) die_with_parent(SIGTERM);
  const Expected<Meeting> meeting = meeting_of(place, call.master, *call.options);
  if (!meeting) return fail(meeting.error());
  RollCall roll(own_request(place, call), monotonic_ns());
  log.info(fmt::format("rendezvous at {} port {} ({}), auth {}", meeting->master.hosts.front(),
                       meeting->port, meeting->master.from, meeting->auth));
  Expected<Gathered> gathered = hold_roll_call(roll_call_spec(*meeting, call, roll, log), roll);
  if (!gathered) return fail(gathered.error());
  for (const std::string& line : roll.drift()) {
    call.caller->say("plumbline: variable " + line + "; rank 0's value counts");
  }
  auto launched = std::make_unique<Launched>();
  launched->program = place.program;
  launched->secret = meeting->secret;
  launched->auth = meeting->auth;
  Assembly assembly(call.exclude, roll.requests());
  assembly.take(std::move(*gathered), *launched);
  if (const Status built = assembly.build(*launched, program, log); !built) {
    return fail(built.error());
  }
  if (!call.quiet) call.caller->say("plumbline: " + summary(*launched));
  return launched;
}

int follow_launch(const LauncherPlace& place, const LaunchCall& call) {
  const Expected<Meeting> meeting = meeting_of(place, call.master, *call.options);
  if (!meeting) {
    call.caller->say(rank_error(place, meeting.error()));
    return 1;
  }
  AttendSpec spec;
  spec.masters = meeting->master.hosts;
  spec.port = meeting->port;
  spec.secret = meeting->secret;
  spec.timeout_ms = call.options->integer("connect_timeout_ms");
  bool told = false;
  Expected<Attendance> attendance = attend_roll_call(spec, own_request(place, call), told);
  if (!attendance) {
    // What rank 0 has said to all of us, it prints itself.
    if (!told) call.caller->say(rank_error(place, attendance.error()));
    return launch_exit_code(attendance.error());
  }
  // An interrupt is rank 0's to act on; its end is ours.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  constexpr int kCoordinatorLost = 2;
  const Expected<std::string> program = own_program_path();
  if (attendance->agent.valid() && program) {
    const int agent = attendance->agent.get();
    const auto started = start_program({*program, "agent"}, {agent, agent, -1}, false);
    if (!started) call.caller->say(rank_error(place, started.error()));
    attendance->agent.reset();
  }
  const int wire = attendance->wire.get();
  return serve_rank({wire, wire, meeting->secret, kCoordinatorLost, 0, call.over});
}

void reach_agents(Launched& launched, const Reach& reach, const OptionSet& options,
                  std::optional<AgentSet>& agents) {
  std::vector<ScenarioHost> hosts = launched.hosts;
  const LaunchedRank& first = launched.ranks.front();
  if (!first.remote) hosts[first.host].local = true;
  agents.emplace(hosts, reach, options);
  for (auto& [host, fd] : launched.agents) agents->attach(host, std::move(fd));
  launched.agents.clear();
}

std::string rank_error(const LauncherPlace& place, const Error& error) {
  return fmt::format("plumbline rank {}: {}", place.rank, error.message());
}

int launch_exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUsage:
    case ErrorCode::kConfig:
    case ErrorCode::kBusy:
      return 1;
    case ErrorCode::kInterrupted:
      return 130;
    default:
      return 2;
  }
}

Status exclude_hosts(const std::vector<std::string>& names, std::vector<ScenarioHost>& hosts) {
  for (const std::string& name : names) {
    size_t at = 0;
    while (at < hosts.size() && hosts[at].name != name) ++at;
    if (at == hosts.size()) {
      std::string all;
      for (const ScenarioHost& host : hosts) all += (all.empty() ? "" : ", ") + host.name;
      return fail(ErrorCode::kUsage, "--exclude " + name + ": no such host",
                  "the hosts are " + all);
    }
    hosts.erase(hosts.begin() + static_cast<ptrdiff_t>(at));
    // Every host's row of a device matrix loses the column of the one that is gone.
    for (ScenarioHost& host : hosts) {
      if (at < host.rdma.size()) host.rdma.erase(host.rdma.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  if (hosts.empty()) return fail(ErrorCode::kUsage, "--exclude leaves no host", "exclude fewer");
  return {};
}

}  // namespace plumbline
