#include "core/shell_words.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace plumbline {
namespace {

bool needs_no_quotes(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

constexpr std::string_view kOfShell = "|&;<>()$`*?\n", kOfShellInQuotes = "$`";

// Splits; each function reads what begins at its place.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Expected<std::vector<std::string>> all() {
    while (at_ < text_.size() && trouble_.empty()) {
      const char c = text_[at_++];
      if (c == ' ' || c == '\t') {
        end_word();
      } else {
        open_ = true;
        plain(c);
      }
    }
    end_word();
    if (trouble_.empty() && words_.empty()) trouble_ = "it is empty";
    if (trouble_.empty()) return std::move(words_);
    return fail(ErrorCode::kConfig, trouble_,
                "a command runs without a shell: quote it, or write its words as a list");
  }

 private:
  void plain(char c) {
    if (c == '\'') {
      single();
    } else if (c == '"') {
      twice();
    } else if (c == '\\') {
      if (at_ == text_.size()) trouble_ = "a \\ stands before nothing";
      if (at_ < text_.size()) word_ += text_[at_++];
    } else {
      take(c, kOfShell);
    }
  }
  void single() {
    const size_t end = text_.find('\'', at_);
    if (end == text_.npos) {
      trouble_ = "a ' is not closed";
      return;
    }
    word_ += text_.substr(at_, end - at_);
    at_ = end + 1;
  }
  void twice() {
    while (at_ < text_.size() && trouble_.empty()) {
      const char c = text_[at_++];
      if (c == '"') return;
      const bool escape = c == '\\' && at_ < text_.size();
      if (escape && (text_[at_] == '"' || text_[at_] == '\\')) {
        word_ += text_[at_++];
      } else {
        take(c, kOfShellInQuotes);
      }
    }
    if (trouble_.empty()) trouble_ = "a \" is not closed";
  }
  void take(char c, std::string_view refused) {
    if (refused.find(c) == refused.npos) {
      word_ += c;
    } else {
      trouble_ = c == '\n' ? "a newline means something to a shell only"
                           : std::string("a '") + c + "' means something to a shell only";
    }
  }
  void end_word() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool open_ = false;  // a word has begun; '' is one too
  std::string word_, trouble_;
  std::vector<std::string> words_;
};

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(std::string_view text) {
  const auto odd = std::find_if_not(text.begin(), text.end(), needs_no_quotes);
  if (!text.empty() && odd == text.end()) return std::string(text);
  // --option='its value': the option stays as it is known.
  const size_t equals = text.find('=');
  const bool option = text.substr(0, 2) == "--" && equals < static_cast<size_t>(odd - text.begin());
  if (!option) return shell_quoted(text);
  return std::string(text.substr(0, equals + 1)) + shell_quoted(text.substr(equals + 1));
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool first = line.empty();
    if (!first) line += ' ';
    line += !first && word == "!" ? word : shell_word(word);  // it negates only as the first word
  }
  return line;
}

Expected<std::vector<std::string>> split_words(std::string_view text) {
  return Splitter(text).all();
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_alnum(c) || c == '_'; });
}

}  // namespace plumbline
