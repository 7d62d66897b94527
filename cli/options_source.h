// Where a command's data-path options come from: its flags, a scenario's config, the environment,
// the user's own configuration file. One place, so that every command resolves them alike. The file
// holds options only: what a command line must permit (--allow-commands) stands in no file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "core/options/options.h"

namespace plumbline {

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config = {});

struct UserOptions {
  std::string path;                           // empty = there is no such file
  std::map<std::string, std::string> values;  // option name -> text
  std::map<std::string, std::string> places;  // option name -> "config.json:3:5: $.name"
};

// $XDG_CONFIG_HOME/plumbline/config.json, else ~/.config/plumbline/config.json; empty when neither
// variable holds an absolute path.
std::string user_options_path();
// {"chunk_bytes": "1Mi", "spin_us": 50}: every option by its name, as in a scenario's `config`. No
// file is no options. An Error: it is no such object, too large, no regular file, or somebody else
// could have written it.
Expected<UserOptions> read_user_options(const std::string& path);

}  // namespace plumbline
