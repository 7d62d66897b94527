#include "runs/tuning/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "collectives/schedule.h"
#include "collectives/suggested_order.h"
#include "core/file.h"
#include "core/json.h"
#include "core/op.h"
#include "core/text.h"
#include "scenarios/json_text.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

constexpr int kTuningFormat = 1;
constexpr size_t kMostTuningBytes = 4 << 20;
constexpr int kMostTunedRanks = 1024;
constexpr size_t kMostTunedRows = 4096;
constexpr size_t kLongestTunedText = 1024;
constexpr double kMostOfModel = 1e15;

// What is wrong, and where; caught in parse_tuning().
struct Wrong : std::runtime_error {
  Wrong(std::string place, const std::string& what)
      : std::runtime_error(what), where(std::move(place)) {}
  std::string where;
};

const Json& tuned_member(const Json& object, const std::string& where, const char* key) {
  if (!object.is_object()) throw Wrong{where, "is no object"};
  const auto found = object.find(key);
  if (found == object.end()) throw Wrong{where, fmt::format("has no {}", in_quotes(key))};
  return *found;
}

const Json& tuned_list(const Json& object, const std::string& where, const char* key, size_t most) {
  const Json& value = tuned_member(object, where, key);
  const std::string place = json_path(where, key);
  if (!value.is_array()) throw Wrong{place, "is no list"};
  if (value.size() > most) throw Wrong{place, fmt::format("has more than {} elements", most)};
  return value;
}

std::string tuned_text_of(const Json& value, const std::string& where) {
  if (!value.is_string()) throw Wrong{where, "is no text"};
  auto text = value.get<std::string>();
  if (text.size() > kLongestTunedText) throw Wrong{where, "is too long"};
  return text;
}

std::string tuned_text(const Json& object, const std::string& where, const char* key) {
  return tuned_text_of(tuned_member(object, where, key), json_path(where, key));
}

template <typename T>
T tuned_whole(const Json& object, const std::string& where, const char* key, T least, T most) {
  const Json& value = tuned_member(object, where, key);
  try {
    const T number = checked_integer<T>(value);
    if (number >= least && number <= most) return number;
  } catch (const Json::exception&) {  // said below
  }
  throw Wrong{json_path(where, key), fmt::format("is no whole number from {} to {}", least, most)};
}

double tuned_number(const Json& object, const std::string& where, const char* key, double most) {
  const Json& value = tuned_member(object, where, key);
  const double number = value.is_number() ? value.get<double>() : -1;
  if (std::isfinite(number) && number >= 0 && number <= most) return number;
  throw Wrong{json_path(where, key), fmt::format("is no number from 0 to {:g}", most)};
}

double tuned_rate(const Json& object, const std::string& where, const char* key) {
  const double rate = tuned_number(object, where, key, kMostOfModel);
  if (rate >= 1) return rate;
  throw Wrong{json_path(where, key), "is less than one byte per second"};
}

std::vector<std::string> tuned_texts(const Json& object, const std::string& where, const char* key,
                                     size_t count) {
  const Json& values = tuned_list(object, where, key, kMostTunedRanks);
  if (values.size() != count) {
    throw Wrong{json_path(where, key),
                fmt::format("has {} elements for {} ranks", values.size(), count)};
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(tuned_text_of(values[i], json_path(json_path(where, key), i)));
  }
  return texts;
}

TuningPlace read_place(const Json& root) {
  TuningPlace place;
  place.transport = tuned_text(root, "$", "transport");
  const std::vector<std::string> names = transport_choices().at("transport");
  if (std::find(names.begin(), names.end(), place.transport) == names.end()) {
    throw Wrong{"$.transport", fmt::format("{} is no transport", in_quotes(place.transport))};
  }
  const auto ranks = static_cast<size_t>(tuned_whole<int>(root, "$", "ranks", 2, kMostTunedRanks));
  place.hosts = tuned_texts(root, "$", "hosts", ranks);
  place.machines = tuned_texts(root, "$", "machines", ranks);
  return place;
}

