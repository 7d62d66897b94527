#include "cli/stack_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "core/ranges.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "scenarios/host_files/backends.h"

namespace plumbline {
namespace {

constexpr size_t kLongestValue = 4096;  // bytes of one variable
// Where the files of MLX's launcher would lie on every host: it makes them anew for each job.
constexpr const char* kMlxFolder = "/tmp/mlx-job";

std::string known_stacks() {
  std::string names;
  for (const StackRow& row : stack_table())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// "K=V" for all ranks, "HOST:K=V" for those of one host.
Expected<StackRequest::Variable> read_variable(const std::string& text,
                                               const std::vector<ScenarioHost>& hosts) {
  const size_t equals = text.find('=');
  StackRequest::Variable out;
  out.name = text.substr(0, equals);
  const size_t colon = out.name.find(':');
  if (colon != std::string::npos) {
    out.host = out.name.substr(0, colon);
    out.name.erase(0, colon + 1);
  }
  if (equals == std::string::npos || !is_variable_name(out.name)) {
    return fail(usage_error("--env '" + text + "' is no NAME=VALUE",
                            "write --env MASTER_PORT=29500, or --env HOST:NAME=VALUE for the ranks "
                            "of one host"));
  }
  out.value = text.substr(equals + 1);
  if (out.value.size() > kLongestValue || escaped(out.value) != out.value) {
    return fail(usage_error("the value of --env " + out.name + " is too long or no plain text",
                            "at most 4096 bytes, no control characters"));
  }
  std::vector<std::string> names;
  for (const ScenarioHost& host : hosts) names.push_back(host.name);
  if (!out.host.empty() && !is_in(names, out.host)) {
    return fail(usage_error("--env '" + text + "': no host '" + out.host + "'",
                            near_or(out.host, names, "the hosts of the file have names")));
  }
  return out;
}

StackEnvironment variables_of_shell(const StackRow& row) {
  StackEnvironment out;
  for (const StackVariable& variable : row.variables) {
    const char* value = std::getenv(variable.name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr) out[variable.name] = std::string(value).substr(0, kLongestValue);
  }
  return out;
}

// The backend of MLX behind a stack of that family; empty for the others.
std::string backend_of(const std::string& stack, const HostFile& file) {
  if (stack == "mlx-ring") return "ring";
  if (stack != "mlx-jaccl") return {};
  return file.backend == "jaccl-ring" ? "jaccl-ring" : "jaccl";
}

void add_mlx(const std::string& path, StackRequest& request) {
  const auto file = load_host_file(path);
  if (!file) return;  // has been told already
  const BackendRow* backend = find_backend(backend_of(request.row->name, *file));
  if (backend == nullptr) return;
  for (const ScenarioProblem& problem : check_host_file(*file, backend)) {
    request.problems.push_back(to_line(problem));
  }
  const Expected<LaunchFiles> made = backend->files(*file, {kMlxFolder, 0});
  if (!made) {
    const std::string what = made.error().what + "; " + made.error().hint;
    if (request.problems.empty()) request.problems.push_back(path + ": " + what);
    return;
  }
  request.rank_variables = made->environment;
  for (const LaunchFiles::Named& each : made->files) {
    request.files[std::string(kMlxFolder) + "/" + each.name] = each.text;
  }
}

}  // namespace

Expected<StackRequest> stack_request(const Args& args, const std::string& path,
                                     const std::vector<ScenarioHost>& hosts) {
  StackRequest request;
  const std::string name = args.get("stack");
  request.row = find_stack(name);
  if (request.row == nullptr) {
    std::vector<std::string> names;
    for (const StackRow& row : stack_table()) names.emplace_back(row.name);
    return fail(usage_error("no stack '" + name + "'",
                            near_or(name, names, "there are " + known_stacks())));
  }
  for (const std::string& text : args.all("env")) {
    Expected<StackRequest::Variable> variable = read_variable(text, hosts);
    if (!variable) return fail(variable.error());
    request.variables.push_back(std::move(*variable));
  }
  request.shell = variables_of_shell(*request.row);
  if (!path.empty()) add_mlx(path, request);
  return request;
}

}  // namespace plumbline
