#include "cli/commands.h"

#include "cli/submit_questions.h"

namespace plumbline {
namespace {

const FlagRow kOnly = {"--only", "WHAT",
                       "measure only matching cells: op=allreduce, bytes>=1Mi, ring", true};
const FlagRow kSkip = {"--skip", "WHAT", "leave matching cells out", true};
const FlagRow kSeed = {"--seed", "N",
                       "seed of the shuffled order (default: from the clock, recorded)"};
const FlagRow kHosts = {"--hosts", "FILE",
                        "run on the hosts of this file instead of the scenario's"};
const FlagRow kMaster = {
    "--master", "ADDRESS",
    "under mpirun, srun, torchrun: where rank 0 runs (default: MASTER_ADDR, or "
    "what the launcher tells)"};
const FlagRow kLauncher = {"--launcher", "NAME",
                           "believe only this launcher's variables: openmpi, mpich, slurm, "
                           "torchrun, plumbline; none = run alone (auto)"};
const FlagRow kRounds = {"--rounds", "N", "at most this many timed operations in a cell"};
const FlagRow kRules = {"--rules", "FILE",
                        "rules that the results must meet, in addition to the scenario's own "
                        "(docs/rules.md); may be repeated",
                        true};
const FlagRow kEveryCell = {"-v,--verbose", nullptr, "every cell, with its id"};
const FlagRow kBaseline = {"--baseline", "DIR",
                           "run (folder or records.jsonl) that rules of the kind p50_of_baseline "
                           "compare with; or last, or a run's id",
                           false, InputNames::kRuns};
const FlagRow kCommands = {
    "--allow-commands", nullptr,
    "start what the scenario names: commands of its probe `command`, and the "
    "`binary` of its own hosts; plumbline plan lists both"};
const FlagRow kModel = {"--model", "PATH",
                        "a model's folder, or any other, that must be the same on all hosts: probe "
                        "`artifact`; may be repeated",
                        true};
const FlagRow kExclude = {"--exclude", "HOST", "leave this host out; may be repeated", true};
const FlagRow kMinEffect = {"--min-effect", "SHARE", "changes below this do not count (2%)"};
const FlagRow kAlpha = {"--alpha", "SHARE",
                        "largest chance of one false alarm among all cells together (5%)"};
const FlagRow kIgnore = {"--ignore", "FIELD",
                         "this field of the cells may differ between the two sides: algorithm",
                         true};
constexpr const char* kRunNotes =
    "With --for (docs/soak.md) the hosts are watched meanwhile: links, routes, counters, heat; "
    "what\n"
    "changes goes to DIR/events.jsonl. Rounds start on a grid; Ctrl-C ends in order. No --resume.\n"
    "Where the probes find something broken, as plumbline doctor defines it, nothing is measured\n"
    "(but with --despite-findings), and the exit code is 2.\n"
    "Under mpirun, srun or torchrun every rank runs this command: rank 0 coordinates and prints,\n"
    "the others serve it (docs/launchers.md).";
const FlagRow kInProcess = {"--ranks-in-process", nullptr,
                            "ranks are threads of one process on this machine; the transport "
                            "memory needs it"};
const FlagRow kJson = {"--json", nullptr, "machine-readable output"};
const FlagRow kSignersFlag = {
    "--allowed-signers", "FILE",
    "whose keys are whose, as ssh-keygen reads it (reports/community/allowed_signers)"};

// The questions come first, what is done with the answers after them.
std::vector<FlagRow> submit_flags() {
  std::vector<FlagRow> flags = question_flags();
  flags.push_back({"-o,--folder,--out", "DIR", "folder for the bundle (reports/community)"});
  flags.push_back({"--keep-names", nullptr,
                   "names of this machine in what you state are meant as words, and published"});
  flags.push_back({"--sign", "KEYFILE", "sign with this ssh key (ssh-keygen -Y sign)"});
  flags.push_back({"-y,--yes", nullptr, "publish without being asked"});
  return flags;
}

}  // namespace

// The one table of commands, in the order of --help.
std::vector<CommandRow> command_table() {
  std::vector<CommandRow> rows = {
      {"run",
       "probe the hosts, run a scenario's matrix, report",
       {{"scenario",
         "scenario file, or the name of one that ships (plumbline list scenarios); two with "
         "--interleave",
         true, true, InputNames::kScenarios}},
       {{"-o,--out", "DIR",
         "folder for records, tables and plots (default plumbline-out/NAME-TIME)"},
        kHosts,
        kOnly,
        kSkip,
        kSeed,
        kRounds,
        kRules,
        kBaseline,
        {"--resume", nullptr,
         "run only what DIR/records.jsonl does not hold yet; -o takes last or a run's id too"},
        {"--for", "TIME", "soak: measure again and again for this long (8h; s, m or h)"},
        {"--every", "TIME", "with --for: a round starts this often (5m)"},
        {"--idle", "TIMES",
         "with --for: after each round, stay idle for this long and time the first operations "
         "separately; "
         "in turn (1m,5m,25m)"},
        {"--repeat", "N", "measure everything N times, each time by fresh processes"},
        {"--interleave", nullptr,
         "measure two scenarios in turns, N launches each (12), and compare them"},
        {"--recheck", "N", "with --interleave: N more launches of the cells that look slower"},
        kMinEffect,
        kAlpha,
        kIgnore,
        {"--strict", nullptr, "with --interleave: exit code 6 where a cell is undecided"},
        {"--dry-run", nullptr, "show what would be measured and how long it may take"},
        {"-v,--verbose", nullptr, "with --dry-run: every cell, with its id"},
        {"--no-probes", nullptr, "do not probe first"},
        kCommands,
        {"--despite-findings", nullptr, "measure even if the probes found something broken"},
        kModel,
        kExclude,
        kInProcess,
        kMaster,
        kLauncher,
        {"--no-history", nullptr, "leave no entry for plumbline results"},
        {"-q,--quiet", nullptr, "no progress on standard error"},
        {"--json", nullptr,
         "one JSON object on standard output instead of tables (docs/json_output.md)"}},
       true,
       false,
       run_run,
       kRunNotes},
      {"doctor",
       "probe hosts and network, name causes and remedies",
       {{"file",
         "scenario or host file (default: this machine alone); with --from, more of its files",
         false, true, InputNames::kScenarios}},
       {{"--hosts", "FILE", "the same as FILE", false, InputNames::kScenarios},
        {"--ports", "A-B", "ports the job needs (default: port_base and one per rank)"},
        {"--ranks", "N", "ranks the job will start"},
        {"--only", "PROBE",
         "only this probe, its verdict, and the causes of what it saw; may be repeated", true},
        kModel,
        kCommands,
        {"--stack", "NAME",
         "the job of this library instead: what it would take on each host, and whether that "
         "works"},
        {"--env", "K=V",
         "with --stack: a variable of all ranks, HOST:K=V of those on one host; may be repeated",
         true},
        {"--peer", "ADDRESS",
         "this machine and one other; ADDRESS:PORT of plumbline agent --listen"},
        {"--job", "WHAT",
         "look at a job that runs or hangs: its PID, :PORT, NAME@HOST, or the id of its launch"},
        {"--from", "FILE...",
         "diagnose files of collect.sh, or saved evidence, instead (64 MiB together)", true},
        {"--deep", nullptr,
         "also what takes longer: losses down to 0.05 %, longer streams, idle connections"},
        {"--idle", "SECONDS",
         "leave a connection idle for this long, then use it again (--deep: 60)"},
        {"--fix-plan", nullptr,
         "print the remedies as a script to run as sh plan.sh HOST; nothing is executed"},
        {"--save", "FILE", "keep the evidence, for --from"},
        {"--bundle", "FILE.tar.gz",
         "evidence and traces without names (of processes too) and addresses, to send on"},
        {"-v,--verbose", nullptr, "every check, one line each"},
        {"--traces", "DIR", "keep the packet traces of the connections that were tried"},
        kJson},
       true,
       false,
       run_doctor,
       "Exit code 2 when something fails (a finding, or a check that no finding explains), 0 when\n"
       "nothing does, 1 when the question makes no sense. A check that a warning or a note\n"
       "explains is shown as that.\n"
       "With --only the verdict, the exit code and the remedies are those of the named probes: a\n"
       "cause of another probe counts when it explains what a named one saw, and is else only "
       "named\n"
       "below the verdict. The script of --fix-plan goes to every host, runs the part of the host\n"
       "that its argument names, and without an argument shows the hosts and changes nothing. It\n"
       "shows each command before it executes it, and ends at the first one that fails.\n"
       "--job finds the ranks of a job by one of its processes (PID), a port (:29500), a "
       "program's\n"
       "name, or the id that plumbline launch printed, each with @HOST behind it where a host "
       "file\n"
       "has several; without a file it looks at this machine alone, and needs no root. It looks\n"
       "twice, two seconds apart, and touches nothing: no signal, no ptrace, no connection to a\n"
       "port on which the job listens."},
      {"explain",
       "what an error message of the network means, and how to find its cause",
       {{"message", "the message, as it was printed", true, true}},
       {kJson},
       false,
       false,
       run_explain},
      {"plan",
       "show what a scenario would measure, without running it",
       {{"scenario", "scenario file or name (plumbline list scenarios)", true, false,
         InputNames::kScenarios}},
       {kHosts, kOnly, kSkip, kSeed, kRounds, kRules, kBaseline, kEveryCell, kInProcess, kJson},
       true,
       false,
       run_plan},
      {"list",
       "show every table: commands, probes, transports, operations, algorithms, options ...",
       {{"table", "show only this table", false}},
       {kJson},
       false,
       false,
       run_list},
      {"report",
       "write a report from record files, or from the output of other tools",
       {{"name", "report name (plumbline list reports)"},
        {"file",
         "records.jsonl of a run, its folder, its id, last, or output of another tool (plumbline "
         "list importers); - is the standard input",
         true, true, InputNames::kRuns}},
       {{"-o,--out", "PATH",
         "file to write, default: standard output; of plots, links, soak and nccl-json a folder, "
         "default: named after the report"},
        {"--assume", "KEY=VALUE",
         "what another tool's file does not say: ranks=N, unit=MiB/s or Gb/s, op=NAME", true},
        kRules,
        kBaseline},
       false,
       false,
       run_report,
       "The rules of a run are kept beside its records and shown with them. Exit code 4 when a "
       "rule\n"
       "is broken."},
      {"compare",
       "did something get slower? launches of two sides, cell by cell",
       {{"records",
         "two record files, folders or ids of runs (last = the newest), first the old side; or one "
         "folder of run --interleave",
         true, true, InputNames::kRuns}},
       {{"--baseline", "PATH", "the old side; then only the new one is an argument", false,
         InputNames::kRuns},
        kMinEffect,
        kAlpha,
        kIgnore,
        {"--strict", nullptr, "exit code 6 where not every cell could be decided"},
        {"--plot", "FILE", "draw the changes with their intervals: FILE.svg and FILE.png"},
        {"--markdown", nullptr, "the same tables in Markdown"},
        kJson},
       false,
       false,
       run_compare,
       "Exit code 5 when something got slower, 3 when the new side has wrong data, 2 when a cell "
       "of it\nfailed, else 0. How it decides: docs/comparing.md."},
      {"submit",
       "make a run's records a bundle that can be published: no names, no addresses",
       {{"run", "folder of a run, its records.jsonl, its id, or last", true, false,
         InputNames::kRuns}},
       submit_flags(),
       false,
       false,
       run_submit,
       "Asks on a terminal for what no flag says, shows all that will be published, and writes "
       "one\n"
       "file named by its content. A text that holds this machine's name, your user name or your\n"
       "home folder is asked for again; where there is no terminal it is refused (--keep-names).\n"
       "Exit code 3 when the run holds wrong data, or verify would reject it."},
      {"verify",
       "recompute every value of bundles and check their hashes, links and signatures",
       {{"file", "bundle", true, true}},
       {kSignersFlag, kJson},
       false,
       false,
       run_verify,
       "Exit code 3 when a bundle is altered, wrong, noisy, oversubscribed or impossible; each "
       "problem\n"
       "names its field. Several bundles are compared with one another too."},
      {"results",
       "the runs of this machine, and RESULTS.md from the bundles of a folder",
       {{"verb", "update (the default), check, list, show ID or prune", false},
        {"id", "show: the run's id, its first letters, or last", false}},
       {{"--folder", "DIR", "update, check: the bundles (reports/community)"},
        {"--page", "FILE", "update, check: the page (RESULTS.md); its picture stands beside it"},
        kSignersFlag,
        {"--allow-new", nullptr, "check: bundles that the page does not list yet are accepted"},
        {"--keep", "N", "prune: all but the newest N runs"},
        {"--older-than", "AGE", "prune: runs older than this (30d, 12h)"},
        {"--dry-run", nullptr, "prune: only say what would go"},
        {"-v,--verbose", nullptr, "list: also runs whose folder is gone"},
        kJson},
       false,
       false,
       run_results,
       "update writes the page and its picture (RESULTS.svg), the same bytes for the same "
       "bundles;\n"
       "check compares and changes nothing. Exit code 3 when page or picture are others, or a\n"
       "bundle does not verify.\n"
       "check --allow-new is for pull requests, which bring bundles and leave the page alone: "
       "what\n"
       "the page lists must be in the folder and give exactly this page.\n"
       "list, show: every run leaves one small file in $XDG_STATE_HOME/plumbline/runs (default\n"
       "~/.local/state/plumbline/runs) that says where its results are; run --no-history leaves\n"
       "none. prune removes such files, and of a folder that a run made exactly what plumbline\n"
       "wrote there; a folder with anything else in it stays as it is."},
      {"trace",
       "analyse packet captures: handshakes, losses, resets, closed windows, where packets vanish",
       {{"file", "capture (pcap or pcapng); two of the same connections are compared", true, true}},
       {{"--plot", "OUT.svg", "draw one flow as a time-sequence plot (.svg or .png)"},
        {"--flow", "N", "the flow to draw, as numbered in the text (default: the busiest)"},
        {"--compare", nullptr, "fail if two files cannot be compared"},
        {"--first-at", "ADDRESS", "the first file was captured on this host", true},
        kJson},
       false,
       false,
       run_trace,
       "Exit code 0 when the files could be read, whatever they show. Of two files of the same\n"
       "time it also says, for each direction of the flows between the two hosts that captured,\n"
       "whether packets vanish before the sender's wire, between the hosts, or behind the\n"
       "receiver's wire. Flows with other hosts are only counted there. Packets that are in both\n"
       "files tie their clocks together, which may differ; only the time that both cover is\n"
       "compared, and what is left out at either end is told. Files that cannot be compared (no\n"
       "packet in common, one capture given twice, an empty file) are reported; with\n"
       "--compare this is an error, exit code 1."},
      {"watch",
       "a live view of hosts and links: rates, losses, signals, neighbours; reads only",
       {{"file", "host file or scenario (default: this machine alone)", false, false,
         InputNames::kScenarios}},
       {{"--hosts", "FILE", "the same as FILE", false, InputNames::kScenarios},
        {"--count", "N", "end after N looks, one a second"},
        {"--for", "TIME", "end after this long (30s, 5m)"},
        {"--json", nullptr,
         "one JSON object a line, one per look and host; also where standard output is no "
         "terminal"}},
       true,
       false,
       run_watch,
       "Keys: q quit, p pause the picture, s sort by the next column, r reverse, arrows scroll.\n"
       "Exit code 0, 2 when a host was lost at the end or could never be asked, 130 after Ctrl-C.\n"
       "What the columns and the lines of --json mean: docs/watch.md."},
      {"coll",
       "one operation over a sweep of sizes, in nccl-tests' letters and table",
       {{"operation", "operation (plumbline list operations)"}},
       {{"-b,--minbytes", "SIZE", "smallest size (32M)"},
        {"-e,--maxbytes", "SIZE", "largest size (32M)"},
        {"-i,--stepbytes", "SIZE", "add this much from size to size"},
        {"-f,--stepfactor", "N", "multiply by this from size to size (1 = off)"},
        {"-n,--iters", "N",
         "timed operations per size (20; in the table and in --json up to 1000 where these take no "
         "longer than 0.5 s, for a p99)"},
        {"-w,--warmup_iters", "N", "operations before timing (1)"},
        {"-m,--agg_iters", "N", "operations per timed iteration (1); not with --verify every"},
        {"-N,--run_cycles", "N", "repeat the whole sweep (1)"},
        {"-a,--average", "0-3", "time column: 0 rank 0, 1 average, 2 fastest, 3 slowest rank (1)"},
        {"-c,--check", "0/1", "verify every element (1)"},
        {"-o,--op", "REDOP", "sum, prod, min, max, avg or all (sum)"},
        {"-d,--datatype", "TYPE",
         "float, double, half, bfloat16, int32, int64, uint8, bool or all (float)"},
        {"-r,--root", "RANK", "root rank, or all (0)"},
        {"--arrays", "N,...",
         "allreduce lists of so many arrays, each list as one operation; sizes are those of all "
         "its arrays together; one number or several (1)"},
        {"--split", "WAY",
         "groups of the ranks that run at the same time, by colour: none, mod:N (rank % N) or "
         "div:N (rank / N); sizes and roots are those of one group (none)"},
        {"-z,--blocking", "0-3", "accepted: every operation here is blocking"},
        {"-T,--timeout", "SECONDS", "end an operation that takes longer (30; 0 = 30)"},
        {"-J,--output_file", "FILE", "append the records to this file"},
        {"-g,--ngpus", "N", "only 1: ranks are processes, see --ranks"},
        {"-t,--nthreads", "N", "only 1: ranks are processes, see --ranks"},
        {"-p,--parallel_init", "0/1", "accepted: ranks always start in parallel"},
        {"-G,--cudagraph", "0", "only 0: there are no CUDA graphs here"},
        {"-y,--stream_null", "0", "only 0: there are no CUDA streams here"},
        {"-R,--local_register", "0", "only 0: no memory is registered with NCCL here"},
        {"-x,--cta_policy", "0", "only 0: there are no thread blocks of a GPU here"},
        {"-D,--device_implementation", "0", "only 0: nothing runs on a GPU here"},
        {"-V,--device_cta_count", "N", "accepted: belongs to -D, which is off"},
        {"-u,--unalign", "0", "only 0: buffers are always aligned"},
        {"-M,--memory", "0", "only 0: there is no GPU memory to report"},
        {"-C,--report_cputime", "0", "only 0: records (-J) hold the CPU time"},
        {"-S,--report_timestamps", "0", "only 0: records (-J) hold the time of each row"},
        {"-I,--per_iter_timing", "0", "only 0: records (-J) hold the samples"},
        {"-K,--per_iter_skip", "N", "accepted: belongs to -I, which is off"},
        {"--format", "nccl/table",
         "nccl: nccl-tests' columns and no others, for programs; table: for people, as wide as the "
         "terminal, with the median and its interval (table on a terminal, else nccl)"},
        {"--ranks", "N",
         "world size (2; with --hosts: one on each host; under a launcher: all that it started)"},
        {"--cache", "hot/cold",
         "hot: the same buffers every time; cold: up to 64 take turns over 64 MiB (hot)"},
        {"--sync", "none/barrier/window",
         "before each operation: nothing, a barrier, or a common moment of synchronised clocks "
         "(none)"},
        {"--engine", "NAME",
         "whose implementation runs: native, gloo, openmpi, mpich (plumbline list engines)"},
        {"--hosts", "FILE", "scenario or host file (default: this machine)", false,
         InputNames::kScenarios},
        kExclude,
        kInProcess,
        kMaster,
        kLauncher,
        kJson},
       true,
       false,
       run_coll,
       "Sizes take K, M, G = 2^10, 2^20, 2^30 as in nccl-tests. Under mpirun, srun or torchrun "
       "every\n"
       "rank runs this command: rank 0 coordinates and prints, the others serve it\n"
       "(docs/launchers.md)."},
      {"tune",
       "find the best algorithm of each operation and size here, for the algorithm auto",
       {{"file", "scenario or host file (default: this machine)", false, false,
         InputNames::kScenarios}},
       {{"--hosts", "FILE", "the same as FILE", false, InputNames::kScenarios},
        {"--ranks", "N", "world size (2; with a file: one on each host)"},
        {"--op", "NAME", "only this operation; may be repeated", true},
        {"-b,--minbytes", "SIZE", "smallest size (8)"},
        {"-e,--maxbytes", "SIZE", "largest size (8M)"},
        {"--max-time", "TIME", "measure no longer than this, beside the start of the ranks (60s)"},
        {"-o,--out", "FILE", "file to write (default: where auto looks for it)"},
        kSeed,
        kExclude,
        kInProcess,
        kLauncher,
        {"-q,--quiet", nullptr, "do not say what is being measured"},
        kJson},
       true,
       false,
       run_tune,
       "Fits a model of the links, predicts every algorithm, measures those that it cannot tell\n"
       "apart, and shows gain and error on sizes that decided nothing (docs/tuning.md). Where "
       "links\n"
       "differ, rings in the order that they suggest are among them. The file is of these ranks "
       "on\n"
       "these hosts over this transport, and is used nowhere else."},
      {"hosts",
       "find out, read, check, convert and write host files of plumbline, MLX, JACCL and MPI",
       {{"action", "discover, show, check, convert or write"},
        {"file",
         "host file (plumbline list host-files) or scenario; discover: hosts, as behind ssh", false,
         true, InputNames::kScenarios}},
       {{"--backend", "NAME",
         "check, write: for ring, jaccl, jaccl-ring, nccl or mpi (check: the file's own; discover: "
         "the one that fits); write: also ssh"},
        {"--to", "FORMAT",
         "convert, discover: ours, mlx, mlx-array, ring, jaccl-matrix or mpi (discover: ours)"},
        {"--port", "N", "convert, write: the first port (32323; nccl 12345)"},
        {"--dir", "DIR", "write: folder for the files"},
        {"--out", "FILE", "discover: the host file to write; without it, it is printed"},
        {"--force", nullptr, "discover: write over a file; leave out cables that contradict"},
        {"--from", "FILE", "discover: ask nobody, read files of collect.sh", true},
        {"--since", "FILE", "discover: what has changed since this host file (asks its hosts)"},
        {"--dot", "FILE", "discover: a picture of the cables for Graphviz"},
        {"--svg", "FILE", "discover: the same, drawn"},
        kJson},
       true,
       false,
       run_hosts,
       "discover asks hosts which cable leads where, and makes a host file of it (docs/macos.md);\n"
       "it changes nothing on them. show prints who is who and who is supposed to talk to whom.\n"
       "check names all that is wrong (exit code 1). convert prints the file in another form, and "
       "on standard error what that\n"
       "form cannot say. write makes what the backend's processes read, and rankN.env with the\n"
       "variables of rank N: set -a; . DIR/rank0.env. write --backend ssh prints blocks for\n"
       "~/.ssh/config, and the commands that make a key and bring it to the hosts"},
      {"launch",
       "run any program on all hosts, a process per rank; one that fails ends all",
       {{"words", "the program and its arguments, after --", false, true}},
       {{"--hosts", "FILE", "the hosts, and how many ranks each has"},
        {"--as", "STYLE", "variables of plumbline, torchrun or mlx (plumbline)"},
        {"--backend", "NAME", "with --as mlx: ring, jaccl, jaccl-ring, nccl (the file's own)"},
        {"--env", "NAME=VALUE", "for every rank; NAME alone: as it is here", true},
        {"--stdin", "RANK",
         "whose program reads the standard input of launch: a rank, all or none (0)"},
        {"--cwd", "DIR", "start there where it exists (default: this folder's path)"},
        {"--on-silence", "TIME",
         "when no rank has written for so long: say once who waits for whom, and go on"},
        {"-q,--quiet", nullptr, "do not print the run's id"}},
       true,
       false,
       run_launch,
       "plumbline launch --hosts hosts.json --env DEBUG=1 -- python3 train.py --steps 10\n"
       "Each line of output is preceded by its rank: [3] ... The exit code is that of the first "
       "rank\n"
       "that failed. Nothing outlives plumbline; plumbline stop ends what a lost machine kept."},
      {"stop",
       "end a run, or what it left running, by its id, here or on the hosts of a file",
       {{"run", "the run's id, as launch prints it and records hold it", false}},
       {{"--hosts", "FILE", "on these hosts (default: this machine)"},
        {"--list", nullptr, "only show what runs"}},
       true,
       false,
       run_stop},
      {"lab",
       "virtual clusters on this machine (Linux, root), and faults on purpose",
       {{"action",
         "up FILE, list, exec HOST -- CMD, faults, inject FAULT, heal [FAULT], down, matrix"},
        {"words", "depend on the action", false, true}},
       {{"--lab", "NAME", "which lab, if several are up"},
        {"--seed", "N", "seed of everything that is drawn (default: a new one, printed)"},
        {"--host", "HOST", "inject: the host to break (default: drawn)"},
        {"--peer", "HOST", "inject: the other end (default: drawn)"},
        {"--port", "N", "inject: the port of the job, where one is meant (default: drawn)"},
        {"--all", nullptr, "down: all labs"},
        {"--seeds", "K", "matrix: repeat it with this many seeds (1)"},
        {"--jobs", "N", "matrix: cells at the same time, 1 to 64 (1)"},
        {"--only", "NAME", "matrix: this fault, pair or network, or: single, pairs, zoo", true},
        {"--reduced", nullptr, "matrix: two dozen cells of all families"},
        {"--unprivileged", nullptr, "matrix: agents run as nobody"},
        {"--program", "FILE", "matrix: the plumbline that is tried (default: this one)"},
        {"--keep", "DIR", "matrix: keep doctor's answers"},
        {"--docs", "FILE", "matrix: write the tables into this page"},
        {"-v,--verbose", nullptr, "matrix: details of every cell"},
        kJson},
       false,
       false,
       run_lab,
       "lab up prints the path of the host file that it wrote: plumbline doctor --hosts FILE.\n"
       "Every host is a network namespace; `down` removes everything, also after a crash.",
       "exec HOST -- CMD"},
      {"config",
       "show every option with its value and where it came from",
       {{"scenario", "scenario file or name whose config to apply", false, false,
         InputNames::kScenarios}},
       {kJson},
       true,
       false,
       run_config,
       "Your own options stand in $XDG_CONFIG_HOME/plumbline/config.json (default\n"
       "~/.config/plumbline/config.json): {\"chunk_bytes\": \"1Mi\"}. Flags, scenarios and "
       "variables "
       "beat\n"
       "it, it beats link profiles and defaults. It permits nothing: --allow-commands is a flag "
       "only."},
      {"selftest",
       "check the measuring itself: statistics, verification, kernels, schedules",
       {},
       {},
       false,
       false,
       run_selftest},
      {"completion",
       "print a completion script: eval \"$(plumbline completion bash)\"",
       {{"shell", "bash, zsh or fish"}},
       {},
       false,
       false,
       run_completion},
      {"help",
       "show what a command takes, the same as --help",
       {{"command", "one command (default: all)", false}},
       {},
       false,
       false,
       run_help},
      {"man",
       "print the manual page, as roff (for the installation): plumbline man | man -l -",
       {},
       {},
       false,
       true,
       run_man},
      {"version",
       "show versions of the program and its libraries",
       {},
       {kJson},
       false,
       false,
       run_version},
      {"agent",
       "answers for one host (started by doctor and run), or by hand: agent --listen",
       {},
       {{"--listen", nullptr, "wait for one coordinator, print the line to paste on its machine"},
        {"--port", "P", "listen on this port; 0 = any (29499)"},
        {"--address", "A", "listen on this address only (default: all of this machine)", true},
        {"--minutes", "M", "how long to wait for the coordinator (10)"},
        {"--lease", "S", "end when nothing is heard for this many seconds (0 = never)"}},
       false,
       false,
       run_agent,
       "Without --listen it speaks JSON lines on standard input and output and ends with them.\n"
       "With --listen it makes a secret token, which both ends prove to know before anything\n"
       "else; the printed line hands it over in a pipe, where no command line shows it. To use a\n"
       "token of your own, set PLUMBLINE_TOKEN_FILE to a file with it (mode 600) on both. Only "
       "one\n"
       "coordinator is served; the agent ends with it, or when none came in time. It can do what "
       "the\n"
       "user who started it can do. What follows the proof is not encrypted: use it on a network\n"
       "that you trust."},
      {"guard",
       "runs one program for a launch (started by launch), or ends a stopped rank (started by "
       "rank)",
       {},
       {{"--lease", "S", "end when nothing is heard for this many seconds (0 = never)"},
        {"--over", "PID", "end this process, our parent, when it outlives its input"}},
       false,
       true,
       run_guard},
      {"rdma-climb",
       "tries what a program needs of an RDMA device (started by agent)",
       {},
       {{"--device", "NAME", "of the verbs library's list"},
        {"--port", "N", "of the device (1)"},
        {"--library", "FILE", "of verbs (default: the system's)"},
        {"--counts", nullptr, "how many queue pairs and regions there can be, too"}},
       false,
       true,
       run_rdma_climb},
      {"rdma-meet",
       "tries RDMA with another host (started by agent)",
       {},
       {{"--device", "NAME", "of the verbs library's list"},
        {"--role", "ROLE", "listens or calls"},
        {"--own", "IP", "address of this end"},
        {"--peer", "IP", "address of the other end"},
        {"--interface", "NAME", "of the own address"},
        {"--tcp-port", "N", "on which one of them listens"},
        {"--library", "FILE", "of verbs (default: the system's)"}},
       false,
       true,
       run_rdma_meet},
      {"rank",
       "one rank process (started by run and coll)",
       {},
       {{"--lease", "S", "end when nothing is heard for this many seconds (0 = never)"},
        {"--threads", "N", "be N ranks, each a thread, instead of one"}},
       false,
       true,
       run_rank},
  };
  for (CommandRow& row : rows) row.examples = examples_of(row.name);
  return rows;
}

}  // namespace plumbline
