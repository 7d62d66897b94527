#include "reports/publish/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/json.h"
#include "core/json_trouble.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 16;  // the format itself needs 8

// Watches the parser: nlohmann keeps the last of two equal keys without a word.
class Watch : public nlohmann::json_sax<json> {
 public:
  std::string problem;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    problem = fmt::format("the key '{}' stands twice in one object", clean(name).substr(0, 60));
    return false;
  }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t at, const std::string&, const json::exception&) override {
    problem = fmt::format("no JSON at byte {}", at);
    return false;
  }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() <= kMaxDepth) return true;
    problem = fmt::format("nested deeper than {} levels", kMaxDepth);
    return false;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
};

bool has_objects(const json& value) {
  return value.is_object() ||
         (value.is_array() && std::any_of(value.begin(), value.end(), has_objects));
}

void write_value(const json& value, size_t indent, bool fold, std::string& out) {
  const std::string next(indent + 1, ' ');
  if (fold && value.is_array() && value.size() > 2 && value[0].is_array()) {
    out += fmt::format("[... {} buckets ...]", value.size());
  } else if (!has_objects(value) || value.empty()) {
    out += value.dump();
  } else if (value.is_array()) {
    const char* between = "[\n";
    for (const json& item : value) {
      out += between + next;
      write_value(item, indent + 1, fold, out);
      between = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "]";
  } else {
    const char* between = "{\n";
    for (const auto& [key, item] : value.items()) {
      out += between + next + json(key).dump() + ": ";
      write_value(item, indent + 1, fold, out);
      between = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "}";
  }
}

}  // namespace

const std::vector<IssueKind>& issue_kinds() {
  static const std::vector<IssueKind> kTable = {
      {"unreadable", "no JSON, too large or deep, not UTF-8, a key twice"},
      {"schema", "a key that does not exist or is missing, a value of the wrong type or range"},
      {"altered", "the content does not fit its hash, the id its content, or the name the id"},
      {"form", "the same content, but not in the one form that bundles have"},
      {"derived", "a derived value is not what the histogram gives"},
      {"private", "an address, a MAC or a path, which submit would have replaced"},
      {"invalid", "wrong data, or a measurement that did not pass"},
      {"oversubscribed", "more ranks than usable cores"},
      {"noisy", "something other than the network influenced the number"},
      {"impossible", "faster than the stated link can be, or not what the operation can give"},
      {"repeated", "the same samples, or most of them, stand elsewhere, in this bundle or another"},
      {"signature", "the signature does not fit the content"},
      {"scaled", "flag: samples that are another row's times a constant, or plus one"},
      {"fast", "flag: faster than the stated link, which ranks that start apart may explain"},
      {"future", "flag: dated after tomorrow, as this machine's clock says"},
      {"regular", "flag: samples more regular than measurements are"},
      {"signer", "flag: a sound signature of a key that nobody vouches for"},
  };
  return kTable;
}

std::string canonical_text(const json& content) { return content.dump(); }

std::string bundle_text(const json& document, bool fold) {
  std::string out;
  write_value(document, 0, fold, out);
  return out + "\n";
}

Expected<json> parse_bundle(std::string_view text) {
  if (text.size() > kBundleMaxBytes) {
    return fail(ErrorCode::kWrongData,
                fmt::format("{} bytes; a bundle has at most {}", text.size(), kBundleMaxBytes));
  }
  try {
    Watch watch;
    if (!json::sax_parse(text, &watch)) return fail(ErrorCode::kWrongData, watch.problem);
    json document = json::parse(text);
    if (document.is_object()) return document;
    return fail(ErrorCode::kWrongData, "no JSON object");
  } catch (const json::exception& error) {
    return fail(ErrorCode::kWrongData, json_trouble(error));
  }
}

}  // namespace plumbline