FittedModel read_model(const Json& root, const TuningPlace& place) {
  const Json& object = tuned_member(root, "$", "model");
  const std::string where = "$.model";
  FittedModel model;
  Topology& topology = model.topology;
  topology.host_of = numbers_of(place.hosts);
  model.median_error = tuned_number(object, where, "median_error", kMostOfModel);
  topology.message_ns = tuned_number(object, where, "message_ns", kMostOfModel);
  topology.port_bytes_per_s = tuned_rate(object, where, "port_bytes_per_s");
  topology.rank_bytes_per_s = tuned_rate(object, where, "rank_bytes_per_s");
  topology.reduce_bytes_per_s = tuned_rate(object, where, "reduce_bytes_per_s");
  const int ranks = topology.ranks();
  const auto all = static_cast<size_t>(ranks) * static_cast<size_t>(ranks);
  const Json& links = tuned_list(object, where, "links", all);
  topology.links.resize(all);
  std::set<std::pair<int, int>> seen;
  for (size_t i = 0; i < links.size(); ++i) {
    const std::string at = json_path(json_path(where, "links"), i);
    const int from = tuned_whole<int>(links[i], at, "from", 0, ranks - 1);
    const int to = tuned_whole<int>(links[i], at, "to", 0, ranks - 1);
    if (from == to || !seen.emplace(from, to).second) throw Wrong{at, "is no other pair of ranks"};
    topology
        .links[static_cast<size_t>(from) * static_cast<size_t>(ranks) + static_cast<size_t>(to)] = {
        tuned_number(links[i], at, "alpha_ns", kMostOfModel),
        tuned_rate(links[i], at, "bytes_per_s")};
  }
  if (seen.size() != all - static_cast<size_t>(ranks)) {
    throw Wrong{json_path(where, "links"), "has not every pair of ranks"};
  }
  suggest_order(topology);
  return model;
}

void check_algorithm(const TunedRange& range, int ranks, const std::string& where) {
  ScheduleRequest request;
  request.op = range.op;
  request.size = ranks;
  request.count = 1;
  if (range.algorithm == "auto") throw Wrong{where, "is auto, which has to be chosen"};
  const auto found = find_algorithm(range.algorithm, request);
  if (!found) throw Wrong{where, found.error().what};
}

TunedRow read_row(const Json& object, const std::string& where, int ranks) {
  TunedRow row;
  const std::string op = tuned_text(object, where, "op");
  const std::optional<Op> known = op_from(op);
  if (!known) throw Wrong{json_path(where, "op"), fmt::format("{} is unknown", in_quotes(op))};
  row.range.op = *known;
  row.range.from_bytes = tuned_whole<uint64_t>(object, where, "from_bytes", 0, UINT64_MAX);
  row.range.to_bytes =
      tuned_whole<uint64_t>(object, where, "to_bytes", row.range.from_bytes, UINT64_MAX);
  row.range.algorithm = tuned_text(object, where, "algorithm");
  check_algorithm(row.range, ranks, json_path(where, "algorithm"));
  row.usual = tuned_text(object, where, "usual");
  if (!tuned_member(object, where, "gain").is_null()) {
    row.gain = tuned_number(object, where, "gain", kMostOfModel);
  }
  return row;
}

std::vector<TunedRow> read_table(const Json& root, int ranks) {
  const Json& rows = tuned_list(root, "$", "table", kMostTunedRows);
  std::vector<TunedRow> table;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string where = json_path("$.table", i);
    TunedRow row = read_row(rows[i], where, ranks);
    for (const TunedRow& other : table) {
      if (other.range.op != row.range.op || other.range.to_bytes < row.range.from_bytes ||
          other.range.from_bytes > row.range.to_bytes) {
        continue;
      }
      throw Wrong{where, fmt::format("overlaps another range of {}", to_string(row.range.op))};
    }
    table.push_back(std::move(row));
  }
  return table;
}

Tuning read_root(const Json& root) {
  tuned_whole<int>(root, "$", "plumbline_tuning", kTuningFormat, kTuningFormat);
  Tuning tuning;
  tuning.version = tuned_text(root, "$", "version");
  tuning.made = tuned_text(root, "$", "made");
  tuning.place = read_place(root);
  tuning.model = read_model(root, tuning.place);
  tuning.table = read_table(root, tuning.ranks());
  return tuning;
}

Error tuning_damaged(const std::string& what) {
  return {ErrorCode::kConfig, "tuning " + what, 0, kTuneAgain, ""};
}

