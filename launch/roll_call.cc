#include "launch/roll_call.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"
#include "launch/launcher_env.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr size_t kMaxDifferences = 8;  // named in one error
constexpr size_t kShownValue = 80;     // characters of a value

Error mismatch(std::string what, std::string hint, const char* cause = "config.mismatch") {
  return Error{ErrorCode::kMismatch, std::move(what), 0, std::move(hint), cause};
}

using Texts = std::map<std::string, std::string> JoinRequest::*;

std::set<std::string> all_keys(const std::vector<std::optional<JoinRequest>>& ranks, Texts texts) {
  std::set<std::string> keys;
  for (const auto& rank : ranks) {
    if (!rank) continue;
    for (const auto& entry : (*rank).*texts) keys.insert(entry.first);
  }
  return keys;
}

using nlohmann::json;

template <typename Request, typename Each>
void each_field_of_join(Request& request, const Each& each) {
  each("rank", request.rank);
  each("size", request.size);
  each("launcher", request.launcher);
  each("version", request.version);
  each("host", request.host);
  each("pid", request.pid);
  each("machine", request.machine);
  each("nics", request.nics);
  each("config", request.config);
  each("words", request.words);
  each("variables", request.variables);
}

Error bad_greeting(const std::string& what) {
  return Error{ErrorCode::kProtocol, what, 0, "all ranks must be the same build", ""};
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

RollCall::RollCall(JoinRequest own, int64_t now_ns)
    : ranks_(static_cast<size_t>(own.size)), start_ns_(now_ns) {
  ranks_.front() = std::move(own);
}

std::string RollCall::describe(const JoinRequest& request) const {
  return fmt::format("rank {} ({} pid {})", request.rank, printable(request.host, 60), request.pid);
}

Status RollCall::arrive(JoinRequest request) {
  const JoinRequest& own = *ranks_.front();
  if (request.version != own.version) {
    return fail(mismatch(fmt::format("{} is plumbline {}, rank 0 is {}", describe(request),
                                     printable(request.version, 40), own.version),
                         "install the same version on every host", "config.version_mismatch"));
  }
  if (request.size != size()) {
    return fail(
        mismatch(fmt::format("{} counts {} ranks ({}), rank 0 counts {} ({})", describe(request),
                             request.size, printable(request.launcher, 40), size(), own.launcher),
                 "start all ranks with one launcher and the same number of ranks"));
  }
  if (request.rank < 1 || request.rank >= size()) {
    return fail(mismatch(
        fmt::format("{} arrived, but the ranks are 0 to {}", describe(request), size() - 1),
        "give every process a rank of its own"));
  }
  std::optional<JoinRequest>& place = ranks_[static_cast<size_t>(request.rank)];
  if (place) {
    return fail(mismatch(fmt::format("two processes are rank {}: pid {} on {} and pid {} on {}",
                                     request.rank, place->pid, printable(place->host, 60),
                                     request.pid, printable(request.host, 60)),
                         "give every process a rank of its own"));
  }
  place = std::move(request);
  return {};
}

std::vector<int> RollCall::missing() const {
  std::vector<int> out;
  for (int rank = 0; rank < size(); ++rank) {
    if (!ranks_[static_cast<size_t>(rank)]) out.push_back(rank);
  }
  return out;
}

std::string RollCall::progress(int64_t now_ns) const {
  const std::vector<int> absent = missing();
  const std::string text = fmt::format("{} of {} ranks have arrived after {:.0f} s",
                                       size() - static_cast<int>(absent.size()), size(),
                                       static_cast<double>(now_ns - start_ns_) / kSecond);
  return absent.empty() ? text : text + "; missing: " + rank_list(absent);
}

Error RollCall::missing_error(const std::string& where, int64_t now_ns) const {
  std::map<std::string, std::vector<int>> here;  // by host
  for (const auto& rank : ranks_) {
    if (rank) here[printable(rank->host, 60)].push_back(rank->rank);
  }
  std::string arrived;
  for (const auto& [host, ranks] : here) {
    arrived += (arrived.empty() ? "" : "; ") + host + ": " + rank_list(ranks);
  }
  return Error{ErrorCode::kTimeout,
               fmt::format("{} of {} did not arrive at {} within {:.1f} s (arrived: {})",
                           rank_list(missing()), size(), where,
                           static_cast<double>(now_ns - start_ns_) / kSecond, arrived),
               0,
               "was it started, and can its host reach that address and port? --master and "
               "--master-port choose them, --connect-timeout-ms how long to wait",
               "rank.missing"};
}

// "chunk_bytes: 256Ki on ranks 0-2, 1Mi on rank 3"; empty = no difference. Ranks without the key
// count as `absent`, or not at all.
std::string RollCall::spread(const std::string& key, Texts texts, const char* absent) const {
  std::map<std::string, std::vector<int>> values;
  std::vector<std::string> order;
  for (const auto& rank : ranks_) {
    if (!rank) continue;
    const auto& map = (*rank).*texts;
    const auto found = map.find(key);
    if (found == map.end() && absent == nullptr) continue;
    const std::string value = found == map.end() ? absent : printable(found->second, kShownValue);
    if (values[value].empty()) order.push_back(value);
    values[value].push_back(rank->rank);
  }
  if (values.size() < 2) return {};
  std::string text;
  for (const std::string& value : order) {
    text += (text.empty() ? "" : ", ") + value + " on " + rank_list(values[value]);
  }
  return printable(key, 60) + ": " + text;
}

Status RollCall::agree() const {
  std::string text;
  size_t count = 0;
  const auto compare = [&](Texts texts, const char* absent) {
    for (const std::string& key : all_keys(ranks_, texts)) {
      const std::string difference = spread(key, texts, absent);
      if (difference.empty() || ++count > kMaxDifferences) continue;
      text += (text.empty() ? "" : "; ") + difference;
    }
  };
  compare(&JoinRequest::config, nullptr);
  compare(&JoinRequest::words, "not given");
  if (count == 0) return {};
  if (count > kMaxDifferences) text += fmt::format("; and {} more", count - kMaxDifferences);
  return fail(mismatch("the ranks were not started for the same run: " + text,
                       "give every rank the same command line, files and variables"));
}

std::vector<std::string> RollCall::drift() const {
  std::vector<std::string> lines;
  for (const std::string& key : all_keys(ranks_, &JoinRequest::variables)) {
    std::string difference = spread(key, &JoinRequest::variables, "not set");
    if (!difference.empty()) lines.push_back(std::move(difference));
  }
  return lines;
}

std::vector<int> RollCall::agents() const {
  std::vector<int> out;
  std::set<std::string> seen = {own().machine};
  for (const auto& rank : ranks_) {
    if (rank && seen.insert(rank->machine).second) out.push_back(rank->rank);
  }
  return out;
}

std::vector<JoinRequest> RollCall::requests() const {
  std::vector<JoinRequest> out;
  for (const auto& rank : ranks_) {
    if (rank) out.push_back(*rank);
  }
  return out;
}

std::string encode_join(const JoinRequest& request) {
  json line = {{"join", 1}};
  each_field_of_join(request, [&](const char* key, const auto& value) { line[key] = value; });
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<JoinRequest> decode_join(const std::string& line) {
  try {
    const json object = json::parse(line);
    JoinRequest request;
    if (object.at("join") != 1)
      return fail(bad_greeting("a rank speaks another version of the protocol"));
    each_field_of_join(request,
                       [&](const char* key, auto& value) { get_field(object, key, value); });
    const bool sane = request.rank >= 0 && request.rank < kMostRanks && request.size >= 1 &&
                      request.size <= kMostRanks;
    if (!sane) return fail(bad_greeting("a rank arrives with impossible numbers"));
    return request;
  } catch (const json::exception& error) {
    return fail(bad_greeting("a rank sends an invalid greeting: " + json_trouble(error)));
  }
}

std::string encode_join_answer(const JoinAnswer& answer) {
  json line = {{"welcome", answer.status.has_value()}, {"agent", answer.agent}};
  if (!answer.status) {
    const Error& error = answer.status.error();
    line["code"] = to_string(error.code);
    line["what"] = error.what;
    line["hint"] = error.hint;
    line["cause"] = error.cause;
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

JoinAnswer decode_join_answer(const std::string& line) {
  try {
    const json object = json::parse(line);
    JoinAnswer answer;
    get_field(object, "agent", answer.agent);
    if (object.at("welcome").get<bool>()) return answer;
    answer.status = fail(Error{
        error_code_from(object.at("code").get<std::string>()), object.at("what").get<std::string>(),
        0, object.at("hint").get<std::string>(), object.at("cause").get<std::string>()});
    return answer;
  } catch (const json::exception& error) {
    return {fail(bad_greeting("rank 0 sends an invalid answer: " + json_trouble(error))), false};
  }
}

std::string encode_agent_offer(int rank) { return json{{"agent", rank}}.dump(); }

Expected<int> decode_agent_offer(const std::string& line) {
  try {
    return json::parse(line).at("agent").get<int>();
  } catch (const json::exception& error) {
    return fail(bad_greeting("an agent sends an invalid greeting: " + json_trouble(error)));
  }
}

}  // namespace plumbline
