#include "test_agent.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "core/host/process_facts.h"
#include "core/json.h"
#include "launch/agent_lines.h"
#include "launch/process.h"

namespace plumbline {

using nlohmann::json;

namespace {

Expected<json> wait_ms(const json& params, const std::atomic<bool>* ending) {
  const Deadline end = Deadline::after_ms(params.at("ms").get<int64_t>());
  while (!end.passed() && (ending == nullptr || !*ending)) usleep(1'000);
  return json{{"waited", true}};
}

Expected<json> die() {
  raise(SIGKILL);
  return json();
}

}  // namespace

std::vector<AgentRequest> test_requests() {
  return {
      {"echo", "", [](const json& params, const AgentCall&) -> Expected<json> { return params; }},
      {"sleep", "",
       [](const json& params, const AgentCall& c) { return wait_ms(params, c.ending); }},
      {"block", "", [](const json& params, const AgentCall&) { return wait_ms(params, nullptr); }},
      {"die", "", [](const json&, const AgentCall&) { return die(); }},
      {"bytes", "",
       [](const json& params, const AgentCall&) -> Expected<json> {
         return json{{"text", std::string(params.at("count").get<size_t>(), 'x')}};
       }},
      {"left_ms", "",
       [](const json&, const AgentCall& call) -> Expected<json> {
         return json{{"ms", call.deadline.remaining_ns() / kMillisecond}};
       }},
      {"broken_text", "",
       [](const json&, const AgentCall&) -> Expected<json> {
         return json{{"text", "\xff\xfe"}};
       }},
      {"throws", "",
       [](const json&, const AgentCall&) -> Expected<json> { throw std::runtime_error("thrown"); }},
      {"refuse", "",
       [](const json&, const AgentCall&) -> Expected<json> {
         return fail({ErrorCode::kBusy, "port 1", EADDRINUSE, "end it", "tcp.port_in_use"});
       }},
  };
}

AgentLoopSettings test_settings(const std::string& version) {
  AgentLoopSettings settings;
  settings.version = version;
  settings.build = "a test";
  settings.config = {{"mesh", "yes"}};
  return settings;
}

std::vector<std::string> test_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {own_program_path().value()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

AgentStart start_one(const std::vector<std::string>& argv, int64_t limit_ms) {
  return std::move(start_agents({{"h1", argv}}, {}, Deadline::after_ms(limit_ms)).front());
}

AgentStart shell_agent(const std::string& script, int64_t limit_ms) {
  return start_one({"/bin/sh", "-c", script}, limit_ms);
}

std::string greeting() {
  const std::string hello = "read x; echo '" +
                            format_reply_line(1, json{{"version", PLUMBLINE_VERSION}, {"pid", 1}}) +
                            "'; ";
  return hello +
         "for i in 2 3 4 5 6; do read x; echo '{\"id\":'$i',\"reply\":{\"time_ns\":0}}'; done; ";
}

bool is_running(int pid) {
  if (kill(pid, 0) != 0) return false;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || text[name_end + 2] != 'Z';
}

}  // namespace plumbline
