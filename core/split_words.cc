#include "core/split_words.h"

#include <utility>

namespace plumbline {
namespace {

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

Expected<std::vector<std::string>> split_words(std::string_view text) {
  return Splitter(text).all();
}

}  // namespace plumbline
