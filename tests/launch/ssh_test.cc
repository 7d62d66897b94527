#include "launch/ssh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/command.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// A new folder whose name is short: the path of a socket must be, wherever TMPDIR is.
std::string short_folder() {
  std::string name = "/tmp/pl-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

TEST(Ssh, NeverAsksAndNeverWaitsForLong) {
  const std::string line =
      joined(ssh_command({"mini1", "", 0, "", "", ""}, {"plumbline", "agent"}));
  EXPECT_THAT(line, HasSubstr("BatchMode=yes"));
  EXPECT_THAT(line, HasSubstr("ConnectTimeout=5"));
  EXPECT_THAT(line, HasSubstr("ServerAliveInterval="));
  EXPECT_THAT(line, HasSubstr("-- mini1 exec plumbline agent "));
  EXPECT_THAT(line, Not(HasSubstr("ControlMaster")));
  EXPECT_THAT(line, Not(HasSubstr("IdentitiesOnly")));
}

TEST(Ssh, TakesWhatTheHostFileSays) {
  const SshTarget target{"me@mini1", "other", 2222, "/keys/a b", "/etc/cfg", "/tmp/s-%C"};
  const auto argv = ssh_command(target, {"plumbline"});
  const std::string line = joined(argv);
  EXPECT_THAT(line, HasSubstr("-F /etc/cfg "));
  EXPECT_THAT(line, HasSubstr("-l other "));
  EXPECT_THAT(line, HasSubstr("-p 2222 "));
  EXPECT_THAT(argv, Contains("/keys/a b"));  // a word of its own: no shell reads our command line
  EXPECT_THAT(line, HasSubstr("-S /tmp/s-%C -o ControlMaster=auto"));
  const std::string end = joined(ssh_end_command(target));
  EXPECT_THAT(end, HasSubstr("-O exit -- me@mini1"));
  EXPECT_THAT(end, HasSubstr("-S /tmp/s-%C"));
}

TEST(Ssh, WordsReachTheFarShellAsTheyAre) {
  for (const std::string& word :
       {std::string("plain"), std::string("two words"), std::string("it's"),
        std::string("$(reboot)"), std::string("a;b"), std::string(""), std::string("*"),
        std::string("a\nb"), std::string("back\\slash"), std::string("\"quoted\""),
        std::string("~root")}) {
    const auto done =
        run_command({"sh", "-c", "printf %s " + shell_line({word})}, Deadline::after_ms(5000));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->out, word);
    EXPECT_EQ(done->status, 0);
  }
}

