#include "launch/join_line.h"

#include "core/json.h"
#include "core/json_trouble.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kMostRanks = 1'000'000;

Error bad_greeting(const std::string& what) {
  return Error{ErrorCode::kProtocol, what, 0, "all ranks must be the same build", ""};
}

}  // namespace

std::string encode_join(const JoinRequest& request) {
  const json line = {{"join", 1},
                     {"rank", request.rank},
                     {"size", request.size},
                     {"launcher", request.launcher},
                     {"version", request.version},
                     {"host", request.host},
                     {"pid", request.pid},
                     {"machine", request.machine},
                     {"nics", request.nics},
                     {"config", request.config},
                     {"words", request.words},
                     {"variables", request.variables}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<JoinRequest> decode_join(const std::string& line) {
  try {
    const json object = json::parse(line);
    JoinRequest request;
    if (object.at("join") != 1)
      return fail(bad_greeting("a rank speaks another version of the protocol"));
    get_field(object, "rank", request.rank);
    get_field(object, "size", request.size);
    get_field(object, "launcher", request.launcher);
    get_field(object, "version", request.version);
    get_field(object, "host", request.host);
    get_field(object, "pid", request.pid);
    get_field(object, "machine", request.machine);
    get_field(object, "nics", request.nics);
    get_field(object, "config", request.config);
    get_field(object, "words", request.words);
    get_field(object, "variables", request.variables);
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
