// `plumbline hosts`: host files of every format found out, shown, checked, converted, and made into
// what MLX's backends read.

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "cli/commands.h"
#include "cli/hosts_discover.h"
#include "cli/hosts_show.h"
#include "core/fd.h"
#include "core/json.h"
#include "core/ranges.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "reports/text.h"
#include "scenarios/host_files/backends.h"
#include "scenarios/host_files/ssh_config.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

template <typename Rows>
std::vector<std::string> names_in(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

Error unknown_word(const std::string& what, const std::string& word,
                   const std::vector<std::string>& names) {
  return usage_error(what + " '" + word + "'",
                     near_or(word, names, fmt::format("one of: {}", fmt::join(names, ", "))));
}

// ---- check ----

std::vector<std::string> fitting_backends(const HostFile& file) {
  std::vector<std::string> out;
  for (const BackendRow& row : backend_table()) {
    if (check_host_file(file, &row).empty()) out.emplace_back(row.name);
  }
  return out;
}

// `file` is null when it could not be read: then the problems say why.
int report_check(const std::string& path, const HostFile* file, const BackendRow* backend,
                 const std::vector<ScenarioProblem>& problems, const Args& args, Context& context) {
  const std::vector<std::string> fits =
      file == nullptr ? std::vector<std::string>{} : fitting_backends(*file);
  if (args.has("json")) {
    nlohmann::json list = nlohmann::json::array();
    for (const ScenarioProblem& problem : problems) {
      list.push_back(
          {{"where", problem.where}, {"message", problem.message}, {"hint", problem.hint}});
    }
    const nlohmann::json all = {{"file", path},
                                {"format", file == nullptr ? "" : file->row->name},
                                {"problems", std::move(list)},
                                {"backends", fits}};
    *context.out << json_text(all);
    return problems.empty() ? 0 : 1;
  }
  for (const ScenarioProblem& problem : problems) *context.out << clean(to_line(problem)) << "\n";
  if (!problems.empty()) {
    *context.out << fmt::format("{}: {} problem{}\n", clean(path), problems.size(),
                                problems.size() == 1 ? "" : "s");
    return 1;
  }
  *context.out << clean(host_file_summary(*file)) << ": no problems"
               << (backend == nullptr ? std::string() : fmt::format(" for {}", backend->name))
               << "; fits " << (fits.empty() ? "no backend of MLX" : join(fits, ", ")) << "\n";
  return 0;
}

// ---- convert ----

int convert(const HostFile& file, const HostFileFormat& as, int port, Context& context) {
  const Expected<WrittenHostFile> written = write_host_file(file, as, port);
  if (!written) return usage_failure(context, written.error());
  for (const std::string& lost : written->lost) {
    *context.err << clean(fmt::format("plumbline: lost, format {} cannot express it: {}", as.name,
                                      lost))
                 << "\n";
  }
  *context.out << written->text;
  return 0;
}

// ---- write ----

// Readable by its owner only: the environment may hold tokens.
Status write_private(const std::string& path, const std::string& text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd.get() < 0 || ::fchmod(fd.get(), 0600) != 0) {
    return fail_errno(ErrorCode::kConfig, "write " + path, errno, "choose a writable --dir");
  }
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::write(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail_errno(ErrorCode::kSystem, "write " + path, errno, "");
    done += static_cast<size_t>(got);
  }
  return {};
}

std::string environment_text(const EnvironmentList& environment) {
  std::string out;
  for (const auto& [name, value] : environment) out += name + "=" + shell_word(value) + "\n";
  return out;
}

int write_files(const HostFile& file, const BackendRow& backend, const LaunchRequest& request,
                Context& context) {
  const auto problems = check_host_file(file, &backend);
  for (const ScenarioProblem& problem : problems) {
    *context.err << clean("plumbline: " + to_line(problem)) << "\n";
  }
  if (!problems.empty()) return 1;
  const Expected<LaunchFiles> files = backend.files(file, request);
  if (!files) return usage_failure(context, files.error());
  std::error_code problem;
  fs::create_directories(request.folder, problem);
  if (problem) {
    return usage_failure(context, Error{ErrorCode::kConfig, "make the folder " + request.folder,
                                        problem.value(), "choose another --dir", ""});
  }
  std::vector<LaunchFiles::Named> all = files->files;
  for (size_t rank = 0; rank < files->environment.size(); ++rank) {
    all.push_back({fmt::format("rank{}.env", rank), environment_text(files->environment[rank])});
  }
  for (const LaunchFiles::Named& one : all) {
    const std::string path = request.folder + "/" + one.name;
    if (const Status written = write_private(path, one.text); !written) {
      return usage_failure(context, written.error());
    }
    *context.out << path << "\n";
  }
  return 0;
}

