#include "core/record/cell.h"

#include <algorithm>

#include "core/encode.h"
#include "core/field_json.h"
#include "core/record/record.h"
#include "core/split.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr const char* kTimedKeys[] = {"dtype",     "redop", "algorithm", "root",
                                      "placement", "sync",  "engine",    "compression",
                                      "arrays",    "split", "stop"};
constexpr const char* kSustainedKeys[] = {"dtype",     "redop", "algorithm",   "root",
                                          "placement", "sync",  "engine",      "compression",
                                          "arrays",    "split", "outstanding", "time"};
constexpr const char* kCheckKeys[] = {"dtype", "redop",  "algorithm",   "root",   "placement",
                                      "sync",  "engine", "compression", "arrays", "split"};
constexpr const char* kEndpointKeys[] = {"time",   "outstanding", "url",        "model",   "api",
                                         "answer", "max_tokens",  "answer_has", "key_from"};
constexpr const char* kLinkKeys[] = {"time", "measure", "streams", "rate", "datagram"};

constexpr CellKindRow kKindTable[] = {
    {CellKind::kLatency, "latency", "one operation at a time", true, true, CellTiming::kEach,
     Headline::kTime, kTimedKeys},
    {CellKind::kBandwidth, "bandwidth", "the same, for large sizes", true, true, CellTiming::kEach,
     Headline::kBusBandwidth, kTimedKeys},
    {CellKind::kThroughput, "throughput",
     "operations and bytes per second over a fixed `time` with `outstanding` operations in flight",
     true, true, CellTiming::kSustained, Headline::kOperationRate, kSustainedKeys},
    {CellKind::kCheck, "check", "correctness only", true, true, CellTiming::kNothing,
     Headline::kNone, kCheckKeys},
    {CellKind::kLink, "link",
     "every ordered pair of ranks on its own, with `op` `link` (which means this kind)", true,
     false, CellTiming::kPairs, Headline::kNone, kLinkKeys},
    {CellKind::kRoof, "roof", "what the bare socket and the memory can do", false, false,
     CellTiming::kBarePath, Headline::kNone, std::span<const char* const>()},
    {CellKind::kEndpoint, "endpoint",
     "requests to a server of language models by one rank, `outstanding` at a time, over a fixed "
     "`time`, with `op` `endpoint` (which means this kind)",
     true, false, CellTiming::kRequests, Headline::kNone, kEndpointKeys},
};

