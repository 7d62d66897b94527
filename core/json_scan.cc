#include "core/json_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/text.h"

namespace plumbline {
namespace {

// Deeper than any file that people write here goes: what lies below has no place of its own.
constexpr size_t kDeepest = 12;
constexpr size_t kMostFaults = 200;  // keys that stand twice
constexpr const char* kMember = "a member is written \"name\": value";

size_t first_bad_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point(text, at);
    if (!point.valid) return at;
    at += point.bytes;
  }
  return std::string_view::npos;
}

// Reads forward, one token after the other, without recursion. Steps return false after a fault.
class Scanner : private JsonLexer {
 public:
  explicit Scanner(std::string_view text) : JsonLexer(text) {}

  JsonScan run() {
    if (const size_t bad = first_bad_utf8(text_); bad != std::string_view::npos) {
      fault(bad, "this byte is not UTF-8 text", "save the file as UTF-8");
      return std::move(out_);
    }
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;  // a byte order mark
    while (space() && step()) {
    }
    return std::move(out_);
  }

 private:
  enum class Next { kValue, kElementOrEnd, kKeyOrEnd, kKey, kColon, kCommaOrEnd, kEnd };
  struct Open {
    size_t at;
    bool array;
  };
  // Of the first kDeepest of the open ones.
  struct Level {
    std::string path, key;
    size_t index = 0;
    std::set<std::string> keys;
  };

  char closing() const { return open_.back().array ? ']' : '}'; }
  // "'{' of line 3".
  std::string opening() const {
    return fmt::format("'{}' of line {}", open_.back().array ? '[' : '{', line_of(open_.back().at));
  }
  // A letter here, or part of one that is not ASCII.
  bool at_word() const {
    return is_json_word(here()) || static_cast<unsigned char>(here()) >= 0x80;
  }

  bool step() {
    if (at_end()) return ended();
    switch (next_) {
      case Next::kValue:
        return value();
      case Next::kElementOrEnd:
        return here() == ']' ? close() : value();
      case Next::kKeyOrEnd:
        return here() == '}' ? close() : key();
      case Next::kKey:
        return key();
      case Next::kColon:
        return colon();
      case Next::kCommaOrEnd:
        return comma_or_end();
      case Next::kEnd:
        break;
    }
    return beyond();
  }

  bool ended() {
    if (next_ == Next::kEnd) return false;  // the only end without a fault
    if (open_.empty()) return fault(0, "there is no value in this file", "");
    return fault(at_, fmt::format("the file ends here, and the {} is not closed", opening()),
                 fmt::format("write the missing '{}'", closing()));
  }

  bool beyond() {
    const char c = here();
    if (c == '}' || c == ']') {
      return fault(at_, fmt::format("this '{}' closes nothing", c), "it is one too many");
    }
    return fault(at_,
                 fmt::format("the file goes on behind its end, the {} of line {}", last_shown(),
                             line_of(last_.begin)),
                 "it holds one value; was a bracket closed too early?");
  }

  // ---- values ----

  Level* level() { return open_.size() <= kDeepest ? &levels_.back() : nullptr; }

  // Of the value that begins now; empty when it lies too deep.
  std::string path_of_value() {
    if (open_.empty()) return "$";
    const Level* in = level();
    if (in == nullptr) return {};
    return open_.back().array ? json_element_path(in->path, in->index)
                              : json_member_path(in->path, in->key);
  }

  bool open(char c) {
    if (open_.size() < kDeepest) {
      std::string path = path_of_value();
      levels_.push_back({std::move(path), {}, 0, {}});
    }
    open_.push_back({at_, c == '['});
    take(at_, at_ + 1);
    next_ = c == '[' ? Next::kElementOrEnd : Next::kKeyOrEnd;
    return true;
  }

  bool close() {
    if (open_.size() <= kDeepest) levels_.pop_back();
    open_.pop_back();
    take(at_, at_ + 1);
    return valued();
  }

  bool valued() {
    next_ = open_.empty() ? Next::kEnd : Next::kCommaOrEnd;
    return true;
  }

  bool value() {
    const char c = here();
    if (open_.empty() || open_.back().array) {
      const std::string path = path_of_value();
      if (!path.empty()) out_.places.add(path, spot_here(at_));
    }
    if (c == '{' || c == '[') return open(c);
    if (c == '"') {
      std::string content;
      return string(content) && valued();
    }
    if (is_json_word(c)) return scalar() && valued();
    if (std::string_view(",}]:=").find(c) != std::string_view::npos) return missing_value();
    return odd();
  }

  bool missing_value() {
    const char c = here();
    if (open_.empty()) return fault(at_, fmt::format("a file cannot begin with '{}'", c), "");
    const bool behind_comma = text_[last_.begin] == ',';
    if (behind_comma && c == closing()) return comma_too_many();
    return fault(at_,
                 fmt::format("a value is missing behind the '{}' of line {}", last_shown(),
                             line_of(last_.begin)),
                 behind_comma ? "write it, or remove one of the commas" : "write it there");
  }

