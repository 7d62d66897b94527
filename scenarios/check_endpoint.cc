// What scenarios say of servers of language models: where one is, and which variable holds its key.
#include <fmt/format.h>

#include "core/number.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "scenarios/read.h"
#include "transport/http/url.h"

namespace plumbline {

void check_server(const std::string& url, const std::string& key_from, const std::string& path,
                  Problems& problems) {
  if (problems.has(json_path(path, "url"))) return;
  if (url.empty()) {
    problems.add(path, "needs 'url', where the server is", R"(write "url": "http://mini1:8080")");
  } else if (const auto parsed = parse_http_url(url); !parsed) {
    problems.add(json_path(path, "url"), parsed.error().what, parsed.error().hint);
  }
  // It may be the key itself, by mistake: not shown. Scenarios are strangers' work, and one that
  // could name any variable would send what is in it wherever it likes.
  if (!key_from.empty() && !(key_from.starts_with(kKeyVariables) && is_variable_name(key_from))) {
    problems.add(
        json_path(path, "key_from"),
        fmt::format("is no name of a variable that begins with {}", kKeyVariables),
        fmt::format("put the key into such a variable and name that, as in \"{}\"", kKeyVariables));
  }
}

void check_endpoint_probes(const Scenario& scenario, Problems& problems) {
  constexpr int kMostSilence = 600;
  for (size_t i = 0; i < scenario.probes.size(); ++i) {
    const ProbeCall& call = scenario.probes[i];
    if (call.probe != kEndpointProbe) continue;
    const auto param = [&call](const char* name) {
      const auto found = call.params.find(name);
      return found == call.params.end() ? std::string() : found->second;
    };
    const std::string path = json_path("$.probes", i);
    check_server(param("url"), param("key_from"), path, problems);
    const std::string silence = param("silence");
    if (silence.empty() || parse_whole<int>(silence, 1, kMostSilence)) continue;
    problems.add(json_path(path, "silence"), fmt::format("{} is no time", in_quotes(silence)),
                 fmt::format("write a whole number of seconds from 1 to {}", kMostSilence));
  }
}

}  // namespace plumbline