template <typename Wanted>
std::vector<std::string> names_where(Wanted wanted) {
  std::vector<std::string> names;
  for (const CellKindRow& row : kKindTable) {
    if (wanted(row)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

bool CellKindRow::has(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::span<const CellKindRow> cell_kind_table() { return kKindTable; }

const CellKindRow& row(CellKind kind) { return kKindTable[static_cast<size_t>(kind)]; }

std::optional<CellKind> cell_kind_from(std::string_view name) {
  for (const CellKindRow& row : kKindTable) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

std::vector<std::string> asked_kinds() {
  return names_where([](const CellKindRow& row) { return row.asked_for; });
}

std::vector<std::string> kinds_with(std::string_view key) {
  return names_where([key](const CellKindRow& row) { return row.has(key); });
}

std::vector<std::string> kinds_that_time(CellTiming timing) {
  return names_where([timing](const CellKindRow& row) { return row.timing == timing; });
}

std::vector<std::string> keys_of_kinds() {
  std::vector<std::string> keys;
  for (const CellKindRow& row : kKindTable) {
    for (const char* key : row.keys) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
    }
  }
  return keys;
}

// A file of another version may hold kinds that this one has not, or no more.
template <>
struct FieldValue<CellKind> {
  static constexpr const char* kType = "string";
  static constexpr bool kNullable = false;
  static void write(const CellKind& kind, nlohmann::json& out) { out = to_string(kind); }
  static void read(const nlohmann::json& in, CellKind& kind) {
    const auto& name = in.get_ref<const std::string&>();
    const auto known = cell_kind_from(name);
    if (!known) refuse_field("this version knows no cells of kind " + in_quotes(name));
    kind = *known;
  }
  static void rows(const std::string&, const FieldWords&, FieldRows&) {}
};

namespace {

constexpr Field<Cell> kind_field() {
  Field<Cell> row =
      field<&Cell::kind>({"kind", "",
                          "`latency`, `bandwidth`, `throughput`, `check`, `link`, `roof` or "
                          "`endpoint`"});
  row.word = [](const Cell& cell) -> std::string_view { return to_string(cell.kind); };
  return row.in_csv("kind").published(R"({"enum":["latency","bandwidth","workload"]})").bare();
}

// Their order is that of the columns of the CSV report.
constexpr Field<Cell> kCellFields[] = {
    kind_field(),
    field<&Cell::op>({"op", "",
                      "operation; for a roof `raw_pingpong`, `raw_exchange`, `raw_stream`, "
                      "`raw_duplex`, `array_stream`, `array_duplex`, `reduce_kernel`, `memcpy`"})
        .in_csv("op")
        .published()
        .bare(),
    field<&Cell::engine>(
        {"engine", "",
         "whose implementation ran: `native`, or the tool that a result was imported from"})
        .in_csv("engine")
        .published(kPublishedWord),
    field<&Cell::transport>({"transport", "", "transport asked for"})
        .in_csv("transport")
        .published(kPublishedWord)
        .bare(),
    field<&Cell::algorithm>({"algorithm", "", "algorithm asked for"})
        .in_csv("algorithm")
        .published(kPublishedAlgorithm)
        .bare(),
    field<&Cell::dtype>({"dtype", "", "element type"}).in_csv("dtype").published().bare(),
    field<&Cell::redop>(
        {"redop", "", "reduction operator, `none` where the operation does not reduce"})
        .in_csv("redop")
        .published(),
    field<&Cell::root>({"root", "rank", "root, -1 where the operation has none"})
        .in_csv("root")
        .published(R"({"minimum":-1,"maximum":4095})"),
    field<&Cell::ranks>({"ranks", "ranks", "world size"})
        .in_csv("ranks")
        .published(R"({"minimum":2,"maximum":4096})"),
    field<&Cell::bytes>(
        {"bytes", "bytes", "S of the bandwidth formulas, rounded down to whole elements per rank"})
        .in_csv("size_bytes")
        .published(R"({"minimum":0,"maximum":1099511627776})"),
    field<&Cell::count>({"count", "elements", "elements of one rank's argument"})
        .in_csv("count_elements")
        .published(R"({"minimum":0,"maximum":1099511627776})"),
    field<&Cell::placement>({"placement", "", "`in` or `out` of place"})
        .in_csv("placement")
        .published(R"({"enum":["in","out"]})"),
    field<&Cell::sync>({"sync", "",
                        "how ranks start together: `barrier` before each operation, `window` (at a "
                        "common moment), or `none` (back to back)"})
        .in_csv("sync")
        .published(R"({"enum":["barrier","none","window"]})"),
    field<&Cell::cache>({"cache", "",
                         "`cold`: buffers take turns over 64 MiB, but no more than 64 of them; "
                         "`hot`: always the same"})
        .in_csv("cache")
        .published(R"({"enum":["cold","hot"]})"),
    field<&Cell::outstanding>({"outstanding", "operations", "operations in flight at once"})
        .in_csv("outstanding_operations")
        .published(R"({"const":1})"),
    field<&Cell::repeat>({"repeat", "", "index of the repetition"})
        .in_csv("repetition")
        .published(kPublishedSmall),
    field<&Cell::params>({"params", "", "options set for this cell only", "value"})
        .in_csv("params"),
    // From here on only where it means something: other cells keep their ids.
    sparse_field<&Cell::measure>(
        {"measure", "",
         "cells of kind `link` only: `latency`, `stream`, `duplex`, `parallel`, `loaded_rtt`, "
         "`incast`, `udp`, `all_pairs`"})
        .bare(),
    sparse_field<&Cell::rate_bps>(
        {"rate_bps", "bits/s", "cells of kind `link` only: rate of the datagrams' payload"})
        .set_where([](const Cell& cell) { return !cell.measure.empty(); }),
    sparse_field<&Cell::hosts>(
        {"hosts", "", "hosts that take part, joined by `+`; absent = all of the scenario"})
        .in_csv("hosts"),
    sparse_field<&Cell::distribution>(
        {"distribution", "",
         "how ranks are dealt to the hosts: `block` or `cyclic`; absent = block, or as a launcher "
         "did"})
        .in_csv("distribution"),
    sparse_field<&Cell::compression>(
        {"compression", "", "what the data was compressed with: `fp16`, `bf16`, `topk:RATIO`"})
        .in_csv("compression"),
    sparse_field<&Cell::arrays>({"arrays", "arrays",
                                 "an allreduce of so many arrays as one operation, which have "
                                 "`bytes` and `count` together"})
        .in_csv("arrays"),
    sparse_field<&Cell::split>({"split", "",
                                "groups of the ranks that run the operation at the same time, "
                                "`mod:N` or `div:N`; size and root are those of one group"})
        .in_csv("split"),
    sparse_field<&Cell::url>({"url", "", "cells of kind `endpoint` only: where the server is"})
        .in_csv("url"),
    sparse_field<&Cell::model>({"model", "", "the model asked for; absent = the server's first"})
        .in_csv("model"),
    sparse_field<&Cell::api>({"api", "", "how it is asked: `chat` or `completions`"}).in_csv("api"),
    sparse_field<&Cell::answer>({"answer", "", "how it answers: `stream` or `whole`"})
        .in_csv("answer"),
    sparse_field<&Cell::answer_has>({"answer_has", "", "what a right answer contains"}),
    sparse_field<&Cell::key_from>(
        {"key_from", "", "name of the environment variable that holds the server's key"}),
    sparse_field<&Cell::max_tokens>({"max_tokens", "tokens", "longest answer that is asked for"})
        .in_csv("max_tokens"),
};

}  // namespace

std::span<const Field<Cell>> FieldsOf<Cell>::all() { return kCellFields; }

// Records of anybody may hold groups that their ranks do not make.
int group_ranks(const Cell& cell) {
  if (cell.split.empty()) return cell.ranks;
  const Expected<Split> split = parse_split(cell.split);
  const bool whole = !split || !split_unsupported(*split, cell.ranks).empty();
  return whole ? cell.ranks : group_size(*split, cell.ranks);
}

int groups_of(const Cell& cell) {
  return cell.split.empty() ? 1 : std::max(1, cell.ranks / std::max(1, group_ranks(cell)));
}

void to_json(nlohmann::json& json, const Cell& cell) { FieldValue<Cell>::write(cell, json); }

void from_json(const nlohmann::json& json, Cell& cell) { read_fields(json, cell); }

std::string canonical_json(const Cell& cell) {
  // nlohmann's default object is a std::map: keys come out sorted.
  return nlohmann::json(cell).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string cell_id(const Cell& cell) { return to_hex(sha256(canonical_json(cell))).substr(0, 16); }

size_t CellIds::Hash::operator()(const Cell& cell) const {
  size_t hash = 0;
  const auto add = [&hash](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U; };
  for (const Field<Cell>& field : kCellFields) {
    if (field.word != nullptr) add(std::hash<std::string_view>()(field.word(cell)));
    if (field.number != nullptr) add(static_cast<size_t>(field.number(cell)));
  }
  add(cell.params.size());
  return hash;
}

const std::string& CellIds::of(const Cell& cell) {
  constexpr size_t kMost = 20'000;
  if (const auto known = ids_.find(cell); known != ids_.end()) return known->second;
  if (ids_.size() >= kMost) ids_.clear();
  return ids_.emplace(cell, cell_id(cell)).first->second;
}

}  // namespace plumbline
