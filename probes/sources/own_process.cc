#include "probes/sources/own_process.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/awaited.h"
#include "core/host/ip.h"
#include "core/host/process_facts.h"
#include "core/number.h"
#include "probes/sources/tool_output.h"
#include "transport/rdma/verbs.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMostNames = 64;

void ask_resolver(NameEvidence& name) {
  const int64_t begin = monotonic_ns();
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(name.name.c_str(), nullptr, &hints, &list);
  name.took_ns = monotonic_ns() - begin;
  name.error = status == 0 ? "" : gai_strerror(status);
  if (status != 0 && !loads_libraries()) {
    name.error += " (this static plumbline asks /etc/hosts and DNS only, no mDNS)";
  }
  if (status != 0) return;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      add_once(entry->ai_family == AF_INET6 ? name.v6 : name.v4, text.data());
    }
  }
  freeaddrinfo(list);
}

// All that a program can tell that loads nothing.
void look_for_verbs_library(RdmaEvidence& rdma) {
  for (const std::string& name : verbs_library_names()) {
    if (!library_file(name).empty()) {
      rdma.library = name;
      return;
    }
  }
  rdma.library_error = "no " + verbs_library_names().front() + " in the system's library folders";
}

// ---- who holds a port ----

// Whoever keeps a rank or an agent: a coordinator, the sshd that stands for one, a launcher. How
// their names begin; the system cuts them to 15 characters.
constexpr std::string_view kKeepers[] = {"plumbline", "sshd",  "mpirun",  "mpiexec",
                                         "orterun",   "orted", "prte",    "hydra_",
                                         "srun",      "slurm", "torchrun"};
constexpr int kMostAncestors = 32;

bool is_plumbline(const ProcessFacts& facts) { return facts.name.rfind("plumbline", 0) == 0; }

// The first process of the system adopts orphans: an sshd there stands for nobody.
bool has_keeper(const ProcessFacts& facts) {
  // Torchrun is often started as a module of python.
  const bool by_torchrun = !process_variable(facts.pid, "TORCHELASTIC_RUN_ID").empty();
  int64_t above = facts.parent;
  for (int i = 0; i < kMostAncestors && above > 1; ++i) {
    const std::optional<ProcessFacts> ancestor = read_process(above);
    if (!ancestor) return false;
    const bool keeps =
        std::any_of(std::begin(kKeepers), std::end(kKeepers), [&](std::string_view begin) {
          return ancestor->name.compare(0, begin.size(), begin) == 0;
        });
    if (keeps || (by_torchrun && ancestor->name.rfind("python", 0) == 0)) return true;
    above = ancestor->parent;
  }
  return false;
}

// An agent with --listen ends when it has served, or when nobody came in time, so that one which
// runs still waits or serves; one without ends with the diagnosis or run that started it.
std::string agent_role(const ProcessFacts& facts) {
  if (facts.user != static_cast<int64_t>(getuid())) return "";
  const auto& words = facts.arguments;
  if (std::find(words.begin(), words.end(), "--listen") != words.end()) return "waiting agent";
  return has_keeper(facts) ? "busy agent" : "";
}

}  // namespace

std::vector<NameEvidence> resolve_names(std::vector<NameEvidence> names, Deadline deadline) {
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const NameEvidence& name) {
                               return name.name.empty() || parse_zoned_ip(name.name);
                             }),
              names.end());
  if (names.size() > kMostNames) names.resize(kMostNames);
  const int64_t begin = monotonic_ns();
  for (NameEvidence& name : names) name.error = "no answer in time";
  // getaddrinfo(3) cannot be interrupted.
  const Awaited<NameEvidence> asked(names.size(), [names](size_t i) {
    NameEvidence name = names[i];
    ask_resolver(name);
    return name;
  });
  std::vector<std::optional<NameEvidence>> answers = asked.wait(deadline);
  for (size_t i = 0; i < names.size(); ++i) {
    NameEvidence& name = names[i];
    if (answers[i]) name = std::move(*answers[i]);
    if (name.took_ns == 0) name.took_ns = monotonic_ns() - begin;
  }
  return names;
}

BufferEvidence try_buffers(int64_t bytes) {
  BufferEvidence out;
  out.asked = std::max<int64_t>(bytes, 0);
  if (out.asked == 0) return out;
  // A listener gets its buffers exactly as the transport's own sockets do.
  SocketOptions options;
  options.buffer_bytes = static_cast<uint64_t>(out.asked);
  const auto any = make_socket_address("127.0.0.1", 0);
  const auto socket = any ? listen_on(*any, options) : Expected<Fd>(fail(any.error()));
  if (!socket) {
    out.error = socket.error().message();
    return out;
  }
  // Beyond the limit a socket keeps its small first buffer, which the system lets grow: the limit
  // says what could be had.
  const auto most = [&](int option) {
    const uint64_t limit = socket_buffer_limit(option);
    const bool refused = limit > 0 && options.buffer_bytes > limit;
    return static_cast<int64_t>(refused ? limit : granted_buffer(socket->get(), option));
  };
  out.send = most(SO_SNDBUF);
  out.receive = most(SO_RCVBUF);
  return out;
}

void try_verbs_library(HostEvidence& host) {
  if (!host.rdma) host.rdma.emplace();
  RdmaEvidence& rdma = *host.rdma;
  if (!loads_libraries()) return look_for_verbs_library(rdma);
  const Expected<Verbs> verbs = load_verbs(verbs_library_names());
  if (!verbs) {
    rdma.library_error = verbs.error().what;
    return;
  }
  rdma.library = verbs->library;
  rdma.library_error.clear();
  if (rdma.devices.empty()) return;
  // Its drivers are separate files, which may be missing.
  int count = 0;
  VerbsDevice** const list = verbs->get_device_list(&count);
  if (list != nullptr) verbs->free_device_list(list);
  if (count == 0) {
    rdma.library_error = fmt::format(
        "{} finds none of the kernel's devices: is its driver (rdma-core's providers) installed?",
        rdma.library);
  }
}

HolderRole role_of_process(int64_t pid) {
  const std::optional<ProcessFacts> facts = read_process(pid);
  if (!facts) return {};
  HolderRole out;
  if (const std::string run = process_variable(pid, kRunIdVariable); is_run_id(run)) out.run = run;
  const std::string command = facts->arguments.size() > 1 ? facts->arguments[1] : std::string();
  if (is_plumbline(*facts) && command == "agent") {
    out.role = agent_role(*facts);
    return out;
  }
  // A rank of ours, one of a launcher's (which is the command itself), or what `launch` started.
  const bool rank =
      is_plumbline(*facts) && (command == "rank" || command == "run" || command == "coll");
  if ((rank || !out.run.empty()) && has_keeper(*facts)) out.role = "busy rank";
  return out;
}

HolderRole role_of_holder(const std::string& holder) {
  const size_t at = holder.find("PID ");
  if (at == std::string::npos) return {};
  return role_of_process(leading_whole(std::string_view(holder).substr(at + 4)).value_or(0));
}

}  // namespace plumbline
