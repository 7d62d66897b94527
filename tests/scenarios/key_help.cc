// What the pages say of each key of a scenario, one row for each row of the key table but those
// that the table of kinds explains.
#include <fmt/format.h>

#include "core/record/cell.h"
#include "scenarios/key_table.h"
#include "tests/scenarios/schema.h"

namespace plumbline::scenario_docs {
namespace {

constexpr KeyHelpRow kHelp[] = {
    {"plumbline", "Version of this format: always `1`."},
    {"question",
     "The one sentence that this scenario answers. It stands in every record and report."},
    {"include",
     "One file or a list of files to start from, relative to this file. Keys of this file "
     "replace keys of the included ones, later files replace earlier ones; `config` and `launch` "
     "are joined key by key."},

    {"hosts",
     "Where ranks may run: `{\"local\": N}` for N places on this machine, `{\"hostfile\": "
     "FILE}`, or a list of hosts."},
    {"hosts.local", "Places on this machine, named local0, local1 ... with the address 127.0.0.1."},
    {"hosts.hostfile",
     "A host file, relative to this file: plumbline's own, MLX's, a ring file or MPI's "
     "([host_files.md](host_files.md))."},
    {"hosts[].name", "Name of the host in messages and records; each name once."},
    {"hosts[].local",
     "`true`: this machine. Exactly one of `local`, `netns` and `ssh` says how to reach a host."},
    {"hosts[].netns", "A network namespace of this machine, by name."},
    {"hosts[].ssh",
     "Another machine, as one writes it behind `ssh`: `\"user@mini1.local\"`. The system's ssh "
     "with its own configuration is used, and never asks for a password."},
    {"hosts[].port", "Port of sshd there."},
    {"hosts[].key", "Private key file for ssh; `~/` is this user's home."},
    {"hosts[].user",
     "With `ssh`: the user there, before the one of `user@host`. In a namespace: user that "
     "agents and ranks run as (plumbline then runs as root), to see what works without "
     "privileges."},
    {"hosts[].binary",
     "Path of plumbline on that host. `plumbline plan` lists it, because it is started there."},
    {"hosts[].data", "Addresses under test, best with their prefix length: `\"10.10.0.1/24\"`."},
    {"hosts[].interface", "Use only the data addresses of this network interface."},
    {"hosts[].speed",
     "Speed of the link where the system cannot know it: `\"40Gbit\"`, `\"2.5Gbit\"`, "
     "`\"100Mbit\"`."},
    {"hosts[].group",
     "Groups this host belongs to. Two hosts that both name groups but share none are not "
     "supposed to talk (leaves of a star): their pair is skipped with that reason."},
    {"hosts[].rdma",
     "This host's row of the device matrix, one cell per host of the list: the RDMA device of "
     "this host that faces that one, a list where several cables do, `null` for itself (or `[]`) "
     "and where there is no link. Two hosts without a link are not supposed to talk."},
    {"hosts[].ranks",
     "Ranks that have a place on this host; `\"cores\"` is as many as it has cores, hyperthreads "
     "not counted."},

    {"launch", "How ranks are started."},
    {"launch.ranks_per_host", "Ranks that have a place on each host."},
    {"launch.port_base",
     "Rank r listens on `port_base` + r; `\"auto\"` finds a window of free ports. Short for the "
     "option of that name."},
    {"launch.master_port",
     "Where rank 0 listens for the rendezvous; outside the window of `port_base`. Short for the "
     "option of that name."},

    {"config",
     "Options of the data path by name; `plumbline config` lists them with their defaults."},
    {"config.*",
     "Value of one option. A flag of the command line overrides it, and it overrides the "
     "environment. Options that decide what is started on other hosts (`ssh_config`, "
     "`static_dir`, `push`) are refused here."},

    {"probes",
     "Questions to the hosts before anything is measured: names, or objects where a probe takes "
     "parameters. `plumbline list probes` shows them."},
    {"probes[].probe", "Name of the probe."},
    {"probes[].*",
     "A parameter of that probe; a list gives several values. `run` of the probe `command` is "
     "the command, a list of words or one text that is split at blanks: [Commands](#commands)."},

    {"matrix", "Blocks of measurements. Each block is expanded to every combination of its lists."},
    {"matrix[].op", "Operations to measure."},
    {"matrix[].bytes",
     "Sizes S: the whole array, for allgather, reduce_scatter, alltoall, gather and scatter over "
     "all ranks. Rounded down to whole elements per rank. One size, a list, or a range. Required "
     "unless every `op` of the block is barrier; in a `link` block the size of a round trip's "
     "message (64)."},
    {"matrix[].bytes.from", "First size of a range."},
    {"matrix[].bytes.to",
     "No size of the range is larger; it is itself measured when a step meets it."},
    {"matrix[].bytes.factor", "Each size is the one before times this."},
    {"matrix[].bytes.step", "Each size is the one before plus this; instead of `factor`."},
    {"matrix[].dtype", "Element types."},
    {"matrix[].redop", "Reduction operators; ignored by operations that do not reduce."},
    {"matrix[].algorithm",
     "Algorithms by name; `\"auto\"` = by operation, size and ranks; `\"all\"` = every algorithm "
     "of the operation, skipping those that cannot do a cell."},
    {"matrix[].transport", "What carries the data."},
    {"matrix[].engine",
     "Whose implementation of the operations runs; `plumbline list engines` shows them."},
    {"matrix[].ranks",
     "Number of ranks: one, a list, or a range. The first n ranks take part, placed host after "
     "host. More ranks than places is an error, except on this machine, where the rows are "
     "marked oversubscribed when there are more ranks than cores."},
    {"matrix[].oversubscribe",
     "`false`: where every host is this machine, cells with more ranks than it has usable cores "
     "are left out, but for those of two ranks, and the run says how many these are."},
    {"matrix[].ranks.from", "Fewest ranks of a range."},
    {"matrix[].ranks.to", "Most ranks of a range; every number between is measured."},
    {"matrix[].hosts",
     "Which hosts take part: `\"all\"`; a number n, the first n of the list; a range; "
     "`\"pairs\"`, every two; `\"groups\"`, the largest sets of hosts that all may talk to one "
     "another; in a list also lists of names. Where `ranks` is absent, all places of these hosts."},
    {"matrix[].hosts.from", "Fewest hosts of a range."},
    {"matrix[].hosts.to", "Most hosts of a range; every number between is measured."},
    {"matrix[].distribution",
     "How ranks are dealt to the hosts: `block` fills one host after the other, `cyclic` takes "
     "the hosts in turn. Where it is absent under a launcher: as that placed them."},
    {"matrix[].root",
     "Root ranks of broadcast, reduce, gather and scatter; `\"all\"` = each rank in turn."},
    {"matrix[].placement",
     "Whether input and output are apart (`out`) or the same memory (`in`); operations that have "
     "no in-place form are measured once, out of place."},
    {"matrix[].sync",
     "How ranks start an operation together. `none` lets operations follow one another at once; "
     "`window` starts them at a common moment of synchronised clocks and times until the last "
     "rank has finished."},
    {"matrix[].outstanding", "Operations in flight at once; `throughput` blocks only."},
    {"matrix[].repeat", "Measure each cell so many times, at different moments of the run."},
    {"matrix[].stop", "When a cell of a `latency` or `bandwidth` block has enough samples."},
    {"matrix[].stop.ci",
     "Stop when the 95 % confidence interval of the median is narrower than this fraction of the "
     "median; 0 = never for this reason."},
    {"matrix[].stop.min_n", "Fewest samples."},
    {"matrix[].stop.max_n", "Most samples."},
    {"matrix[].stop.max_time",
     "Longest time for the samples of one cell; `min_n` does not prolong it."},
    {"matrix[].time",
     "How long a cell of a `throughput` block lasts; in a `link` block each pair, direction and "
     "measure."},
    {"matrix[].measure",
     "`link` blocks: `latency` (round trips), `stream` (one way), `duplex` (both ways at once), "
     "`parallel` (several streams), `loaded_rtt` (round trips beside a stream), `incast` (all "
     "others to one), `udp` (loss, jitter, reordering), `all_pairs` (everybody at once)."},
    {"matrix[].streams", "`link` blocks: numbers of parallel streams of the measure `parallel`."},
    {"matrix[].rate", "`link` blocks: payload rates of the measure `udp`, such as `\"100Mbit\"`."},
    {"matrix[].datagram", "`link` blocks: payload bytes of a datagram of the measure `udp`."},
    {"matrix[].config",
     "Options that hold for the cells of this block only; they are part of the cells' identity."},
    {"matrix[].config.*", "Value of one option."},

    {"trace",
     "Packet traces: both ends of every connection are captured while the probes try it, and "
     "every host during each cell of the matrix, headers only, bounded in size and time."},
    {"trace.keep",
     "Which traces stay, as nanosecond pcap files in the folder `traces` of the results."},

    {"report", "Reports to write when the run has ended; `plumbline list reports` shows them."},
    {"checklist", "What the reports answer item by item, from what was probed and measured."},
    {"checklist[].item", "The item in words: \"ping works between all hosts\"."},
    {"checklist[].probes", "Probes that decide it; they must stand in `probes`."},
    {"checklist[].cells",
     "Cells that decide it, as terms of `--only` which must all hold: `[\"kind=check\", "
     "\"op=allreduce\"]`."},
    {"expect",
     "Rules: what the results must reach, else the exit code is 4 ([rules.md](rules.md))."},
    {"expect[].where",
     "Which cells the rule is about; all terms must hold. Without it: all that are measured."},
    {"expect[].where.config", "Options that a block sets for its cells."},
    {"expect[].where.config.*", "Value of one option, or several."},
    {"expect[].where.*",
     "A field of a cell, as for `--only`: `\"allreduce\"`, `\"!=barrier\"`, `\">=16Mi\"`, "
     "`\"64Ki..1Mi\"`, or a list of values."},
    {"expect[].*",
     "A metric and its bound: `\"p50\": \"<=10us\"`, `\"busbw_of_roof\": \">=0.7\"`, `\"wrong\": "
     "0`. `plumbline list metrics` shows them; at least one."},
    {"expect[].name", "What the rule is called in reports."},
    {"expect[].message", "What to say when it is broken, before what was measured."},
    {"expect[].baseline",
     "`records.jsonl` of another run, or its folder, for metrics that end in `_of_baseline`; "
     "relative to this file."},
    {"expect[].optional", "`true`: cells that were skipped or not measured do not break the rule."},
    {"expect[].from",
     "File and place where the rule was written first. A run writes it into the rules that it "
     "keeps, so that reports name a rule alike wherever the run lies."},
    {"seed", "Seed of the order of the cells. It does not change what is measured."},
    {"roofs",
     "Also measure, on the same path, a bare socket and a memory copy, so that tables can say "
     "what share of the possible was attained."},
};

}  // namespace

std::span<const KeyHelpRow> key_help_table() { return kHelp; }

std::string help_of(const KeyRow& row) {
  for (const KeyHelpRow& known : kHelp) {
    if (std::string_view(known.path) == row.path) return known.help;
  }
  std::string help;
  if (row.words == nullptr || std::string_view(row.words) != "@kind") return help;
  for (const CellKindRow& kind : cell_kind_table()) {
    if (kind.asked_for)
      help += fmt::format("{}`{}`: {}.", help.empty() ? "" : " ", kind.name, kind.help);
  }
  return help;
}

}  // namespace plumbline::scenario_docs
