#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/named_inputs.h"
#include "core/json.h"
#include "core/number.h"
#include "core/record/record.h"
#include "core/record/tally.h"
#include "core/shell_words.h"
#include "core/units.h"
#include "reports/document.h"
#include "reports/text.h"
#include "runs/history.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kShortId = 8;  // letters of an id in the list

bool folder_is_there(const HistoryEntry& entry) {
  std::error_code code;
  return fs::is_directory(entry.folder, code);
}

// "96 pass, 2 fail"; of a run that did not end, what was planned.
std::string counts_text(const HistoryEntry& entry) {
  if (!entry.exit_code) return fmt::format("{} planned", entry.cells);
  const auto count = [](int64_t number) {
    return static_cast<size_t>(std::max<int64_t>(0, number));
  };
  Tally tally;
  tally.add(Outcome::kPassed, count(entry.passed));
  tally.add(Outcome::kFailed, count(entry.failed));
  tally.add(Outcome::kError, count(entry.errors));
  tally.add(Outcome::kSkipped, count(entry.skipped));
  return tally.text();
}

json to_json(const HistoryEntry& entry) {
  json object = entry_json(entry);
  for (const char* of_file : {"plumbline_run", "made_folder"}) object.erase(of_file);
  if (entry.ended.empty()) object["ended"] = nullptr;
  object["state"] = state_of(entry);
  object["folder_exists"] = folder_is_there(entry);
  return object;
}

Tone tone_of(const HistoryEntry& entry) {
  if (!entry.exit_code) return entry.running ? Tone::kPlain : Tone::kWarn;
  return *entry.exit_code == 0 ? Tone::kPlain : Tone::kBad;
}

// nullopt after printing why there is none.
std::optional<std::vector<HistoryEntry>> entries_of(Context& context) {
  std::vector<std::string> notes;
  Expected<std::vector<HistoryEntry>> entries = read_history(notes);
  for (const std::string& note : notes) *context.err << "plumbline: " << note << "\n";
  if (entries) return std::move(*entries);
  usage_failure(context, entries.error());
  return std::nullopt;
}

// The one entry of that id; nullptr after printing why.
const HistoryEntry* find_entry(const std::vector<HistoryEntry>& entries, const std::string& id,
                               Context& context) {
  const Expected<const HistoryEntry*> found = find_run(entries, id);
  if (found && *found != nullptr) return *found;
  const std::string what = id.empty()       ? "results show: which run?"
                           : id == kLastRun ? "there are no runs yet"
                                            : fmt::format("there is no run '{}'", clean(id));
  usage_failure(context, !found
                             ? found.error()
                             : Error{ErrorCode::kUsage, what, 0,
                                     "plumbline results list shows them; last is the newest", ""});
  return nullptr;
}

// "30d", or a duration such as "12h", in seconds.
Expected<int64_t> parse_age(const std::string& text) {
  constexpr int64_t kDay = 86'400, kMostDays = 100'000;
  if (!text.empty() && text.back() == 'd') {
    const std::string_view number = std::string_view(text).substr(0, text.size() - 1);
    if (const auto days = parse_whole<int64_t>(number, 0, kMostDays)) return *days * kDay;
  } else if (const auto ns = parse_duration(text)) {
    return *ns / 1'000'000'000;
  }
  return fail(ErrorCode::kUsage, fmt::format("--older-than '{}' is no age", clean(text)),
              "write 30d, 12h or 90m");
}

// What to prune: the oldest beyond --keep, those older than --older-than; both together = either.
struct PruneRule {
  std::optional<size_t> keep;
  std::optional<int64_t> older_than_s;
};

Expected<PruneRule> prune_rule(const Args& args) {
  PruneRule rule;
  if (args.has("keep")) {
    const Expected<int64_t> keep = flag_number(args, "keep", 0, 0, 1'000'000);
    if (!keep) return fail(keep.error());
    rule.keep = static_cast<size_t>(*keep);
  }
  if (args.has("older-than")) {
    const Expected<int64_t> age = parse_age(args.get("older-than"));
    if (!age) return fail(age.error());
    rule.older_than_s = *age;
  }
  if (!rule.keep && !rule.older_than_s) {
    return fail(
        ErrorCode::kUsage, "results prune: say which runs to remove",
        "--keep N keeps the newest N, --older-than 30d the younger ones; --dry-run only says "
        "what would go");
  }
  return rule;
}

bool goes(const PruneRule& rule, const HistoryEntry& entry, size_t newer, int64_t now_s) {
  if (entry.running) return false;
  if (rule.keep && newer >= *rule.keep) return true;
  const std::optional<int64_t> started_ms = epoch_ms(entry.started);
  return rule.older_than_s && started_ms && now_s - *started_ms / 1000 > *rule.older_than_s;
}

std::string short_id(const HistoryEntry& entry) { return clean(entry.id.substr(0, kShortId)); }