struct Said {
  const char* words;
  int status;
  const char* cause;
};
constexpr Said kSaid[] = {
    {"ssh: Could not resolve hostname mini7: Name or service not known\r\n", 255,
     "name.unresolved"},
    {"ssh: connect to host 10.0.0.9 port 22: Connection refused", 255, "ssh.refused"},
    {"kex_exchange_identification: read: Connection reset by peer", 255, "ssh.refused"},
    {"ssh: connect to host 10.0.0.9 port 22: Connection timed out", 255, "ssh.unreachable"},
    {"ssh: connect to host 10.0.0.9 port 22: Operation timed out", 255, "ssh.unreachable"},
    {"ssh: connect to host 10.0.0.9 port 22: No route to host", 255, "ssh.unreachable"},
    {"me@mini1: Permission denied (publickey,password).", 255, "ssh.auth"},
    {"Host key verification failed.", 255, "ssh.host_key"},
    {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @", 255, "ssh.host_key"},
    // The warning names the reason, the refusal only follows from it.
    {"@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\nme@mini1: Permission denied (publickey).", 255,
     "ssh.key_permissions"},
    {"", 255, "ssh.unreachable"},
    {"bash: line 1: /opt/plumbline: No such file or directory", 127, "ssh.no_binary"},
    {"zsh:1: command not found: plumbline", 127, "ssh.no_binary"},
    {"", 126, "ssh.no_binary"},
    {"bash: line 1: /opt/plumbline: cannot execute binary file: Exec format error", 126,
     "ssh.wrong_binary"},
    {"zsh: bad CPU type in executable: ./plumbline", 126, "ssh.wrong_binary"},
    {"plumbline: error while loading shared libraries: libfmt.so.9", 127, "ssh.no_binary"},
    // The program itself began and failed: that is not ssh's doing.
    {"terminate called after throwing", 134, ""},
    // Words of a login banner do not make a refusal out of a program's own end.
    {"Permission denied (if you are not a member)", 1, ""},
};

TEST(Ssh, WhatItSaysHasACause) {
  for (const Said& said : kSaid) {
    EXPECT_EQ(ssh_cause(said.words, said.status), said.cause) << said.words;
  }
}

TEST(Ssh, ControlSocketsLieWhereOnlyThisUserCanEnter) {
  const Expected<SshControl> control = ssh_control();
  ASSERT_TRUE(control) << control.error().message();
  const std::string& path = control->path;
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat state {};
  ASSERT_EQ(lstat(folder.c_str(), &state), 0);
  EXPECT_TRUE(S_ISDIR(state.st_mode));
  EXPECT_EQ(state.st_uid, getuid());
  EXPECT_EQ(state.st_mode & 0777U, 0700U);
  // %C becomes 40 characters and ssh adds 17 while it binds; 104 is what macOS takes.
  EXPECT_LE(path.size() - 2 + 40 + 17, 104U);
}

// Without a runtime folder it was /tmp/plumbline-UID, a name that anybody can take: as a folder of
// his own (nothing over ssh works any more) or as a link.
TEST(Ssh, NobodyCanTakeTheNameOfTheControlFolder) {
  const char* before = getenv("XDG_RUNTIME_DIR");
  const std::string runtime = before == nullptr ? "" : before;
  unsetenv("XDG_RUNTIME_DIR");
  const std::string fixed = "/tmp/plumbline-" + std::to_string(getuid());
  const bool made = symlink("/proc/nonexistent", fixed.c_str()) == 0;
  std::string first_folder;
  {
    const Expected<SshControl> first = ssh_control(), second = ssh_control();
    ASSERT_TRUE(first) << first.error().message();
    ASSERT_TRUE(second) << second.error().message();
    first_folder = first->path.substr(0, first->path.rfind('/'));
    EXPECT_NE(first_folder, second->path.substr(0, second->path.rfind('/')));
    EXPECT_EQ(first_folder.rfind(fixed + "/", 0), std::string::npos);
    EXPECT_EQ(access(first_folder.c_str(), F_OK), 0);
  }
  EXPECT_NE(access(first_folder.c_str(), F_OK), 0) << "it goes with its owner";
  // Of somebody else's, or a link to one, nothing is used (sudo keeps the variable).
  const std::string folder = short_folder(), link = folder + "/x";
  ASSERT_EQ(symlink("/tmp", link.c_str()), 0);
  setenv("XDG_RUNTIME_DIR", link.c_str(), 1);
  const Expected<SshControl> linked = ssh_control();
  unlink(link.c_str());
  rmdir(folder.c_str());
  if (made) unlink(fixed.c_str());
  runtime.empty() ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(linked->path.rfind(link, 0), std::string::npos);
}

TEST(Ssh, RefusesAFolderThatOthersCanEnter) {
  const std::string folder = short_folder();
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  const std::string inner = folder + "/plumbline-" + std::to_string(getuid());
  ASSERT_EQ(mkdir(inner.c_str(), 0755), 0);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  const Expected<SshControl> path = ssh_control();
  chmod(inner.c_str(), 0700);
  const Expected<SshControl> own = ssh_control();
  chmod(folder.c_str(), 0777);
  const Expected<SshControl> open = ssh_control();
  unsetenv("XDG_RUNTIME_DIR");
  rmdir(inner.c_str());
  rmdir(folder.c_str());
  ASSERT_FALSE(path);
  EXPECT_THAT(path.error().message(), HasSubstr("chmod 700 " + inner));
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_EQ(own->path.rfind(inner + "/", 0), 0u);
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message(), HasSubstr("chmod go-w " + folder));
}

TEST(Ssh, RefusesARuntimeFolderWhoseParentsOthersMayWrite) {
  const std::string parent = short_folder(), folder = parent + "/r";
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(chmod(parent.c_str(), 0777), 0);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  const Expected<SshControl> refused = ssh_control();
  chmod(parent.c_str(), 0755);
  const Expected<SshControl> mended = ssh_control();
  unsetenv("XDG_RUNTIME_DIR");
  rmdir((folder + "/plumbline-" + std::to_string(getuid())).c_str());
  rmdir(folder.c_str());
  rmdir(parent.c_str());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("chmod go-w " + parent));
  EXPECT_TRUE(mended) << mended.error().message();
}

}  // namespace
}  // namespace plumbline
