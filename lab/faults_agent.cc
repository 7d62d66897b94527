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

void namespace_missing(FaultMaker& maker) {
  const std::string wrong = maker.host.netns + maker.draw.hex(2);
  maker.plan.injected.host_file = {{maker.host.name, "netns", "\"" + wrong + "\""}};
  maker.how("the host file names a namespace for " + maker.host.name + " that does not exist");
  maker.expect({"ssh.unreachable"}).any_peer().remedy_elsewhere();
}

void binary_missing(FaultMaker& maker) {
  const std::string path = "/usr/local/bin/plumbline-" + maker.draw.hex(6);
  maker.plan.injected.host_file = {{maker.host.name, "binary", "\"" + path + "\""}};
  maker.how("there is no plumbline on " + maker.host.name);
  maker.expect({"ssh.no_binary"}).any_peer().remedy_elsewhere();
}

void wrong_program(FaultMaker& maker) {
  const std::string script = maker.draw.pick(
      {"echo \"$0: unknown command: $1\" >&2\nexit 2",
       "echo 'GNU plumb 1.4: no input files' >&2; exit 1",
       "echo 'Last login: Tue Nov 17 09:13:02 from 10.0.0.7'\nexec cat >/dev/null"});
  broken_program(maker, script)
      .how("what is called plumbline on " + maker.host.name + " is another program");
  maker.expect({"ssh.wrong_binary", "rank.agent_lost"});
}

// A short while after it was started the agent gets this signal.
void signalled(FaultMaker& maker, const char* signal, const std::string& what) {
  const std::string script =
      fmt::format("(sleep {}; kill -{} $$) </dev/null >/dev/null 2>&1 &\nexec {} \"$@\"",
                  maker.draw.pick({"0.6", "0.9", "1.2"}), signal, own_program());
  broken_program(maker, script).how("the agent of " + maker.host.name + " " + what);
  maker.expect({"rank.agent_lost"});
}

void agent_dies(FaultMaker& maker) { signalled(maker, "KILL", "dies while it is asked"); }

void agent_hangs(FaultMaker& maker) { signalled(maker, "STOP", "hangs while it is asked"); }

void agent_nonsense(FaultMaker& maker) {
  const std::string script = maker.draw.pick(
      {"while read -r line; do echo '{{{ not json'; done",
       "while read -r line; do echo \"$line\" | tr 0-9 x; done",
       "while read -r line; do head -c 3000000 /dev/zero | tr '\\0' A; echo; done"});
  broken_program(maker, script).how("the agent of " + maker.host.name + " talks nonsense");
  maker.expect({"rank.agent_lost", "ssh.wrong_binary"});
}

void version_differs(FaultMaker& maker) {
  const std::string script =
      own_program() + " \"$@\" | sed -u -E 's/\"version\": ?\"[^\"]*\"/\"version\":\"0.0.3\"/g'";
  broken_program(maker, script).how(maker.host.name + " runs another version of plumbline");
  maker.expect({"config.version_mismatch"});
}

void config_differs(FaultMaker& maker) {
  const std::string setting = maker.draw.pick(
      {"PLUMBLINE_CHUNK_BYTES=64Ki", "PLUMBLINE_TRANSPORT_CRC=on", "MCCL_CHUNK_BYTES=131072"});
  broken_program(maker, "export " + setting + "\nexec " + own_program() + " \"$@\"")
      .how(setting + " in the environment of " + maker.host.name);
  maker.expect({"config.mismatch"});
}

void few_descriptors(FaultMaker& maker) {
  broken_program(maker, "ulimit -S -n 64\nexec " + own_program() + " \"$@\"")
      .how("a process on " + maker.host.name + " may open 64 descriptors");
  maker.expect({"host.limits"}).warn();
}

// Sockets that ask for no size, and those whose wish is refused, grow to the third value only.
void small_buffers(FaultMaker& maker) {
  const std::string key = maker.draw.pick({"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"});
  const int most = maker.draw.pick(std::vector<int>{65'536, 212'992, 524'288});
  // As they are on the other hosts, which have them from the machine.
  const std::string before = "$(" + in_netns(maker.peer.netns, "sysctl -n " + key) + ")";
  maker.step(in_netns(maker.host.netns, "sysctl -qw {}='4096 16384 {}'", key, most),
             in_netns(maker.host.netns, "sysctl -qw {}=\"{}\"", key, before));
  maker.how("{} ends at {} on {}", key, most, maker.host.name);
  maker.expect({"host.sockbuf_clamped"}).warn();
}

}  // namespace

std::vector<FaultRow> agent_faults() {
  return {
      {"namespace_missing", "the host's agent cannot be started: no such namespace", anywhere,
       namespace_missing},
      {"binary_missing", "the host's agent cannot be started: no such program", anywhere,
       binary_missing},
      {"wrong_program", "the program on the host is not plumbline", anywhere, wrong_program},
      {"agent_dies", "the host's agent dies while it is asked", anywhere, agent_dies},
      {"agent_hangs", "the host's agent hangs while it is asked", anywhere, agent_hangs},
      {"agent_nonsense", "the host's agent talks nonsense", anywhere, agent_nonsense},
      {"version_differs", "the host runs another version", anywhere, version_differs},
      {"config_differs", "the host's environment sets an option that all ranks share", anywhere,
       config_differs},
      {"few_descriptors", "processes on the host may open few descriptors", anywhere,
       few_descriptors},
      {"small_buffers", "the buffers of the host's sockets cannot grow", anywhere, small_buffers},
  };
}

}  // namespace plumbline
