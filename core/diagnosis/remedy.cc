#include "core/diagnosis/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/printable.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

constexpr const char* kSilently = " 2>/dev/null || true";

}  // namespace

Command&& Command::may_fail() && {
  may_fail_ = true;
  return std::move(*this);
}

Command&& Command::remark(const std::string& text) && {
  remark_ = escaped(text);
  return std::move(*this);
}

std::string Command::problem() const {
  if (words_.empty() || !words_[0].is_literal()) return "it names no program";
  for (const Word& word : words_) {
    if (!word.is_sound()) return word.problem();
  }
  return {};
}

std::vector<std::string> Command::argv() const {
  std::vector<std::string> argv;
  if (may_fail_) argv = {"sh", "-c", std::string("\"$@\"") + kSilently, "sh"};
  for (const Word& word : words_) argv.push_back(word.text());
  return argv;
}

std::string shell_text(const Command& command) {
  std::vector<std::string> words;
  for (const Word& word : command.words_) words.push_back(word.text());
  return shell_line(words) + (command.may_fail_ ? kSilently : "");
}

Remedy& Remedy::say(const std::string& advice) & {
  if (!advice.empty()) steps_.push_back({std::nullopt, escaped(advice), false});
  return *this;
}

Remedy& Remedy::run(const Command& command) & {
  const std::string problem = command.problem();
  if (!problem.empty()) {
    return say(fmt::format("# no command, because {}; it would have been: {}", problem,
                           shell_text(command)));
  }
  const std::string remark = command.remark_.empty() ? "" : "  # " + command.remark_;
  steps_.push_back({command, shell_text(command) + remark, true});
  return *this;
}

Remedy& Remedy::then(const Remedy& other) & {
  for (const RemedyStep& step : other.steps_) {
    const bool known = std::any_of(steps_.begin(), steps_.end(), [&](const RemedyStep& mine) {
      const bool same_host =
          !mine.command || !step.command || mine.command->host_ == step.command->host_;
      return mine.text == step.text && mine.is_code == step.is_code && same_host;
    });
    if (!known) steps_.push_back(step);
  }
  return *this;
}

Remedy& Remedy::on(const std::string& host) {
  for (RemedyStep& step : steps_) {
    if (step.command && step.command->host_.empty()) step.command->host_ = host;
  }
  return *this;
}

Remedy Remedy::only_shown(const std::string& text, const std::vector<std::string>& code) {
  Remedy out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.say(text.substr(at, end - at));
    if (end > at) {
      const std::string& line = out.steps_.back().text;
      out.steps_.back().is_code = std::any_of(code.begin(), code.end(), [&](const auto& command) {
        return line == command || line.rfind(command + " ", 0) == 0;
      });
    }
    at = end + 1;
  }
  return out;
}

std::vector<HostCommand> Remedy::commands() const {
  std::vector<HostCommand> out;
  for (const RemedyStep& step : steps_) {
    if (step.command) out.push_back({step.command->host_, step.command->argv()});
  }
  return out;
}

std::string Remedy::text() const {
  std::string out;
  for (const RemedyStep& step : steps_) out += (out.empty() ? "" : "\n") + step.text;
  return out;
}

void Remedy::reword(const std::function<std::string(const std::string&)>& reworded) {
  for (RemedyStep& step : steps_) {
    if (!step.command) step.text = escaped(reworded(step.text));
  }
}

}  // namespace plumbline
