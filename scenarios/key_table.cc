#include "scenarios/key_table.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/codec.h"
#include "core/op.h"
#include "core/record/cell.h"
#include "core/record/link.h"
#include "core/split.h"
#include "scenarios/block_kinds.h"
#include "scenarios/json_text.h"

namespace plumbline {
namespace {

constexpr bool kRequired = true, kOptional = false;
constexpr double kNoMin = 0, kNoMax = 0;
constexpr double kMaxRanks = 1024;
constexpr double kMaxBytes = 1024.0 * 1024 * 1024 * 1024;  // 1 TiB
constexpr double kMaxExact = 9007199254740991.0;  // 2^53 - 1: the same number in every JSON reader

// path, single, list, required, words, default, min, max, help
constexpr KeyRow kTable[] = {
    {"plumbline", kInt, 0, kRequired, nullptr, "", 1, 1, "Version of this format: always `1`."},
    {"question", kText, 0, kOptional, nullptr, "\"\"", kNoMin, kNoMax,
     "The one sentence that this scenario answers. It stands in every record and report."},
    {"include", kText, kText, kOptional, nullptr, "none", kNoMin, kNoMax,
     "One file or a list of files to start from, relative to this file. Keys of this file replace "
     "keys of the included ones, later files replace earlier ones; `config` and `launch` are "
     "joined key by key."},

    {"hosts", kObject, kObject, kOptional, nullptr, "{\"local\": 2}", kNoMin, kNoMax,
     "Where ranks may run: `{\"local\": N}` for N places on this machine, `{\"hostfile\": FILE}`, "
     "or a list of hosts."},
    {"hosts.local", kInt, 0, kOptional, nullptr, "none", 1, kMaxRanks,
     "Places on this machine, named local0, local1 ... with the address 127.0.0.1."},
    {"hosts.hostfile", kText, 0, kOptional, nullptr, "none", kNoMin, kNoMax,
     "A host file, relative to this file: plumbline's own, MLX's, a ring file or MPI's "
     "([host_files.md](host_files.md))."},
    {"hosts[].name", kText, 0, kRequired, nullptr, "", kNoMin, kNoMax,
     "Name of the host in messages and records; each name once."},
    {"hosts[].local", kBool, 0, kOptional, nullptr, "false", kNoMin, kNoMax,
     "`true`: this machine. Exactly one of `local`, `netns` and `ssh` says how to reach a host."},
    {"hosts[].netns", kText, 0, kOptional, nullptr, "none", kNoMin, kNoMax,
     "A network namespace of this machine, by name."},
    {"hosts[].ssh", kText, 0, kOptional, nullptr, "none", kNoMin, kNoMax,
     "Another machine, as one writes it behind `ssh`: `\"user@mini1.local\"`. The system's ssh "
     "with its own configuration is used, and never asks for a password."},
    {"hosts[].port", kInt, 0, kOptional, nullptr, "as ssh's configuration says", 1, 65535,
     "Port of sshd there."},
    {"hosts[].key", kText, 0, kOptional, nullptr, "as ssh's configuration says", kNoMin, kNoMax,
     "Private key file for ssh; `~/` is this user's home."},
    {"hosts[].user", kText, 0, kOptional, nullptr, "as plumbline itself", kNoMin, kNoMax,
     "With `ssh`: the user there, before the one of `user@host`. In a namespace: user that agents "
     "and ranks run as (plumbline then runs as root), to see what works without privileges."},
    {"hosts[].binary", kText, 0, kOptional, nullptr, "this program", kNoMin, kNoMax,
     "Path of plumbline on that host. `plumbline plan` lists it, because it is started there."},
    {"hosts[].data", kText, kText, kOptional, nullptr, "all addresses of the host", kNoMin, kNoMax,
     "Addresses under test, best with their prefix length: `\"10.10.0.1/24\"`."},
    {"hosts[].interface", kText, 0, kOptional, nullptr, "any", kNoMin, kNoMax,
     "Use only the data addresses of this network interface."},
    {"hosts[].speed", kText, 0, kOptional, nullptr, "as the system says", kNoMin, kNoMax,
     "Speed of the link where the system cannot know it: `\"40Gbit\"`, `\"2.5Gbit\"`, "
     "`\"100Mbit\"`."},
    {"hosts[].group", kText, kText, kOptional, nullptr, "talks to all", kNoMin, kNoMax,
     "Groups this host belongs to. Two hosts that both name groups but share none are not supposed "
     "to talk (leaves of a star): their pair is skipped with that reason."},
    {"hosts[].rdma", 0, kText | kNull | kTexts, kOptional, nullptr, "none", kNoMin, kNoMax,
     "This host's row of the device matrix, one cell per host of the list: the RDMA device of "
     "this host that faces that one, a list where several cables do, `null` for itself (or `[]`) "
     "and where there is no link. Two hosts without a link are not supposed to talk."},
    {"hosts[].ranks", kInt | kText, 0, kOptional, kRanksOfCores, "launch.ranks_per_host", 1,
     kMaxRanks,
     "Ranks that have a place on this host; `\"cores\"` is as many as it has cores, hyperthreads "
     "not counted."},

    {"launch", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax, "How ranks are started."},
    {"launch.ranks_per_host", kInt, 0, kOptional, nullptr, "1", 1, kMaxRanks,
     "Ranks that have a place on each host."},
    {"launch.port_base", kInt | kText, 0, kOptional, "auto", "29600", 1, 65535,
     "Rank r listens on `port_base` + r; `\"auto\"` finds a window of free ports. Short for the "
     "option of that name."},
    {"launch.master_port", kInt, 0, kOptional, nullptr, "29500", 1, 65535,
     "Where rank 0 listens for the rendezvous; outside the window of `port_base`. Short for the "
     "option of that name."},

    {"config", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "Options of the data path by name; `plumbline config` lists them with their defaults."},
    {"config.*", kScalar, 0, kOptional, nullptr, "", kNoMin, kNoMax,
     "Value of one option. A flag of the command line overrides it, and it overrides the "
     "environment. Options that decide what is started on other hosts (`ssh_config`, `static_dir`, "
     "`push`) are refused here."},

    {"probes", 0, kText | kObject, kOptional, "@probe", "[]", kNoMin, kNoMax,
     "Questions to the hosts before anything is measured: names, or objects where a probe takes "
     "parameters. `plumbline list probes` shows them."},
    {"probes[].probe", kText, 0, kRequired, "@probe", "", kNoMin, kNoMax, "Name of the probe."},
    {"probes[].*", kScalar, kScalar, kOptional, nullptr, "", kNoMin, kNoMax,
     "A parameter of that probe; a list gives several values. `run` of the probe `command` is the "
     "command, a list of words or one text that is split at blanks: [Commands](#commands)."},

    {"matrix", 0, kObject, kOptional, nullptr, "[]", kNoMin, kNoMax,
     "Blocks of measurements. Each block is expanded to every combination of its lists."},
    {"matrix[].kind", kText, 0, kOptional, "@kind", "\"latency\"", kNoMin, kNoMax, ""},
    {"matrix[].op", kText, kText, kRequired, "@op", "", kNoMin, kNoMax, "Operations to measure."},
    {"matrix[].bytes", kSize | kObject, kSize, kOptional, nullptr, "none", 0, kMaxBytes,
     "Sizes S: the whole array, for allgather, reduce_scatter, alltoall, gather and scatter over "
     "all ranks. Rounded down to whole elements per rank. One size, a list, or a range. Required "
     "unless every `op` of the block is barrier; in a `link` block the size of a round trip's "
     "message (64)."},
    {"matrix[].bytes.from", kSize, 0, kRequired, nullptr, "", 0, kMaxBytes,
     "First size of a range."},
    {"matrix[].bytes.to", kSize, 0, kRequired, nullptr, "", 0, kMaxBytes,
     "No size of the range is larger; it is itself measured when a step meets it."},
    {"matrix[].bytes.factor", kReal, 0, kOptional, nullptr, "2", 1.01, 1e6,
     "Each size is the one before times this."},
    {"matrix[].bytes.step", kSize, 0, kOptional, nullptr, "none", 1, kMaxBytes,
     "Each size is the one before plus this; instead of `factor`."},
    {"matrix[].dtype", kText, kText, kOptional, "@dtype", "\"f32\"", kNoMin, kNoMax,
     "Element types. `bool` is one byte, 0 = false and anything else = true."},
    {"matrix[].redop", kText, kText, kOptional, "@redop", "\"sum\"", kNoMin, kNoMax,
     "Reduction operators; ignored by operations that do not reduce. Of `bool`, `sum` and `max` "
     "are logical or, `product` and `min` logical and; `avg` means nothing: alone it is refused, "
     "in a list those cells are skipped."},
    {"matrix[].algorithm", kText, kText, kOptional, "@algorithm", "\"auto\"", kNoMin, kNoMax,
     "Algorithms by name, with a parameter behind a colon where one takes it (`\"exchange:4x2\"`); "
     "`\"auto\"` = by operation, size and ranks; `\"all\"` = every algorithm of the operation, "
     "skipping those that cannot do a cell."},
    {"matrix[].transport", kText, kText, kOptional, "@transport", "\"auto\"", kNoMin, kNoMax,
     "What carries the data."},
    {"matrix[].engine", kText, kText, kOptional, "@engine", "\"native\"", kNoMin, kNoMax,
     "Whose implementation of the operations runs; `plumbline list engines` shows them."},
    {"matrix[].compression", kText, kText, kOptional, "@codec", "\"none\"", kNoMin, kNoMax,
     "What the data is compressed with: `none`, `fp16`, `bf16` (allreduce of f32, sum or avg), or "
     "`topk` with the share of the elements that is sent behind a colon (`\"topk:0.01\"`)."},
    {"matrix[].ranks", kInt | kObject, kInt, kOptional, nullptr, "all places", 1, kMaxRanks,
     "Number of ranks: one, a list, or a range. The first n ranks take part, placed host after "
     "host. More ranks than places is an error, except on this machine, where the rows are marked "
     "oversubscribed when there are more ranks than cores."},
    {"matrix[].oversubscribe", kBool, 0, kOptional, nullptr, "true", kNoMin, kNoMax,
     "`false`: where every host is this machine, cells with more ranks than it has usable cores "
     "are left out, but for those of two ranks, and the run says how many these are."},
    {"matrix[].ranks.from", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks,
     "Fewest ranks of a range."},
    {"matrix[].ranks.to", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks,
     "Most ranks of a range; every number between is measured."},
    {"matrix[].hosts", kInt | kText | kObject, kInt | kText | kTexts, kOptional, "all|pairs|groups",
     "\"all\"", 1, kMaxRanks,
     "Which hosts take part: `\"all\"`; a number n, the first n of the list; a range; "
     "`\"pairs\"`, every two; `\"groups\"`, the largest sets of hosts that all may talk to one "
     "another; in a list also lists of names. Where `ranks` is absent, all places of these hosts."},
    {"matrix[].hosts.from", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks,
     "Fewest hosts of a range."},
    {"matrix[].hosts.to", kInt, 0, kOptional, nullptr, "all hosts", 1, kMaxRanks,
     "Most hosts of a range; every number between is measured."},
    {"matrix[].distribution", kText, kText, kOptional, "block|cyclic", "\"block\"", kNoMin, kNoMax,
     "How ranks are dealt to the hosts: `block` fills one host after the other, `cyclic` takes the "
     "hosts in turn. Where it is absent under a launcher: as that placed them."},
    {"matrix[].root", kInt | kText, kInt, kOptional, "all", "0", 0, kMaxRanks - 1,
     "Root ranks of broadcast, reduce, gather and scatter; `\"all\"` = each rank in turn."},
    {"matrix[].placement", kText, kText, kOptional, "out|in|both", "\"out\"", kNoMin, kNoMax,
     "Whether input and output are apart (`out`) or the same memory (`in`); operations that have "
     "no in-place form are measured once, out of place."},
    {"matrix[].sync", kText, kText, kOptional, "barrier|none|window", "\"barrier\"", kNoMin, kNoMax,
     "How ranks start an operation together. `none` lets operations follow one another at once; "
     "`window` starts them at a common moment of synchronised clocks and times until the last "
     "rank has finished."},
    {"matrix[].arrays", kInt, kInt, kOptional, nullptr, "1", 1, kMostArrays,
     "Numbers of arrays that are reduced as one operation, as the buckets of a training step are "
     "(allreduce by the engine `native`, nothing compressed). They have `bytes` together, so that "
     "rows with different numbers compare, and are as equal as whole elements allow."},
    {"matrix[].split", kText, kText, kOptional, "@split", "\"none\"", kNoMin, kNoMax,
     "Groups of the ranks that run the operation at the same time, by colour as NCCL_TESTS_SPLIT: "
     "`mod:N` (rank % N), `div:N` (rank / N), or `none`: all ranks are one. `bytes` and `root` are "
     "those of one group, and a time is that of the slowest rank of all. Several groups of one "
     "size, "
     "of 2 ranks or more, by the engine `native`."},
    {"matrix[].outstanding", kInt, kInt, kOptional, nullptr, "1", 1, 1024,
     "Operations in flight at once; `throughput` blocks only. In an `endpoint` block: requests at "
     "a time."},
    {"matrix[].repeat", kInt, 0, kOptional, nullptr, "1", 1, 1000,
     "Measure each cell so many times, at different moments of the run."},
    {"matrix[].stop", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "When a cell of a `latency` or `bandwidth` block has enough samples."},
    {"matrix[].stop.ci", kReal, 0, kOptional, nullptr, "0.05", 0, 10,
     "Stop when the 95 % confidence interval of the median is narrower than this fraction of the "
     "median; 0 = never for this reason."},
    {"matrix[].stop.min_n", kInt, 0, kOptional, nullptr, "30", 1, 1e9, "Fewest samples."},
    {"matrix[].stop.max_n", kInt, 0, kOptional, nullptr, "100000", 1, 1e9, "Most samples."},
    {"matrix[].stop.max_time", kDuration, 0, kOptional, nullptr, "\"2s\"", kNoMin, kNoMax,
     "Longest time for the samples of one cell; `min_n` does not prolong it."},
    {"matrix[].time", kDuration, 0, kOptional, nullptr, "\"500ms\"", kNoMin, kNoMax,
     "How long a cell of a `throughput` block lasts; in a `link` block each pair, direction and "
     "measure; in an `endpoint` block (`\"10s\"`) requests are sent so long, and those under way "
     "are waited for."},
    {"matrix[].measure", kText, kText, kOptional, "@measure", "all of TCP and UDP", kNoMin, kNoMax,
     "`link` blocks: `latency` (round trips), `stream` (one way), `duplex` (both ways at once), "
     "`parallel` (several streams), `loaded_rtt` (round trips beside a stream), `incast` (all "
     "others to one), `udp` (loss, jitter, reordering), `all_pairs` (everybody at once); over "
     "bare verbs of RDMA, as perftest's programs of that name: `send_lat`, `write_lat`, "
     "`read_lat`, `send_bw`, `write_bw`, `read_bw`, `send_bibw`, `write_bibw`."},
    {"matrix[].streams", kInt, kInt, kOptional, nullptr, "4; of queue pairs 1", 1, 128,
     "`link` blocks: numbers of parallel streams of the measure `parallel`, and of queue pairs of "
     "those that end in `bw`."},
    {"matrix[].rate", kText, kText, kOptional, nullptr, "\"50Mbit\"", kNoMin, kNoMax,
     "`link` blocks: payload rates of the measure `udp`, such as `\"100Mbit\"`."},
    {"matrix[].datagram", kSize, 0, kOptional, nullptr, "1200", 24, 65507,
     "`link` blocks: payload bytes of a datagram of the measure `udp`."},
    {"matrix[].url", kText, 0, kOptional, nullptr, "", kNoMin, kNoMax,
     "`endpoint` blocks: where the server is, `\"http://mini1:8080\"`. Plain http; a local proxy "
     "speaks https."},
    {"matrix[].model", kText, kText, kOptional, nullptr, "the server's first", kNoMin, kNoMax,
     "`endpoint` blocks: the model to ask, by its name in /v1/models."},
    {"matrix[].api", kText, kText, kOptional, "chat|completions", "\"chat\"", kNoMin, kNoMax,
     "`endpoint` blocks: /v1/chat/completions or /v1/completions."},
    {"matrix[].answer", kText, kText, kOptional, "stream|whole", "\"stream\"", kNoMin, kNoMax,
     "`endpoint` blocks: token by token, or all at once."},
    {"matrix[].max_tokens", kInt, kInt, kOptional, nullptr, "64", 1, 100'000,
     "`endpoint` blocks: longest answer that is asked for."},
    {"matrix[].answer_has", kText, 0, kOptional, nullptr, "not looked at", kNoMin, kNoMax,
     "`endpoint` blocks: an answer without this text is wrong. The question asks for the numbers "
     "from 1 on."},
    {"matrix[].key_from", kText, 0, kOptional, nullptr, "no key", kNoMin, kNoMax,
     "`endpoint` blocks: name of the environment variable of this process that holds the server's "
     "key; it begins with ENDPOINT_KEY. The key itself is written down nowhere."},
    {"matrix[].config", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "Options that hold for the cells of this block only; they are part of the cells' identity."},
    {"matrix[].config.*", kScalar, 0, kOptional, nullptr, "", kNoMin, kNoMax,
     "Value of one option."},

    {"trace", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "Packet traces: both ends of every connection are captured while the probes try it, and every "
     "host during each cell of the matrix, headers only, bounded in size and time."},
    {"trace.keep", kText, 0, kOptional, "always|failures|never", "\"never\"", kNoMin, kNoMax,
     "Which traces stay, as nanosecond pcap files in the folder `traces` of the results."},

    {"report", kText, kText, kOptional, "@report", "[\"console\"]", kNoMin, kNoMax,
     "Reports to write when the run has ended; `plumbline list reports` shows them."},
    {"checklist", 0, kObject, kOptional, nullptr, "[]", kNoMin, kNoMax,
     "What the reports answer item by item, from what was probed and measured."},
    {"checklist[].item", kText, 0, kRequired, nullptr, "", kNoMin, kNoMax,
     "The item in words: \"ping works between all hosts\"."},
    {"checklist[].probes", kText, kText, kOptional, "@probe", "none", kNoMin, kNoMax,
     "Probes that decide it; they must stand in `probes`."},
    {"checklist[].cells", kText, kText, kOptional, nullptr, "none", kNoMin, kNoMax,
     "Cells that decide it, as terms of `--only` which must all hold: `[\"kind=check\", "
     "\"op=allreduce\"]`."},
    {"expect", 0, kObject, kOptional, nullptr, "[]", kNoMin, kNoMax,
     "Rules: what the results must reach, else the exit code is 4 ([rules.md](rules.md))."},
    {"expect[].where", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "Which cells the rule is about; all terms must hold. Without it: all that are measured."},
    {"expect[].where.config", kObject, 0, kOptional, nullptr, "{}", kNoMin, kNoMax,
     "Options that a block sets for its cells."},
    {"expect[].where.config.*", kScalar, kScalar, kOptional, nullptr, "", kNoMin, kNoMax,
     "Value of one option, or several."},
    {"expect[].where.*", kScalar, kScalar, kOptional, nullptr, "", kNoMin, kNoMax,
     "A field of a cell, as for `--only`: `\"allreduce\"`, `\"!=barrier\"`, `\">=16Mi\"`, "
     "`\"64Ki..1Mi\"`, or a list of values."},
    {"expect[].*", kScalar, kScalar, kOptional, nullptr, "", kNoMin, kNoMax,
     "A metric and its bound: `\"p50\": \"<=10us\"`, `\"busbw_of_roof\": \">=0.7\"`, `\"wrong\": "
     "0`. `plumbline list metrics` shows them; at least one."},
    {"expect[].name", kText, 0, kOptional, nullptr, "none", kNoMin, kNoMax,
     "What the rule is called in reports."},
    {"expect[].message", kText, 0, kOptional, nullptr, "none", kNoMin, kNoMax,
     "What to say when it is broken, before what was measured."},
    {"expect[].baseline", kText, 0, kOptional, nullptr, "that of `--baseline`", kNoMin, kNoMax,
     "`records.jsonl` of another run, or its folder, for metrics that end in `_of_baseline`; "
     "relative to this file."},
    {"expect[].optional", kBool, 0, kOptional, nullptr, "false", kNoMin, kNoMax,
     "`true`: cells that were skipped or not measured do not break the rule."},
    {"expect[].from", kText, 0, kOptional, nullptr, "this file and place", kNoMin, kNoMax,
     "File and place where the rule was written first. A run writes it into the rules that it "
     "keeps, so that reports name a rule alike wherever the run lies."},
    {"seed", kInt, 0, kOptional, nullptr, "a new one each run, recorded", 0, kMaxExact,
     "Seed of the order of the cells. It does not change what is measured."},
    {"roofs", kBool, 0, kOptional, nullptr, "true", kNoMin, kNoMax,
     "Also measure, on the same path, a bare socket and a memory copy, so that tables can say what "
     "share of the possible was attained."},
};

constexpr RefusedKeyRow kRefused[] = {
    {"hosts[].ips",
     "is a key of MLX's host files, whose entries have neither `name` nor `data`: write the "
     "addresses under test into `data`, or keep the file as it is and give it as `hostfile`"},
};

std::vector<std::string> with_first(std::vector<std::string> first,
                                    const std::vector<Descriptor>& rows) {
  if (rows.empty()) return {};
  std::set<std::string> seen(first.begin(), first.end());
  for (const Descriptor& row : rows) {
    if (seen.insert(row.name).second) first.push_back(row.name);
  }
  return first;
}

std::vector<std::string> parted_words(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const size_t bar = std::min(words.find('|'), words.size());
    out.emplace_back(words.substr(0, bar));
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return out;
}

}  // namespace

std::span<const KeyRow> key_table() { return kTable; }
std::span<const RefusedKeyRow> refused_key_table() { return kRefused; }

const KeyRow* find_key(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string any = dot == std::string::npos ? "*" : path.substr(0, dot + 1) + "*";
  const KeyRow* wildcard = nullptr;
  for (const KeyRow& row : kTable) {
    if (path == row.path) return &row;
    if (any == row.path) wildcard = &row;
  }
  return wildcard;
}

std::vector<const KeyRow*> keys_within(const std::string& prefix) {
  std::vector<const KeyRow*> rows;
  for (const KeyRow& row : kTable) {
    const std::string_view path = row.path;
    if (path.substr(0, prefix.size()) != prefix) continue;
    if (path.substr(prefix.size()).find('.') == std::string_view::npos) rows.push_back(&row);
  }
  return rows;
}

std::vector<std::string> accepted_words(const KeyRow& row, const Vocabulary& vocabulary) {
  if (row.words == nullptr) return {};
  const std::string_view words = row.words;
  if (words == "@op") {
    std::vector<std::string> names = row_names(op_table());
    for (const BlockKindRow& block : block_kind_table()) {
      if (block.own_op != nullptr) names.emplace_back(block.own_op);
    }
    return names;
  }
  if (words == "@kind") return asked_kinds();
  if (words == "@measure") return row_names(link_measure_table());
  if (words == "@dtype") return row_names(dtype_table());
  if (words == "@redop") return row_names(redop_table());
  if (words == "@algorithm") return with_first({"auto", "all"}, vocabulary.algorithms);
  if (words == "@transport") return with_first({"auto"}, vocabulary.transports);
  if (words == "@codec") return row_names(codec_table());
  if (words == "@split") return {kNoSplit};  // the others have a number
  if (words == "@engine") return with_first({}, vocabulary.engines);
  if (words == "@probe") return with_first({}, vocabulary.probes);
  if (words == "@report") return with_first({}, vocabulary.reports);
  return parted_words(words);
}

std::optional<WrongWord> wrong_word(const KeyRow& row, const std::vector<std::string>& words,
                                    const std::string& word, const Vocabulary& vocabulary) {
  const std::string_view kind = row.words == nullptr ? "" : row.words;
  if (kind == "@split") {
    const Expected<Split> split = parse_split(word);
    return split ? std::nullopt
                 : std::optional<WrongWord>({split.error().what, split.error().hint});
  }
  const bool algorithm = kind == "@algorithm", codec = kind == "@codec";
  const std::string base = algorithm || codec ? algorithm_base(word) : word;
  if (!contains(words, base)) return WrongWord{"", hint_for(base, words)};
  if (codec) {
    const Expected<Codec> parsed = parse_codec(word);
    return parsed ? std::nullopt
                  : std::optional<WrongWord>({parsed.error().what, parsed.error().hint});
  }
  if (!algorithm || vocabulary.algorithm_malformed == nullptr) return std::nullopt;
  const std::string reason = vocabulary.algorithm_malformed(word);
  return reason.empty() ? std::nullopt : std::optional<WrongWord>({reason, ""});
}

}  // namespace plumbline