Json model_json(const FittedModel& model) {
  const Topology& topology = model.topology;
  Json links = Json::array();
  for (int from = 0; from < topology.ranks(); ++from) {
    for (int to = 0; to < topology.ranks(); ++to) {
      if (from == to) continue;
      const LinkModel& link = topology.link(from, to);
      links.push_back({{"from", from},
                       {"to", to},
                       {"alpha_ns", link.alpha_ns},
                       {"bytes_per_s", link.bytes_per_s}});
    }
  }
  return {{"median_error", model.median_error},
          {"message_ns", topology.message_ns},
          {"port_bytes_per_s", topology.port_bytes_per_s},
          {"rank_bytes_per_s", topology.rank_bytes_per_s},
          {"reduce_bytes_per_s", topology.reduce_bytes_per_s},
          {"links", std::move(links)}};
}

}  // namespace

std::string machine_text(const HostFacts& facts) {
  return fmt::format("{}, {}, {} core{}, {}", facts.hostname, facts.cpu_model, facts.cores_usable,
                     facts.cores_usable == 1 ? "" : "s", facts.kernel);
}

std::vector<int> numbers_of(const std::vector<std::string>& hosts) {
  std::vector<std::string> seen;
  std::vector<int> numbers;
  for (const std::string& host : hosts) {
    const auto found = std::find(seen.begin(), seen.end(), host);
    numbers.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(host);
  }
  return numbers;
}

std::vector<TunedRange> Tuning::ranges() const {
  std::vector<TunedRange> ranges;
  for (const TunedRow& row : table) ranges.push_back(row.range);
  return ranges;
}

std::string tuning_json(const Tuning& tuning) {
  Json table = Json::array();
  for (const TunedRow& row : tuning.table) {
    table.push_back({{"op", to_string(row.range.op)},
                     {"from_bytes", row.range.from_bytes},
                     {"to_bytes", row.range.to_bytes},
                     {"algorithm", row.range.algorithm},
                     {"usual", row.usual},
                     {"gain", row.gain}});
  }
  const Json root = {{"plumbline_tuning", kTuningFormat},
                     {"version", tuning.version},
                     {"made", tuning.made},
                     {"transport", tuning.place.transport},
                     {"ranks", tuning.ranks()},
                     {"hosts", tuning.place.hosts},
                     {"machines", tuning.place.machines},
                     {"model", model_json(tuning.model)},
                     {"table", std::move(table)}};
  return printable_json(json_text(root));
}

Expected<Tuning> parse_tuning(const std::string& text, const std::string& file) {
  Problems problems;
  const std::optional<Json> root = parse_json_text(text, file, problems);
  if (!problems.empty()) return fail(tuning_damaged(to_line(problems.take().front())));
  try {
    return read_root(*root);
  } catch (const Wrong& wrong) {
    return fail(tuning_damaged(TextPlaces(file, text).located(wrong.where) + " " + wrong.what()));
  } catch (const std::exception& error) {
    return fail(tuning_damaged(file + ": " + exception_words(error)));
  }
}

Expected<Tuning> read_tuning(const std::string& path) {
  const Expected<std::string> text = read_input_file(path, kMostTuningBytes);
  if (!text) return fail(text.error());
  return parse_tuning(*text, path);
}

std::string why_not_used(const Tuning& tuning, const TuningPlace& place) {
  const TuningPlace& own = tuning.place;
  if (own.hosts.size() != place.hosts.size()) {
    return fmt::format("it is of {} ranks, not of {}", own.hosts.size(), place.hosts.size());
  }
  if (own.transport != place.transport) {
    return fmt::format("it is of transport {}, not of {}", own.transport, place.transport);
  }
  if (own.hosts != place.hosts) {
    return fmt::format("it is of ranks on {}, not on {}", fmt::join(own.hosts, " "),
                       fmt::join(place.hosts, " "));
  }
  for (size_t rank = 0; rank < place.machines.size(); ++rank) {
    if (own.machines[rank] == place.machines[rank]) continue;
    return fmt::format("rank {} was on another machine ({}; now {})", rank, own.machines[rank],
                       place.machines[rank]);
  }
  if (tuning.version != PLUMBLINE_VERSION) {
    return fmt::format("plumbline {} has made it, this is {}", tuning.version, PLUMBLINE_VERSION);
  }
  return {};
}

}  // namespace plumbline