// No backend, but written in the same way: how the hosts are reached.
constexpr const char* kSsh = "ssh";

int write_ssh_config(const HostFile& file, const Args& args, Context& context) {
  const Expected<std::string> text = ssh_config_of(file);
  if (!text) return usage_failure(context, text.error());
  if (!args.has("dir")) {
    *context.out << *text;
    return 0;
  }
  std::error_code problem;
  fs::create_directories(args.get("dir"), problem);
  const std::string path = args.get("dir") + "/ssh_config";
  if (const Status written = write_private(path, *text); !written) {
    return usage_failure(context, written.error());
  }
  *context.out << path << "\n";
  return 0;
}

std::string absolute_folder(const std::string& folder) {
  std::string path = fs::absolute(folder).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// A flag that the action does not take, or lacks.
std::string flag_mistake(const Args& args, const std::string& action) {
  struct FlagUse {
    const char* flag;
    std::vector<const char*> actions;  // that take it
    const char* needed = "";           // the one that cannot do without
  };
  static const std::vector<FlagUse> kUses = {{"to", {"convert", "discover"}, "convert"},
                                             {"dir", {"write"}},
                                             {"backend", {"write", "check", "discover"}, "write"},
                                             {"port", {"write", "convert"}},
                                             {"json", {"show", "check", "discover"}},
                                             {"from", {"discover"}},
                                             {"since", {"discover"}},
                                             {"out", {"discover"}},
                                             {"force", {"discover"}},
                                             {"dot", {"discover"}},
                                             {"svg", {"discover"}}};
  for (const FlagUse& use : kUses) {
    if (args.has(use.flag) && !is_in(use.actions, action)) {
      return fmt::format("hosts {} takes no --{}", action, use.flag);
    }
    if (action == use.needed && !args.has(use.flag)) {
      return fmt::format("hosts {} needs --{}", action, use.flag);
    }
  }
  if (!args.options.empty() && action != "discover") {
    return fmt::format("hosts {} takes no --{}", action, args.options.begin()->first);
  }
  if (action == "write" && args.get("backend") != kSsh && !args.has("dir")) {
    return "hosts write needs --dir";
  }
  const size_t files = args.all("file").size();
  if (action != "discover" && files != 1) {
    return files == 0 ? fmt::format("hosts {} needs a file", action)
                      : fmt::format("hosts {} takes one file", action);
  }
  return {};
}

}  // namespace

int run_hosts(const Args& args, Context& context) {
  const std::string action = args.get("action"), path = args.get("file");
  const std::vector<std::string> actions = {"discover", "show", "check", "convert", "write"};
  if (std::find(actions.begin(), actions.end(), action) == actions.end()) {
    return usage_failure(context, unknown_word("no action", action, actions));
  }
  if (const std::string mistake = flag_mistake(args, action); !mistake.empty()) {
    return usage_failure(context, usage_error(mistake, "see plumbline hosts --help"));
  }
  const HostFileFormat* as = find_host_file_format(args.get("to"));
  if (args.has("to") && as == nullptr) {
    return usage_failure(context,
                         unknown_word("no format", args.get("to"), names_in(host_file_formats())));
  }
  const bool for_ssh = action == "write" && args.get("backend") == kSsh;
  const BackendRow* backend = find_backend(args.get("backend"));
  if (args.has("backend") && backend == nullptr && !for_ssh) {
    std::vector<std::string> names = names_in(backend_table());
    if (action == "write") names.emplace_back(kSsh);
    return usage_failure(context, unknown_word("no backend", args.get("backend"), names));
  }
  if (action == "discover") return discover_hosts(args, context);
  const Expected<int64_t> port = flag_number(args, "port", 0, 1, 65535);
  if (!port) return usage_failure(context, port.error());

  const auto file = load_host_file(path);
  if (action == "check") {
    if (file && backend == nullptr) backend = find_backend(file->backend);
    const auto problems = file ? check_host_file(*file, backend) : file.error();
    return report_check(path, file ? &*file : nullptr, backend, problems, args, context);
  }
  if (!file) {
    for (const ScenarioProblem& problem : file.error()) {
      *context.err << clean("plumbline: " + to_line(problem)) << "\n";
    }
    return 1;
  }
  if (action == "show") return show_host_file(*file, args.has("json"), context);
  const int first_port = static_cast<int>(*port);
  if (action == "convert") return convert(*file, *as, first_port, context);
  if (for_ssh) return write_ssh_config(*file, args, context);
  return write_files(*file, *backend, {absolute_folder(args.get("dir")), first_port}, context);
}

}  // namespace plumbline
