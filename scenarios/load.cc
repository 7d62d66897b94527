// From a file name to a checked Scenario: read, include, merge, check. Every step goes on with what
// the one before left, so that one run shows all that is wrong.
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "core/json.h"
#include "scenarios/host_words.h"
#include "scenarios/json_text.h"
#include "scenarios/read.h"
#include "scenarios/read_expect.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Keys that are joined name by name when files are merged; all others are replaced.
constexpr const char* kJoinedKeys[] = {"config", "launch"};

// What a file says, and where.
struct Tree {
  Json json = Json::object();
  JsonPlaces places;
};

void merge_over(Tree& under, Tree&& over) {
  Json &base = under.json, &top = over.json;
  for (auto it = top.begin(); it != top.end(); ++it) {
    const bool joined = contains(kJoinedKeys, it.key());
    if (joined && base.contains(it.key())) {
      base[it.key()].update(it.value());
    } else {
      base[it.key()] = std::move(it.value());
      under.places.erase_under(json_path("$", it.key()));
    }
  }
  under.places.add_all(over.places);
}

// hosts.hostfile is relative to the file in which it stands.
void find_host_file_from(Json& root, const std::string& file) {
  if (!root.contains("hosts") || !root["hosts"].is_object()) return;
  Json& hosts = root["hosts"];
  if (!hosts.contains("hostfile")) return;
  const fs::path target = hosts["hostfile"].get<std::string>();
  hosts["hostfile"] = (fs::path(file).parent_path() / target).lexically_normal().string();
}

class Loader {
 public:
  Loader(const Vocabulary& vocabulary, Problems& problems)
      : vocabulary_(vocabulary), problems_(problems) {}

  // The tree of this text with all that it includes underneath.
  Tree tree(const std::string& text, const std::string& file) {
    const std::string name = chain_.empty() ? "" : file;
    auto root = parse_json_text(text, file, problems_);
    Tree own;
    own.places = places_.add(file, text);
    if (!root) {
      broken_ = true;
      return own;
    }
    check_shape(*root, name, vocabulary_, problems_);
    find_host_file_from(*root, file);
    find_baselines_from(*root, file);
    const auto included =
        root->contains("include") ? texts((*root)["include"]) : std::vector<std::string>{};
    included_ = included_ || !included.empty();
    root->erase("include");
    Tree merged;
    chain_.push_back(fs::path(file).lexically_normal());
    for (size_t i = 0; i < included.size(); ++i) {
      merge_over(merged, include(included[i], file, name));
    }
    chain_.pop_back();
    own.json = std::move(*root);
    merge_over(merged, std::move(own));
    return merged;
  }

  // The whole: what this text says with all that it includes underneath.
  Json whole(const std::string& text, const std::string& file) {
    Tree all = tree(text, file);
    places_.set_merged(std::move(all.places));
    return std::move(all.json);
  }

  // A file could not be read or parsed: what other files say cannot be judged without it.
  bool broken() const { return broken_; }
  bool included() const { return included_; }
  const TextPlaces& places() const { return places_; }

 private:
  Tree include(const std::string& target, const std::string& from, const std::string& name) {
    const std::string where = (name.empty() ? "" : name + ": ") + std::string("$.include");
    const fs::path path = (fs::path(from).parent_path() / target).lexically_normal();
    if (contains(chain_, path)) {
      return refuse(where, fmt::format("{} includes itself", in_quotes(path.string())),
                    "remove one of the includes of the circle");
    }
    if (static_cast<int>(chain_.size()) > kMaxIncludeDepth) {
      return refuse(where,
                    fmt::format("files include one another more than {} deep", kMaxIncludeDepth),
                    "join some of them");
    }
    const auto text = read_scenario_text(path.string(), where, problems_);
    if (!text) {
      broken_ = true;
      return {};
    }
    return tree(*text, path.string());
  }

  Tree refuse(const std::string& where, std::string message, std::string hint) {
    broken_ = true;
    problems_.add(where, std::move(message), std::move(hint));
    return {};
  }

  const Vocabulary& vocabulary_;
  Problems& problems_;
  TextPlaces places_;
  std::vector<fs::path> chain_;
  bool broken_ = false, included_ = false;
};

tl::unexpected<std::vector<ScenarioProblem>> all(Problems& problems, const TextPlaces& places) {
  return tl::unexpected(places.located(problems.take()));
}

// The text as it was given, comments and all; where it leans on other files, what was read of them,
// so that it means the same in any folder.
std::string text_to_keep(const std::string& text, Json root, bool included) {
  const bool host_file =
      root.contains("hosts") && root["hosts"].is_object() && root["hosts"].contains("hostfile");
  if (!included && !host_file) return text;
  if (host_file && root["hosts"]["hostfile"].is_string()) {
    std::error_code ignored;
    Json& path = root["hosts"]["hostfile"];
    path = fs::absolute(path.get<std::string>(), ignored).string();
  }
  return json_text(root, 2);
}

}  // namespace

OrProblems<Scenario> parse_scenario(const std::string& text, const std::string& file,
                                    const Vocabulary& vocabulary) {
  Problems problems;
  Loader loader(vocabulary, problems);
  const Json root = loader.whole(text, file);
  if (loader.broken()) return all(problems, loader.places());
  Scenario scenario = read_scenario(root, problems);
  scenario.file = file;
  scenario.text = text_to_keep(text, root, loader.included());
  scenario.name = fs::path(file).stem().string();
  if (const std::string wrong = scenario_name_problem(scenario.name); !wrong.empty()) {
    problems.add("$", "the file's name is the scenario's, and " + wrong,
                 "rename the file: reports and folders are called by it");
  }
  if (root.contains("expect")) {
    scenario.expect = read_expect(root["expect"], file, "", vocabulary, problems);
  }
  check_scenario(scenario, vocabulary, problems);
  if (problems.empty() && scenario.matrix.empty() && scenario.probes.empty()) {
    problems.add("$", "there is nothing to do: neither probes nor a matrix",
                 "docs/scenario_format.md shows an example");
  }
  if (!problems.empty()) return all(problems, loader.places());
  for (Rule& rule : scenario.expect) rule.place = loader.places().located(rule.place);
  return scenario;
}

OrProblems<Scenario> load_scenario(const std::string& path, const Vocabulary& vocabulary) {
  Problems problems;
  const auto text = read_scenario_text(path, path, problems);
  if (!text) return tl::unexpected(problems.take());
  return parse_scenario(*text, path, vocabulary);
}

std::string to_line(const ScenarioProblem& problem) {
  return problem.where + ": " + problem.message + (problem.hint.empty() ? "" : "; " + problem.hint);
}

}  // namespace plumbline
