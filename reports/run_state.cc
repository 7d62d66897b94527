#include "reports/run_state.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>

#include "core/input_file.h"
#include "core/json.h"
#include "core/json_trouble.h"
#include "core/printable.h"
#include "core/shell_words.h"
#include "core/text_file.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostStateBytes = 64 << 10;

}  // namespace

Status keep_run_state(const std::string& folder, const RunState& state) {
  const nlohmann::json json = {{"state", state.state},
                               {"reason", state.reason},
                               {"planned", state.planned},
                               {"measured", state.measured}};
  return replace_text_file((fs::path(folder) / kRunStateFile).string(),
                           printable_json(json_text(json)));
}

Expected<RunState> read_run_state(const std::string& folder) {
  RunState state;
  state.state = "finished";
  const fs::path path = fs::path(folder) / kRunStateFile;
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return state;
  const Expected<std::string> text = read_input_file(path.string(), kMostStateBytes);
  if (!text)
    return fail(ErrorCode::kConfig, path.string() + ": left out: " + text.error().message());
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    state.state = json.at("state").get<std::string>();
    state.reason = json.value("reason", "");
    state.planned = json.value("planned", size_t{0});
    state.measured = json.value("measured", size_t{0});
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kConfig, path.string() + ": left out: " + json_trouble(error));
  }
  return state;
}

std::string incomplete_text(const RunState& state, const std::string& folder) {
  if (state.state == "finished") return {};
  const std::string cells = state.planned == 1 ? "cell" : "cells";
  std::string text;
  if (state.state == "running") {
    text = "the run did not end: it is still running, or was killed";
    if (state.planned > 0) text += fmt::format("; {} {} were planned", state.planned, cells);
  } else {
    text = state.planned > 0 ? fmt::format("{} after {} of {} {}", clean(state.state),
                                           state.measured, state.planned, cells)
                             : clean(state.state) + " before its end";
    if (!state.reason.empty()) text += ": " + clean(state.reason);
  }
  if (state.planned == 0) return text;
  return text + "; the same command with --resume --out " + shell_word(folder) +
         " measures the rest";
}

}  // namespace plumbline
