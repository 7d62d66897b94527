// Agents that cannot be started, die, hang, talk nonsense or are set up differently. The host
// file's key `binary` names a small script in the lab's folder that stands for the program on that
// host.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "core/shell_words.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

// The program that injects: the agents are to be the same.
std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "plumbline";
}

FaultMaker& broken_program(FaultMaker& maker, const std::string& script) {
  const std::string path = maker.lab.folder + "/agent-" + maker.draw.hex(4) + ".sh";
  maker.step(fmt::format("printf '%s\\n' {} > {}\nchmod 755 {}",
                         shell_quoted("#!/bin/sh\n" + script), path, path),
             "rm -f " + path);
  maker.plan.injected.host_file = {{maker.host.name, "binary", "\"" + path + "\""}};
  maker.plan.injected.remedy_is_local = false;
  maker.plan.injected.any_peer = true;
  return maker;
}

FaultPlan namespace_missing(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string wrong = maker.host.netns + maker.draw.hex(2);
  maker.plan.injected.host_file = {{maker.host.name, "netns", "\"" + wrong + "\""}};
  maker.how("the host file names a namespace for " + maker.host.name + " that does not exist");
  maker.expect({"ssh.unreachable"});
  maker.plan.injected.any_peer = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan binary_missing(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string path = "/usr/local/bin/plumbline-" + maker.draw.hex(6);
  maker.plan.injected.host_file = {{maker.host.name, "binary", "\"" + path + "\""}};
  maker.how("there is no plumbline on " + maker.host.name);
  maker.expect({"ssh.no_binary"});
  maker.plan.injected.any_peer = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan wrong_program(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string script = maker.draw.pick(std::vector<std::string>{
      "echo \"$0: unknown command: $1\" >&2\nexit 2",
      "echo 'GNU plumb 1.4: no input files' >&2; exit 1",
      "echo 'Last login: Tue Nov 17 09:13:02 from 10.0.0.7'\nexec cat >/dev/null"});
  broken_program(maker, script)
      .how("what is called plumbline on " + maker.host.name + " is another program");
  return maker.expect({"ssh.wrong_binary", "rank.agent_lost"}).done();
}

// A short while after it was started the agent gets this signal.
FaultPlan signalled(FaultMaker& maker, const char* signal, const std::string& what) {
  const std::string script = fmt::format(
      "(sleep {}; kill -{} $$) </dev/null >/dev/null 2>&1 &\nexec {} \"$@\"",
      maker.draw.pick(std::vector<std::string>{"0.6", "0.9", "1.2"}), signal, own_program());
  broken_program(maker, script).how("the agent of " + maker.host.name + " " + what);
  return maker.expect({"rank.agent_lost"}).done();
}

FaultPlan agent_dies(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  return signalled(maker, "KILL", "dies while it is asked");
}

FaultPlan agent_hangs(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  return signalled(maker, "STOP", "hangs while it is asked");
}

FaultPlan agent_nonsense(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string script = maker.draw.pick(std::vector<std::string>{
      "while read -r line; do echo '{{{ not json'; done",
      "while read -r line; do echo \"$line\" | tr 0-9 x; done",
      "while read -r line; do head -c 3000000 /dev/zero | tr '\\0' A; echo; done"});
  broken_program(maker, script).how("the agent of " + maker.host.name + " talks nonsense");
  return maker.expect({"rank.agent_lost", "ssh.wrong_binary"}).done();
}

FaultPlan version_differs(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string script =
      own_program() + " \"$@\" | sed -u -E 's/\"version\": ?\"[^\"]*\"/\"version\":\"0.0.3\"/g'";
  broken_program(maker, script).how(maker.host.name + " runs another version of plumbline");
  return maker.expect({"config.version_mismatch"}).done();
}

FaultPlan config_differs(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string setting = maker.draw.pick(std::vector<std::string>{
      "PLUMBLINE_CHUNK_BYTES=64Ki", "PLUMBLINE_TRANSPORT_CRC=on", "MCCL_CHUNK_BYTES=131072"});
  broken_program(maker, "export " + setting + "\nexec " + own_program() + " \"$@\"")
      .how(setting + " in the environment of " + maker.host.name);
  return maker.expect({"config.mismatch"}).done();
}

FaultPlan few_descriptors(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  broken_program(maker, "ulimit -S -n 64\nexec " + own_program() + " \"$@\"")
      .how("a process on " + maker.host.name + " may open 64 descriptors");
  maker.expect({"host.limits"});
  maker.plan.injected.warn = true;
  return maker.done();
}

// Sockets that ask for no size, and those whose wish is refused, grow to the third value only.
FaultPlan small_buffers(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string key =
      maker.draw.pick(std::vector<std::string>{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"});
  const int most = maker.draw.pick(std::vector<int>{65'536, 212'992, 524'288});
  // As they are on the other hosts, which have them from the machine.
  const std::string before = "$(" + in_netns(maker.peer.netns, "sysctl -n " + key) + ")";
  maker.step(in_netns(maker.host.netns, fmt::format("sysctl -qw {}='4096 16384 {}'", key, most)),
             in_netns(maker.host.netns, fmt::format("sysctl -qw {}=\"{}\"", key, before)));
  maker.how(fmt::format("{} ends at {} on {}", key, most, maker.host.name));
  maker.expect({"host.sockbuf_clamped"});
  maker.plan.injected.warn = true;
  return maker.done();
}

}  // namespace

std::vector<FaultRow> agent_faults() {
  return {
      {"namespace_missing", "agent", "the host's agent cannot be started: no such namespace",
       anywhere, namespace_missing},
      {"binary_missing", "agent", "the host's agent cannot be started: no such program", anywhere,
       binary_missing},
      {"wrong_program", "agent", "the program on the host is not plumbline", anywhere,
       wrong_program},
      {"agent_dies", "agent", "the host's agent dies while it is asked", anywhere, agent_dies},
      {"agent_hangs", "agent", "the host's agent hangs while it is asked", anywhere, agent_hangs},
      {"agent_nonsense", "agent", "the host's agent talks nonsense", anywhere, agent_nonsense},
      {"version_differs", "agent", "the host runs another version", anywhere, version_differs},
      {"config_differs", "agent", "the host's environment sets an option that all ranks share",
       anywhere, config_differs},
      {"few_descriptors", "agent", "processes on the host may open few descriptors", anywhere,
       few_descriptors},
      {"small_buffers", "agent", "the buffers of the host's sockets cannot grow", anywhere,
       small_buffers},
  };
}

}  // namespace plumbline