// "2026-11-23 00:44" of RFC 3339.
std::string minute_of(const HistoryEntry& entry) {
  std::string text = entry.started.substr(0, 16);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

// As one would write it here: "./..." below the current folder, "~/..." below one's home.
std::string short_folder(const HistoryEntry& entry) {
  std::error_code code;
  const std::string here = fs::current_path(code).string();
  const char* home = std::getenv("HOME");
  const auto below = [&entry](const std::string& folder) {
    return folder.size() > 1 && entry.folder.starts_with(folder + "/");
  };
  if (!code && below(here)) return "." + entry.folder.substr(here.size());
  if (home != nullptr && below(home)) return "~" + entry.folder.substr(std::strlen(home));
  return entry.folder;
}

// Why the entry's folder stays although the entry goes; empty = it goes too (or is gone already).
std::string stays_because(const HistoryEntry& entry, const std::set<std::string>& kept_folders) {
  if (!folder_is_there(entry)) return "";
  if (!entry.made_folder) return "it was there before the run";
  if (kept_folders.count(entry.folder) > 0) return "another run is in it";
  const auto files = own_files(entry.folder);
  return files ? "" : files.error().message();
}

}  // namespace

int results_list(const Args& args, Context& context) {
  const auto entries = entries_of(context);
  if (!entries) return 1;
  if (args.has("json")) {
    json all = json::array();
    for (const HistoryEntry& entry : *entries) all.push_back(to_json(entry));
    *context.out << json_text(all);
    return 0;
  }
  if (entries->empty()) {
    *context.out << "no runs yet\n";
    return 0;
  }
  const bool all = args.has("verbose");
  Table table;
  table.columns = {{"", "id", "", true, 0, false},       {"", "started", "UTC", true, 1, false},
                   {"", "scenario", "", true, 2, false}, {"", "state", "", true, 0, false},
                   {"", "cells", "", true, 4, false},    {"", "folder", "", true, 3, false}};
  table.columns.back().path = true;
  size_t gone = 0;
  for (const HistoryEntry& entry : *entries) {
    const bool there = folder_is_there(entry);
    if (!there && !entry.running && !all) {
      ++gone;
      continue;
    }
    table.rows.push_back({{short_id(entry), minute_of(entry), entry.scenario, state_of(entry),
                           counts_text(entry), short_folder(entry) + (there ? "" : " (gone)")},
                          tone_of(entry)});
  }
  Document document;
  document.table(std::move(table));
  if (gone > 0) {
    document.paragraph(
        fmt::format("{} run{} whose folder is gone: results list -v", gone, gone == 1 ? "" : "s"));
  }
  const HistoryEntry& last = entries->front();
  document.paragraph(fmt::format("last is {}{}; last, or an id, stands for the folder of a run",
                                 short_id(last),
                                 folder_is_there(last) ? "" : " (its folder is gone)"));
  render_text(document, context.width, context.out_colour, *context.out);
  return 0;
}

int results_show(const Args& args, Context& context) {
  const auto entries = entries_of(context);
  if (!entries) return 1;
  const HistoryEntry* entry = find_entry(*entries, args.get("id"), context);
  if (entry == nullptr) return 1;
  const std::vector<std::string> reports = reports_in(entry->folder);
  if (args.has("json")) {
    json object = to_json(*entry);
    object["reports"] = reports;
    *context.out << json_text(object);
    return 0;
  }
  std::ostream& out = *context.out;
  const auto line = [&out](const char* name, const std::string& text) {
    out << fmt::format("{:<10}{}\n", name, clean(text));
  };
  line("run", entry->id);
  line("scenario", entry->scenario);
  line("state", state_of(*entry));
  line("started", entry->started);
  if (!entry->ended.empty()) line("ended", entry->ended);
  line("cells", counts_text(*entry));
  if (entry->rules > 0) {
    line("rules", fmt::format("{}, {} broken", entry->rules, entry->rules_broken));
  }
  line("version", "plumbline " + entry->version);
  line("command", shell_line(entry->command));
  line("folder", entry->folder + (folder_is_there(*entry) ? "" : " (gone)"));
  for (const std::string& report : reports) line("report", report);
  std::error_code code;
  const std::string records = (fs::path(entry->folder) / kRecordsFile).string();
  if (fs::exists(records, code)) line("records", records);
  return 0;
}

int results_prune(const Args& args, Context& context) {
  const Expected<PruneRule> rule = prune_rule(args);
  if (!rule) return usage_failure(context, rule.error());
  const auto entries = entries_of(context);
  if (!entries) return 1;
  const bool dry = args.has("dry-run");
  const auto now_s = static_cast<int64_t>(std::time(nullptr));
  std::vector<const HistoryEntry*> pruned;
  std::set<std::string> kept_folders;
  for (size_t i = 0; i < entries->size(); ++i) {
    const HistoryEntry& entry = (*entries)[i];
    if (goes(*rule, entry, i, now_s)) {
      pruned.push_back(&entry);
    } else {
      kept_folders.insert(entry.folder);
    }
  }
  int status = 0;
  for (const HistoryEntry* entry : pruned) {
    std::string what = fmt::format("{} {}", dry ? "would remove" : "removed", short_id(*entry));
    const std::string stays = stays_because(*entry, kept_folders);
    Status done;
    if (!stays.empty()) {
      what += fmt::format("; its folder {} stays: {}", clean(entry->folder), clean(stays));
    } else if (folder_is_there(*entry)) {
      what += " with " + clean(entry->folder);
      if (!dry) done = remove_run_folder(entry->folder);
    }
    if (done && !dry) done = forget(*entry);
    if (!done) {
      *context.err << "plumbline: " << done.error().message() << "\n";
      status = 1;
      continue;
    }
    *context.out << what << "\n";
  }
  if (pruned.empty()) *context.out << "nothing to remove\n";
  return status;
}

}  // namespace plumbline