  bool comma_too_many() {
    return fault(at_,
                 fmt::format("the comma of line {} is one too many: nothing follows it before '{}'",
                             line_of(last_.begin), here()),
                 "remove it");
  }

  // ---- members ----

  bool key() {
    const char c = here();
    if (c == '}' && text_[last_.begin] == ',') return comma_too_many();
    if (is_json_word(c)) return bare_key();
    if (c != '"' && std::string_view(",}]:={[").find(c) == std::string_view::npos) return odd();
    if (c != '"') {
      return fault(at_, fmt::format("a key is missing before '{}'", c),
                   c == ']' ? fmt::format("the {} is still open: is its '}}' missing?", opening())
                            : kMember);
    }
    const size_t begin = at_;
    std::string name;
    if (!string(name)) return false;
    if (Level* in = level(); in != nullptr) note(*in, name, spot_here(begin));
    next_ = Next::kColon;
    return true;
  }

  void note(Level& in, const std::string& name, JsonSpot spot) {
    const std::string path = json_member_path(in.path, name);
    if (!in.keys.insert(name).second && out_.faults.size() < kMostFaults) {
      out_.faults.push_back(
          {spot, path, fmt::format("key {} is there twice", in_quotes(name)), "keep one of them"});
    }
    out_.places.add(path, spot);
    in.key = name;
  }

  bool bare_key() {
    const std::string_view token = word(at_);
    const size_t end = at_ + token.size();
    if (end < text_.size() && text_[end] == '"') {
      return fault(at_, fmt::format("the quote before {} is missing", json_word_shown(token)),
                   "write \" there");
    }
    return fault(at_, fmt::format("the key {} is not in double quotes", json_word_shown(token)),
                 kMember);
  }

  bool colon() {
    if (here() == ':') {
      take(at_, at_ + 1);
      next_ = Next::kValue;
      return true;
    }
    if (quotes_unpaired()) return false;
    return fault(at_,
                 fmt::format("a colon is missing after the key {} on line {}", last_shown(),
                             line_of(last_.begin)),
                 here() == '=' ? "write ':' in place of '='" : kMember);
  }

  // Letters directly behind a text: one of the quotes on its line is not where it should be. True
  // after saying so.
  bool quotes_unpaired() {
    const bool behind_text = text_[last_.begin] == '"' && last_.end == at_;
    if (!behind_text || !at_word()) return false;
    fault(at_, fmt::format("the quotes do not pair up: the text {} ends here", last_shown()),
          "a quote is missing before it, or one is too many (within a text it is written \\\")");
    return true;
  }

  bool comma_or_end() {
    const char c = here();
    if (c == ',') {
      take(at_, at_ + 1);
      if (open_.back().array && level() != nullptr) ++level()->index;
      next_ = open_.back().array ? Next::kValue : Next::kKey;
      return true;
    }
    if (c == closing()) return close();
    if (c == '}' || c == ']') {
      return fault(at_, fmt::format("this '{}' cannot close the {}", c, opening()),
                   fmt::format("a '{}' is missing before it, or it is one too many", closing()));
    }
    if (quotes_unpaired()) return false;
    if (at_word() || std::string_view("\"'{[").find(c) != std::string_view::npos) {
      return fault(at_,
                   fmt::format("a comma is missing after {} on line {}", last_shown(),
                               line_of(last_.end - 1)),
                   "write ',' there");
    }
    return fault(at_,
                 fmt::format("{} stands where ',' or '{}' should be",
                             json_word_shown(text_.substr(at_, 1)), closing()),
                 "");
  }

  Next next_ = Next::kValue;
  std::vector<Open> open_;
  std::vector<Level> levels_;
};

}  // namespace

JsonScan scan_json(std::string_view text) { return Scanner(text).run(); }

std::string spot_text(const JsonSpot& spot) { return fmt::format("{}:{}", spot.line, spot.column); }

void JsonPlaces::add(const std::string& path, JsonSpot spot) {
  constexpr size_t kMost = 100'000;  // a hostile file is not worth the memory
  if (spots_.size() < kMost) spots_.insert_or_assign(path, spot);
}

void JsonPlaces::add_all(const JsonPlaces& top, std::optional<size_t> file) {
  for (auto [path, spot] : top.spots_) {
    spot.file = file.value_or(spot.file);
    add(path, spot);
  }
}

void JsonPlaces::erase_under(const std::string& path) {
  auto it = spots_.lower_bound(path);
  while (it != spots_.end() && it->first.rfind(path, 0) == 0) {
    const char next = it->first.size() == path.size() ? '.' : it->first[path.size()];
    it = next == '.' || next == '[' ? spots_.erase(it) : std::next(it);
  }
}

JsonSpot JsonPlaces::find(std::string_view path) const {
  while (!path.empty()) {
    if (const auto it = spots_.find(path); it != spots_.end()) return it->second;
    const size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  return {};
}

std::string json_member_path(const std::string& parent, const std::string& key) {
  const bool plain =
      !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      });
  return plain ? parent + "." + key : parent + "[" + in_quotes(key) + "]";
}

std::string json_element_path(const std::string& parent, size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace plumbline
