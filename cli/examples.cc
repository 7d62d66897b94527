// Three command lines for every command, shown before anything else of its --help and in
// docs/reference.md: the plain use first.
#include "cli/commands.h"

namespace plumbline {
namespace {

struct CommandExamples {
  const char* command;
  std::vector<ExampleRow> rows;
};

const std::vector<CommandExamples>& all_examples() {
  static const std::vector<CommandExamples> kTable = {
      {"run",
       {{"plumbline run quickstart", "a first look at this machine, about a minute"},
        {"plumbline run link_matrix --hosts hosts.json", "every link of a cluster"},
        {"plumbline run soak --hosts hosts.json --for 8h", "does anything change over a night?"}}},
      {"doctor",
       {{"plumbline doctor", "is this machine ready?"},
        {"plumbline doctor hosts.json", "probe all hosts of the file, and every pair of them"},
        {"plumbline doctor hosts.json --fix-plan", "the remedies as a script to read and run"}}},
      {"explain",
       {{"plumbline explain 'Connection refused'", "what it means and where to look"},
        {"plumbline explain NCCL WARN Call to connect failed", "quotes are not needed"},
        {"plumbline explain --json 'No route to host'", "the same for a program"}}},
      {"plan",
       {{"plumbline plan quickstart", "what would be measured, and how long it takes"},
        {"plumbline plan nightly --hosts hosts.json", "the same on the hosts of a cluster"},
        {"plumbline plan nightly --only op=allreduce", "only some of its cells"}}},
      {"list",
       {{"plumbline list scenarios", "what plumbline run takes by name"},
        {"plumbline list operations", "what can be measured"},
        {"plumbline list --json", "every table, for a program"}}},
      {"report",
       {{"plumbline report console last", "the newest run, on the terminal"},
        {"plumbline report html last -o page.html", "the same as one page to pass on"},
        {"plumbline report markdown nccl.txt", "what nccl-tests printed, as a table"}}},
      {"compare",
       {{"plumbline compare before after", "two folders of runs, the old one first"},
        {"plumbline compare last --baseline before", "the newest run against an older one"},
        {"plumbline compare before last --plot change.svg", "and a picture of what changed"}}},
      {"submit",
       {{"plumbline submit last", "asks what it must know, and shows what will be published"},
        {"plumbline submit last -o bundles", "into another folder"},
        {"plumbline submit last --sign ~/.ssh/id_ed25519", "signed with an ssh key"}}},
      {"verify",
       {{"plumbline verify bundle.json", "is every value what its samples give?"},
        {"plumbline verify a.json b.json", "and are the two about different runs?"},
        {"plumbline verify --json bundle.json", "the same for a program"}}},
      {"results",
       {{"plumbline results list", "the runs of this machine, newest first"},
        {"plumbline results show last", "where the newest one's files are"},
        {"plumbline results prune --older-than 30d", "remove old ones, and only their own files"}}},
      {"trace",
       {{"plumbline trace capture.pcap", "losses, resets and closed windows, flow by flow"},
        {"plumbline trace sender.pcap receiver.pcap", "where packets vanish between two hosts"},
        {"plumbline trace capture.pcap --plot flow.svg", "a picture of the busiest flow"}}},
      {"watch",
       {{"plumbline watch", "the links of this machine, once a second"},
        {"plumbline watch hosts.json", "all hosts of the file"},
        {"plumbline watch --json --count 10", "ten looks as lines of JSON"}}},
      {"coll",
       {{"plumbline coll allreduce -b 8 -e 64M -f 4", "sizes from 8 bytes to 64 MiB, by fours"},
        {"plumbline coll allreduce --hosts hosts.json", "one rank on each host of the file"},
        {"plumbline coll broadcast --ranks 4 -d half", "four ranks of this machine"}}},
      {"tune",
       {{"plumbline tune", "two ranks of this machine, a minute"},
        {"plumbline tune hosts.json --max-time 5m", "one rank on each host of the file"},
        {"plumbline tune --op allreduce --ranks 4 -o four.json",
         "one operation, in a file to name"}}},
      {"hosts",
       {{"plumbline hosts discover mac1.local mac2.local --out hosts.json",
         "which cable leads where, as a host file"},
        {"plumbline hosts check hosts.json --backend ring", "what MLX's ring would trip over"},
        {"plumbline hosts convert hosts.json --to mpi", "the same hosts for mpirun"}}},
      {"launch",
       {{"plumbline launch --hosts hosts.json -- hostname", "once for each rank of the file"},
        {"plumbline launch --hosts hosts.json --as torchrun -- python3 train.py",
         "with the variables that torchrun sets"},
        {"plumbline launch --hosts hosts.json --env DEBUG=1 -- ./job", "with a variable more"}}},
      {"stop",
       {{"plumbline stop --list", "what runs here"},
        {"plumbline stop 3f9a2c51d07be846", "end that run on this machine"},
        {"plumbline stop 3f9a2c51d07be846 --hosts hosts.json", "and what it left on other hosts"}}},
      {"lab",
       {{"plumbline lab up scenarios/labs/star4.json", "four hosts in network namespaces"},
        {"plumbline lab inject drop_inbound", "break something on purpose"},
        {"plumbline lab down", "remove everything again"}}},
      {"config",
       {{"plumbline config", "every option, its value and where it came from"},
        {"plumbline config quickstart", "as this scenario would run"},
        {"plumbline config --json", "the same for a program"}}},
      {"selftest",
       {{"plumbline selftest", "is the measuring itself right on this machine?"},
        {"plumbline selftest --color never", "without colours"},
        {"plumbline --color always selftest", "with colours also where there is no terminal"}}},
      {"completion",
       {{"plumbline completion bash", "the script; eval \"$(plumbline completion bash)\" loads it"},
        {"plumbline completion zsh", "for zsh"},
        {"plumbline completion fish", "for fish: plumbline completion fish | source"}}},
      {"help",
       {{"plumbline help", "all commands"},
        {"plumbline help run", "what run takes"},
        {"plumbline run --help-all", "and the options of the data path too"}}},
      {"agent",
       {{"plumbline agent --listen", "wait ten minutes for a coordinator, and print what to paste"},
        {"plumbline agent --listen --minutes 60", "for an hour"},
        {"plumbline agent --listen --address 10.0.0.2", "on this address only"}}},
      {"version",
       {{"plumbline version", "of the program and of its libraries"},
        {"plumbline version --json", "the same for a program"},
        {"plumbline -V", "one line"}}},
  };
  return kTable;
}

}  // namespace

std::vector<ExampleRow> examples_of(const std::string& command) {
  for (const CommandExamples& entry : all_examples()) {
    if (command == entry.command) return entry.rows;
  }
  return {};
}

}  // namespace plumbline
