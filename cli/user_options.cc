#include "cli/user_options.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/trusted_path.h"
#include "scenarios/json_text.h"
#include "scenarios/read_matrix.h"
#include "scenarios/text_places.h"

namespace plumbline {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr const char* kFile = "/plumbline/config.json";

// Relative ones are to be ignored (XDG base directories, 0.8).
std::string absolute_variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && text[0] == '/' ? std::string(text) : std::string();
}

Error bad_file(std::string what) {
  return Error{ErrorCode::kConfig, std::move(what), 0,
               "it holds options by name, such as {\"chunk_bytes\": \"1Mi\"}; plumbline list "
               "options shows them",
               ""};
}

}  // namespace

std::string user_options_path() {
  const std::string config = absolute_variable("XDG_CONFIG_HOME");
  if (!config.empty()) return config + kFile;
  const std::string home = absolute_variable("HOME");
  return home.empty() ? std::string() : home + "/.config" + kFile;
}

Expected<UserOptions> read_user_options(const std::string& path) {
  UserOptions out;
  struct stat info {};
  if (path.empty() || (lstat(path.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR))) {
    return out;
  }
  const Expected<std::string> text = read_trusted_file(path, kMostBytes);
  if (!text) return fail(text.error());
  Problems problems;
  const std::optional<Json> root = parse_json_text(*text, path, problems);
  if (!problems.empty()) {
    const std::string first = to_line(problems.take().front());
    const bool named = first.rfind(path, 0) == 0;  // the line and column stand behind it
    return fail(bad_file(named ? first : path + ": " + first));
  }
  const TextPlaces places(path, *text);
  if (!root->is_object()) {
    return fail(bad_file(places.located("$") + ": this is no JSON object"));
  }
  for (auto it = root->begin(); it != root->end(); ++it) {
    if (!it->is_primitive() || it->is_null()) {
      return fail(bad_file(fmt::format("{}: the value is no text, number or boolean",
                                       places.located(json_path("$", it.key())))));
    }
  }
  out.path = path;
  out.values = read_options(*root);
  for (const auto& [name, value] : out.values) {
    out.places[name] = places.located(json_path("$", name));
  }
  return out;
}

}  // namespace plumbline
