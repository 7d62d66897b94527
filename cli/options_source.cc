#include "cli/options_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "runs/ranks/rank_places.h"
#include "scenarios/json_text.h"
#include "scenarios/read.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

constexpr const char* kUserOrigin = "user config";  // its path would name the user in records

// Between the variables and the link profile: only what nobody nearer to this run has set.
void add_user_options(const UserOptions& user, OptionSet& options, std::vector<Error>& problems) {
  for (const auto& [name, value] : user.values) {
    const std::string elsewhere = option_place(name, false);
    Expected<OptionSet> changed = options.with(name, value, kUserOrigin);
    Error error;
    if (!changed) {
      error = changed.error();
    } else if (!elsewhere.empty()) {
      error.what = name + " decides what is started on other hosts, so that no file may set it";
      error.hint = elsewhere;
    } else {
      const std::string& origin = options.origin(name);
      if (origin == "default" || origin.rfind("link profile ", 0) == 0) {
        options = std::move(*changed);
      }
      continue;
    }
    error.code = ErrorCode::kConfig;
    error.what = user.places.at(name) + ": " + error.what;
    problems.push_back(std::move(error));
  }
}

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

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config) {
  OptionSources sources;
  sources.flags = args.options;
  sources.scenario = scenario_config;
  sources.environment = read_option_environment();
  sources.choices = transport_choices();
  auto options = OptionSet::resolve(sources);
  if (!options) return options;
  const Expected<UserOptions> user = read_user_options(user_options_path());
  if (!user) return tl::unexpected(std::vector<Error>{user.error()});
  std::vector<Error> problems;
  add_user_options(*user, *options, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  // Not run over another one instead, whatever the place it was named in.
  if (const auto usable = find_transport(options->text("transport"), args.has(kRanksInProcess));
      !usable) {
    Error error = usable.error();
    error.what += " (from " + options->origin("transport") + ")";
    return tl::unexpected(std::vector<Error>{std::move(error)});
  }
  return options;
}

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
