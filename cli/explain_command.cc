// `plumbline explain MESSAGE`: what an error message of the network means, which causes are behind
// it, and the command that finds out which one it is.

#include <set>

#include "cli/commands.h"
#include "core/diagnosis/cause.h"
#include "core/json.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostRows = 4;

std::string probe_command(const std::vector<const SymptomRow*>& rows) {
  std::vector<std::string> probes;
  std::set<std::string> seen;
  for (const SymptomRow* row : rows) {
    for (const std::string& probe : row->probes) {
      if (seen.insert(probe).second) probes.emplace_back(probe);
    }
  }
  std::string command = "plumbline doctor --hosts HOSTS.json";
  for (const std::string& probe : probes) command += " --only " + probe;
  return command;
}

// The call that looks at the job of the stack whose words these are; empty where the most specific
// row is of none.
std::string stack_command(const SymptomRow& row) {
  if (row.stack == nullptr) return {};
  if (row.runs) return "plumbline doctor --hosts HOSTS.json --job PID@HOST";
  return std::string("plumbline doctor --hosts HOSTS.json --stack ") + row.stack;
}

// What to do next. Rows behind the first one are less specific: where the first one is about
// something that no probe looks at, theirs would not answer it.
std::string next_step(const std::vector<const SymptomRow*>& rows) {
  const SymptomRow& first = *rows.front();
  if (first.by_hand != nullptr) return std::string("Try by hand: ") + first.by_hand;
  const std::string stack = stack_command(first);
  if (stack.empty()) return "Which one it is: " + probe_command(rows);
  return first.runs ? "While the job hangs: " + stack : "Before the job starts again: " + stack;
}

void print_rows(const std::vector<const SymptomRow*>& rows, Context& context) {
  const auto width = static_cast<size_t>(context.width);
  const auto write = [&](const std::string& text, const std::string& label) {
    for (const std::string& line : wrap(text, width, label)) *context.out << line << "\n";
  };
  std::set<std::string> told;
  for (const SymptomRow* row : rows) {
    write(row->meaning, std::string(row->source) + ": ");
    for (const std::string& id : row->causes) {
      if (!told.insert(id).second) continue;
      const CauseRow* cause = find_cause(id);
      write(std::string(cause->meaning) + "; seen by: " + cause->seen_by, "  " + id + "  ");
    }
  }
  *context.out << "\n" << next_step(rows) << "\n";
}

}  // namespace

int run_explain(const Args& args, Context& context) {
  std::string message;
  for (const std::string& word : args.all("message"))
    message += (message.empty() ? "" : " ") + word;
  std::vector<const SymptomRow*> rows = explain(message);
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  if (args.has("json")) {
    nlohmann::json json = nlohmann::json::array();
    for (const SymptomRow* row : rows) {
      json.push_back({{"source", row->source},
                      {"meaning", row->meaning},
                      {"causes", row->causes},
                      {"probes", row->probes}});
      if (row->by_hand != nullptr) json.back()["by_hand"] = row->by_hand;
      if (row->stack != nullptr) json.back()["stack"] = row->stack;
      const std::string next = stack_command(*row);
      if (!next.empty()) json.back()["next"] = next;
    }
    *context.out << json_text(json, 2);
    return rows.empty() ? 2 : 0;
  }
  if (rows.empty()) {
    *context.out << "This message is not in the table. plumbline doctor --hosts HOSTS.json looks "
                    "at everything.\n";
    return 2;
  }
  print_rows(rows, context);
  return 0;
}

}  // namespace plumbline
