#include "scenarios/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/json_trouble.h"

namespace plumbline {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;  // a scenario is a page of text

std::string position(const std::string& text, const std::string& file, size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line = std::count(text.begin(), end, '\n') + 1;
  const size_t newline = byte == 0 ? std::string::npos : text.rfind('\n', byte - 1);
  const size_t column = newline == std::string::npos ? byte + 1 : byte - newline;
  return fmt::format("{}:{}:{}", file, line, column);
}

// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), or npos.
size_t first_bad_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4) return i;
    for (size_t k = 1; k <= more; ++k) {
      if (i + k >= text.size()) return i;
      const auto byte = static_cast<unsigned char>(text[i + k]);
      // The second byte's range is narrower after these leads: no overlong forms, no surrogates,
      // nothing above U+10FFFF.
      unsigned low = 0x80, high = 0xbf;
      if (k == 1 && lead == 0xe0) low = 0xa0;
      if (k == 1 && lead == 0xed) high = 0x9f;
      if (k == 1 && lead == 0xf0) low = 0x90;
      if (k == 1 && lead == 0xf4) high = 0x8f;
      if (byte < low || byte > high) return i;
    }
    i += more + 1;
  }
  return std::string::npos;
}

// Watches the parser and notes every key that an object has twice.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(Problems& problems) : problems_(problems) {}

  void see(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        if (++depth_ <= kDeepest) open(event == Event::array_start);
        break;
      case Event::object_end:
      case Event::array_end:
        if (depth_-- <= kDeepest) {
          levels_.pop_back();
          next_element();
        }
        break;
      case Event::key:
        if (depth_ <= kDeepest) key(parsed.get_ref<const std::string&>());
        break;
      case Event::value:
        if (depth_ <= kDeepest) next_element();
        break;
    }
  }

 private:
  struct Level {
    bool array;
    std::string path;  // of this value
    size_t index = 0;
    std::string last_key;
    std::set<std::string> keys;
  };

  void open(bool array) {
    std::string path = "$";
    if (!levels_.empty()) {
      const Level& parent = levels_.back();
      path = parent.array ? json_path(parent.path, parent.index)
                          : json_path(parent.path, parent.last_key);
    }
    levels_.push_back({array, std::move(path), 0, {}, {}});
  }
  void next_element() {
    if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
  }
  void key(const std::string& name) {
    Level& level = levels_.back();
    level.last_key = name;
    if (!level.keys.insert(name).second) {
      problems_.add(json_path(level.path, name),
                    fmt::format("key {} is there twice", in_quotes(name)), "keep one of them");
    }
  }

  // Deeper than any scenario goes: the type check refuses what lies below, so it is not watched.
  static constexpr size_t kDeepest = 12;

  Problems& problems_;
  std::vector<Level> levels_;
  size_t depth_ = 0;
};

// "parse error at line 3, column 5: what" -> "what": the place is told in another way.
std::string plain_message(const Json::exception& error) {
  const std::string what = json_trouble(error);
  const size_t place = what.find("parse error");
  const size_t colon = place == std::string::npos ? std::string::npos : what.find(": ", place);
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

bool is_blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

std::optional<std::string> read_scenario_text(const std::string& path, const std::string& where,
                                              Problems& problems) {
  const Expected<std::string> text = read_input_file(path, kMaxFileBytes);
  if (text) return *text;
  Error error = text.error();
  if (error.sys_errno != 0) error.what = fmt::format("cannot open {}", in_quotes(path));
  if (error.sys_errno == ENOENT) error.hint = "check the path";
  problems.add(where, error.message());
  return std::nullopt;
}

std::optional<Json> parse_json_text(const std::string& text, const std::string& file,
                                    Problems& problems) {
  if (is_blank(text)) {
    problems.add(file + ":1:1", "the file is empty",
                 "a scenario begins as {\"plumbline\": 1, \"question\": ...}");
    return std::nullopt;
  }
  if (const size_t bad = first_bad_utf8(text); bad != std::string::npos) {
    problems.add(position(text, file, bad), "this byte is not UTF-8 text",
                 "save the file as UTF-8");
    return std::nullopt;
  }
  DuplicateKeys duplicates(problems);
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    duplicates.see(event, parsed);
    return true;
  };
  try {
    return Json::parse(text, watch, true, true);
  } catch (const Json::parse_error& error) {
    // `byte` counts characters read so far: the last of them is the one that did not fit.
    const size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    problems.add(position(text, file, byte), plain_message(error),
                 "the file must be JSON; // and /* */ comments are allowed");
  } catch (const Json::exception& error) {
    // A number out of range. The exception has no position, but quotes the number.
    const std::string what = error.what();
    const size_t open = what.find('\''), close = what.rfind('\'');
    const size_t byte =
        open == close ? std::string::npos : text.find(what.substr(open + 1, close - open - 1));
    problems.add(byte == std::string::npos ? file : position(text, file, byte),
                 plain_message(error), "numbers must fit into 64 bits");
  }
  return std::nullopt;
}

std::string json_path(const std::string& parent, const std::string& key) {
  const bool plain =
      !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      });
  return plain ? parent + "." + key : parent + "[" + in_quotes(key) + "]";
}

std::string json_path(const std::string& parent, size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace plumbline
