#include "core/diagnosis/host_agent.h"

#include "core/json.h"

namespace plumbline {

void to_json(nlohmann::json& json, const Error& error) {
  json = {{"code", to_string(error.code)},
          {"what", error.what},
          {"errno", error.sys_errno},
          {"hint", error.hint},
          {"cause", error.cause}};
}

void from_json(const nlohmann::json& json, Error& error) {
  error.code = error_code_from(json.value("code", std::string()));
  error.what = json.value("what", std::string("no reason given"));
  error.sys_errno = json.value("errno", 0);
  error.hint = json.value("hint", std::string());
  error.cause = json.value("cause", std::string());
}

}  // namespace plumbline
