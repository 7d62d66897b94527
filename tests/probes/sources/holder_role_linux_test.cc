#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "core/fd.h"
#include "core/host/process_facts.h"
#include "probes/sources/own_process.h"

namespace plumbline {
namespace {

// A process called `keeper` with a child that has this run id in its environment. The child waits
// for input from here, also when its keeper is gone.
class Family {
 public:
  Family(const std::string& keeper, const std::string& run, const std::string& name = "worker") {
    std::array<int, 2> input{}, output{};
    if (pipe(input.data()) != 0 || pipe(output.data()) != 0) return;
    std::string variable = std::string(kRunIdVariable) + "=" + run;
    std::string script = "printf %s '" + name + "' > /proc/$$/comm; echo $$; read line";
    char shell[] = "/bin/sh", flag[] = "-c";
    std::array<char*, 4> words = {shell, flag, script.data(), nullptr};
    std::array<char*, 2> variables = {run.empty() ? nullptr : variable.data(), nullptr};
    keeper_ = fork();
    if (keeper_ == 0) {
      prctl(PR_SET_NAME, keeper.c_str());
      if (fork() == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        for (const int fd : {input[0], input[1], output[0], output[1]}) close(fd);
        execve(shell, words.data(), variables.data());
        _exit(127);
      }
      for (const int fd : {input[0], input[1], output[0], output[1]}) close(fd);
      while (true) pause();
    }
    close(input[0]);
    close(output[1]);
    input_.reset(input[1]);
    const Fd ready(output[0]);
    std::string text;
    for (char c = 0; read(ready.get(), &c, 1) == 1 && c != '\n';) text += c;
    child_ = static_cast<pid_t>(std::atol(text.c_str()));
  }
  ~Family() { lose_keeper(); }  // the child's input ends, and so does the child
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  void lose_keeper() {
    if (keeper_ <= 0) return;
    kill(keeper_, SIGKILL);
    waitpid(keeper_, nullptr, 0);
    keeper_ = -1;
  }
  pid_t child() const { return child_; }

 private:
  pid_t keeper_ = -1, child_ = -1;
  Fd input_;
};

TEST(HolderRole, AProcessOfARunIsBusyAsLongAsSomebodyKeepsIt) {
  for (const char* keeper :
       {"plumbline", "sshd", "sshd-session", "mpirun", "orted", "slurmstepd"}) {
    Family family(keeper, "3f0c21d07be944aa");
    ASSERT_GT(family.child(), 0);
    HolderRole role = role_of_process(family.child());
    EXPECT_EQ(role.role, "busy rank") << keeper;
    EXPECT_EQ(role.run, "3f0c21d07be944aa");
    EXPECT_EQ(role_of_holder("PID " + std::to_string(family.child()) + " (worker)").role,
              "busy rank");
    family.lose_keeper();
    role = role_of_process(family.child());
    EXPECT_EQ(role.role, "") << keeper << " is gone: an orphan is a leftover";
    EXPECT_EQ(role.run, "3f0c21d07be944aa");
  }
}

TEST(HolderRole, OthersHaveNone) {
  EXPECT_EQ(role_of_process(Family("plumbline", "").child()).role, "") << "of no run";
  EXPECT_EQ(role_of_process(Family("cron", "3f0c21d07be944aa").child()).role, "") << "no keeper";
  EXPECT_EQ(role_of_process(getpid()).role, "");
  EXPECT_EQ(role_of_process(-1).role, "");
  EXPECT_EQ(role_of_process(INT64_MAX).role, "");
  EXPECT_EQ(role_of_holder("").role, "");
  EXPECT_EQ(role_of_holder("PID x (plumbline)").role, "");
  EXPECT_EQ(role_of_holder("PID 99999999999999999999 (plumbline)").role, "");
}

// What stands in another process's environment and name is its own choice.
TEST(HolderRole, HostileWordsAreNoRunIds) {
  for (const char* run : {"$(reboot)", "a b", "a;b", "../x", "x\ny", "zz"}) {
    Family family("plumbline", run);
    const HolderRole role = role_of_process(family.child());
    EXPECT_EQ(role.role, "") << run;
    EXPECT_EQ(role.run, "") << run;
  }
  EXPECT_EQ(role_of_process(Family("plumbline", std::string(65, 'a')).child()).run, "");
  // A name that looks like another line of /proc/PID/status.
  Family family("cron", "3f0c21d07be944aa", "x\nPPid:\t1\nU");
  const auto facts = read_process(family.child());
  ASSERT_TRUE(facts);
  EXPECT_NE(facts->parent, 1);
}

}  // namespace
}  // namespace plumbline
