// The control lines of both ends: whatever an agent or a coordinator sends, reading it ends in a
// value or an Error, and what was understood survives being written and read again.

#include <cstdint>
#include <string>

#include "core/json.h"
#include "fuzz_bytes.h"
#include "launch/agent_lines.h"

namespace plumbline {
namespace {

void attack_agent(const std::string& line) {
  int64_t id = -1;
  const Expected<AgentRequestLine> request = parse_request_line(line, &id);
  require(request ? id == request->id && id > 0 : id >= 0);
  if (!request) return;
  const nlohmann::json params = nlohmann::json::parse(request->params);
  const Expected<AgentRequestLine> again = parse_request_line(
      format_request_line(request->id, request->request, request->within_ms, params));
  require(again && again->id == request->id && again->request == request->request &&
          again->within_ms == request->within_ms && again->params == request->params);
}

void attack_coordinator(const std::string& line) {
  Expected<nlohmann::json> answer{nlohmann::json()};
  const Expected<int64_t> id = parse_reply_line(line, answer);
  if (!id) return;
  Expected<nlohmann::json> again_answer{nlohmann::json()};
  const Expected<int64_t> again = parse_reply_line(format_reply_line(*id, answer), again_answer);
  require(again && *again == *id && again_answer.has_value() == answer.has_value());
  if (answer) {
    require(answer->dump() == again_answer->dump());
  } else {
    require(answer.error().message() == again_answer.error().message());
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  plumbline::attack_agent(line);
  plumbline::attack_coordinator(line);
  return 0;
}
