// Reaching another machine with the system's own OpenSSH client and the user's own configuration:
// the command line that runs a program there, and the name of what went wrong by what ssh said.
// ssh never asks (BatchMode), gives up connecting after a few seconds, notices a dead network, and
// shares one connection per machine (ControlMaster): the first command opens it, it ends by itself
// soon after the last one, or at once with ssh_end_command(). See ssh(1), ssh_config(5). Pure but
// for ssh_control(); thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"

namespace plumbline {

struct SshTarget {
  std::string destination;   // as behind `ssh`: "mini1", "me@mini1.local"
  std::string user;          // beats the one in `destination`; empty = none
  int port = 0;              // 0 = as the configuration says
  std::string key;           // private key file; empty = as the configuration says
  std::string config;        // configuration file instead of the user's own (ssh -F); empty = none
  std::string control_path;  // socket of the shared connection; empty = a connection each
};

// Starts `words` there, standard streams joined to ours, without a terminal.
std::vector<std::string> ssh_command(const SshTarget& target,
                                     const std::vector<std::string>& words);
// Ends the shared connection, and with it whatever still runs over it.
std::vector<std::string> ssh_end_command(const SshTarget& target);

// Socket name for this process's connections, in a folder that only this user can enter: in
// $XDG_RUNTIME_DIR where that is this user's own and its name short enough for a socket, else in
// one with a fresh name, which nobody can have taken and which goes with the last copy of this
// value. An Error when others could get into the folder.
struct SshControl {
  std::string path;
  std::shared_ptr<const TemporaryFolder> folder;
};
Expected<SshControl> ssh_control();

// The cause id of a command over ssh that failed before the program there spoke: by ssh's words and
// the exit status (255 = ssh itself failed). Empty when they tell nothing.
std::string ssh_cause(const std::string& words, int exit_status);

// Whether a line that comes before an agent or a rank behind ssh has said anything is its login
// shell's (a greeting in .bashrc): their own lines begin with a brace. So many are overread.
inline constexpr int kMostShellLines = 1000;
inline bool is_of_shell(const std::string& line) { return line.rfind('{', 0) != 0; }

}  // namespace plumbline
