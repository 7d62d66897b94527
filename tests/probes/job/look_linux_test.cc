// Looking at real processes: children of the test, over loopback.
#include "probes/job/look_linux.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "core/json.h"
#include "probes/evidence.h"
#include "probes/job/look.h"
#include "probes/job/sockets_linux.h"
#include "tests/support/job_children_linux.h"

namespace plumbline {
namespace {

using test::accept_only;
using test::Child;
using test::fill;
using test::listen_on_loopback;
using testing::HasSubstr;
using testing::Not;

AgentCall within_ten_seconds() { return {Deadline::after_ms(10'000), nullptr}; }

JobSelection by_pid(int64_t pid) {
  JobSelection selection;
  selection.pid = pid;
  return selection;
}

const JobProcess* find_process(const JobLook& look, int64_t pid) {
  for (const JobProcess& process : look.processes) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}
const JobSocket* connection_of(const JobLook& look, int64_t pid) {
  for (const JobSocket& socket : look.sockets) {
    if (socket.pid == pid && socket.state == "ESTABLISHED") return &socket;
  }
  return nullptr;
}

TEST(JobLook, APeerThatDoesNotReadHasItsUnreadBytes) {
  int port = 0;
  Fd listener = listen_on_loopback(port);
  ASSERT_TRUE(listener.valid());
  const Child writer([&] {
    listener = {};
    // It has to wait for the reader, which does not exist yet: the listener's queue takes it.
    fill(port);
  });
  const Child reader([&] { accept_only(listener.get()); });
  listener = {};
  ASSERT_TRUE(writer.ready() && reader.ready());
  const auto seen = look_at_job(by_pid(writer.pid()), 50, within_ten_seconds());
  ASSERT_TRUE(seen) << seen.error().message();
  ASSERT_TRUE(seen->second);
  for (const JobLook* look : {&seen->first, &*seen->second}) {
    const JobProcess* found = find_process(*look, reader.pid());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->why, "same program");
    const JobSocket* in = connection_of(*look, reader.pid());
    const JobSocket* out = connection_of(*look, writer.pid());
    ASSERT_TRUE(in != nullptr && out != nullptr);
    EXPECT_GT(in->receive_queue, 10'000);
    EXPECT_EQ(in->send_queue, 0);
    EXPECT_GT(out->send_queue, 0);
    EXPECT_EQ(out->peer_port, in->port);
    ASSERT_TRUE(in->tcp && out->tcp);
    EXPECT_GE(in->tcp->bytes_received, in->receive_queue);
  }
  EXPECT_GE(seen->second->at_ns - seen->first.at_ns, 50'000'000);
}

TEST(JobLook, AStoppedProcessIsStopped) {
  const Child child([] {});
  ASSERT_TRUE(child.ready());
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  const auto seen = look_at_job(by_pid(child.pid()), 0, within_ten_seconds());
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->first.processes.size(), 1u);
  EXPECT_EQ(seen->first.processes[0].state, "stopped");
  EXPECT_EQ(seen->first.processes[0].parent, ::getpid());
  EXPECT_FALSE(seen->second);
}

TEST(JobLook, OneThatEndsBetweenTheLooksIsNoLongerThere) {
  Child child([] {});
  ASSERT_TRUE(child.ready());
  const JobSelection selection = by_pid(child.pid());
  const auto before = look_at_system(within_ten_seconds());
  ASSERT_TRUE(before);
  const JobLook first = choose_job(*before, selection);
  ASSERT_EQ(first.processes.size(), 1u);
  child.end();
  const auto after = look_at_system(within_ten_seconds());
  ASSERT_TRUE(after);
  EXPECT_TRUE(choose_job(*after, selection, first.processes).processes.empty());
}

TEST(JobLook, AHostileNameIsANameAndNothingElse) {
  const Child child([] { ::prctl(PR_SET_NAME, "x) Z 1 1\n\x1b[2J"); });
  ASSERT_TRUE(child.ready());
  const auto seen = look_at_job(by_pid(child.pid()), 0, within_ten_seconds());
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->first.processes.size(), 1u);
  const JobProcess& process = seen->first.processes[0];
  EXPECT_EQ(process.name, "x) Z 1 1\n\x1b[2J");
  EXPECT_EQ(process.state, "sleeping");
  EXPECT_EQ(process.parent, ::getpid());
  EvidenceSet evidence;
  evidence.hosts.resize(1);
  evidence.job_seen = JobEvidence{"x", true, {*seen}};
  const EvidenceSet shown = shown_evidence(evidence);
  EXPECT_EQ(shown.job_seen->hosts.at(0).first.processes.at(0).name, "x) Z 1 1\\x0a\\x1b[2J");
}

TEST(JobLook, NamesThatSomebodyMadeUpAreRead) {
  JobProcess process;
  for (const char* text : {"", "4711", "4711 (", "4711 )(", "4711 (a) S", "4711 (a) SLEEP 1 2 3"}) {
    EXPECT_FALSE(parse_process_stat(text, 100, process)) << text;
  }
  EXPECT_TRUE(parse_process_stat(
      "4711 (a) b (c) S 12 3 4 5 -1 6 7 8 9 10 250 50 13 14 15 16 17 18 1234 19 20", 100, process));
  EXPECT_EQ(process.name, "a) b (c");
  EXPECT_EQ(process.parent, 12);
  EXPECT_EQ(process.started, 1234);
  EXPECT_EQ(process.cpu_ns, 3'000'000'000);
}

TEST(JobLook, NothingOfTheEnvironmentButListedNamesIsInTheAnswer) {
  std::array<const char*, 5> variables = {"RANK=1", "MASTER_ADDR=10.0.0.1",
                                          "PLUMBLINE_TOKEN_FILE=/x/hunter2", "API_KEY=hunter2",
                                          nullptr};
  std::array<const char*, 4> words = {"sleep", "60", nullptr, nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execve("/bin/sleep", const_cast<char**>(words.data()), const_cast<char**>(variables.data()));
    ::_exit(127);
  }
  std::string text;
  JobHostEvidence seen;
  // Until it is another program.
  const Deadline patience = Deadline::after_ms(10'000);
  while (!patience.passed()) {
    const auto look = look_at_job(by_pid(pid), 0, within_ten_seconds());
    ASSERT_TRUE(look);
    seen = *look;
    // Its environment comes a moment after its name.
    const auto& found = seen.first.processes;
    if (!found.empty() && found[0].program == "sleep" && found[0].environment_seen) break;
    ::usleep(5000);
  }
  text = nlohmann::json(seen).dump();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ASSERT_EQ(seen.first.processes.size(), 1u);
  EXPECT_EQ(seen.first.processes[0].environment,
            (std::map<std::string, std::string>{{"MASTER_ADDR", "10.0.0.1"}, {"RANK", "1"}}));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, Not(HasSubstr("TOKEN")));
}

TEST(JobLook, WhoseMpiAProcessHasLoaded) {
  const std::string line = "7f00-7f01 r-xp 00000000 fd:00 9  /usr/lib/x86_64-linux-gnu/";
  EXPECT_EQ(mpi_in(line + "libmpi.so.40.30.4\n" + line + "libopen-pal.so.40.30.2\n"), "openmpi");
  EXPECT_EQ(mpi_in(line + "libmpich.so.12.2.1\n"), "mpich");
  EXPECT_EQ(mpi_in("7f00-7f01 r-xp 0 08:01 7 /usr/lib64/mpich/lib/libmpi.so.12.1.8\n"), "mpich");
  EXPECT_EQ(mpi_in(line + "libmpi.so.12.1.8\n"), "mpich");
  EXPECT_EQ(mpi_in(line + "x\n7f00-7f01 r-xp 0 08:01 7 /opt/mvapich2/lib/libmpi.so.12.0.5\n"),
            "mpich ABI");
  EXPECT_EQ(mpi_in(line + "libc.so.6\n"), "");
  EXPECT_EQ(mpi_in(""), "");
}

TEST(JobLook, DamagedAnswersOfTheKernelAreNoSockets) {
  std::array<char, 256> bytes{};
  auto* message = reinterpret_cast<nlmsghdr*>(bytes.data());
  EXPECT_FALSE(kernel_socket(*message));
  message->nlmsg_type = 20;  // SOCK_DIAG_BY_FAMILY
  message->nlmsg_len = 24;
  EXPECT_FALSE(kernel_socket(*message));
  message->nlmsg_len = 200;
  EXPECT_FALSE(kernel_socket(*message));  // of no family
  bytes[16] = AF_INET;
  bytes[17] = 10;  // LISTEN
  ASSERT_TRUE(kernel_socket(*message));
  EXPECT_EQ(kernel_socket(*message)->socket.state, "LISTEN");
  bytes[17] = 99;
  EXPECT_FALSE(kernel_socket(*message));
}

}  // namespace
}  // namespace plumbline
