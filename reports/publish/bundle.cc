#include "reports/publish/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "core/encode.h"
#include "core/error.h"
#include "core/json.h"
#include "reports/publish/bundle_words.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxNesting = 16;  // the format itself needs 8

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
    if (keys_.size() <= kMaxNesting) return true;
    problem = fmt::format("nested deeper than {} levels", kMaxNesting);
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

// The seal: hash, id, and the locator that names the one value which was changed.
//
// Every value of the content has a place i (from 1, in the order of the canonical text) and a hash
// h_i = SHA-256(path, value) taken modulo the prime p = 2^61 - 1. The locator holds how many there
// are and A = sum h_i, B = sum i h_i (mod p). After one change at place k, A differs by d and B by
// k d, so that k is the quotient of the differences. Two changes give a quotient that is no place,
// but with a chance of about one in 10^12. It guards nothing: who changes a value can also seal
// anew. It tells where an accident or a careless hand has been.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr size_t kIdDigits = 16;

uint64_t product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<Wide>(a) * b % kPrime);
}
uint64_t minus(uint64_t a, uint64_t b) { return (a + kPrime - b) % kPrime; }
uint64_t inverse(uint64_t a) {  // a^(p-2), Fermat
  uint64_t result = 1;
  for (uint64_t e = kPrime - 2; e > 0; e >>= 1) {
    if (e & 1) result = product(result, a);
    a = product(a, a);
  }
  return result;
}

uint64_t leaf_hash(const std::string& path, const std::string& value) {
  const Digest digest = sha256(path + "\n" + value);
  uint64_t out = 0;
  for (size_t i = 0; i < 8; ++i) out = out << 8 | std::to_integer<uint64_t>(digest[i]);
  return out % kPrime;
}

using TakeLeaf = std::function<void(const std::string& path, const json& value)>;
void each_leaf(const json& value, std::string& path, const TakeLeaf& take) {
  const size_t length = path.size();
  if (!value.is_structured() || value.empty()) take(path, value);
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      path += "." + key;
      each_leaf(item, path, take);
      path.resize(length);
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      path += fmt::format("[{}]", i);
      each_leaf(value[i], path, take);
      path.resize(length);
    }
  }
}

struct Sums {
  uint64_t values = 0, a = 0, b = 0;
};
Sums sums_of(const json& content) {
  Sums sums;
  std::string path = "content";
  each_leaf(content, path, [&](const std::string& at, const json& value) {
    const uint64_t hash = leaf_hash(at, value.dump());
    sums.a = (sums.a + hash) % kPrime;
    sums.b = (sums.b + product(++sums.values % kPrime, hash)) % kPrime;
  });
  return sums;
}

std::string sum_text(uint64_t sum) { return fmt::format("{:016x}", sum); }

std::optional<uint64_t> sum_from(const json& text) {
  Digest digest{};
  const auto bytes = std::span(digest).first(8);
  if (!text.is_string() || !from_hex(text.get_ref<const std::string&>(), bytes)) return {};
  uint64_t out = 0;
  for (const std::byte byte : bytes) out = out << 8 | std::to_integer<uint64_t>(byte);
  return out < kPrime ? std::optional(out) : std::nullopt;
}

// What this value was when it was sealed, for numbers and switches that changed in a likely way.
std::string value_before(const std::string& path, const json& now, uint64_t hash) {
  const auto fits = [&](const json& value) { return leaf_hash(path, value.dump()) == hash; };
  if (now.is_boolean() && fits(!now.get<bool>())) return json(!now.get<bool>()).dump();
  constexpr int64_t kNear = 2000;
  if (now.is_number_integer() &&
      (now.is_number_unsigned() ? now.get<uint64_t>() >> 62 == 0 : true)) {
    const auto value = now.get<int64_t>();
    if (value < -(int64_t{1} << 62)) return "";
    if (fits(-value)) return json(-value).dump();
    for (int64_t d = 1; d <= kNear; ++d) {
      for (const int64_t other : {value - d, value + d}) {
        if (fits(other)) return json(other).dump();
      }
    }
  }
  return "";
}

BundleIssue altered_at(const json& content, const Sums& sealed, const Sums& now) {
  const uint64_t d = minus(now.a, sealed.a);
  const uint64_t place = d == 0 ? 0 : product(minus(now.b, sealed.b), inverse(d));
  BundleIssue issue{"altered", "content", ""};
  if (now.values != sealed.values) {
    issue.text = fmt::format("holds {} values, {} were sealed", now.values, sealed.values);
    return issue;
  }
  if (place == 0 || place > now.values) {
    issue.text = "more than one value was changed after it was sealed";
    return issue;
  }
  uint64_t at = 0;
  std::string path = "content";
  each_leaf(content, path, [&](const std::string& here, const json& value) {
    if (++at != place) return;
    const uint64_t before = minus(leaf_hash(here, value.dump()), d);
    const std::string old = value_before(here, value, before);
    issue.path = here;
    issue.text = fmt::format(
        "is {} now, {}", value.dump().substr(0, 80),
        old.empty() ? fmt::format("not what was sealed (its hash was {})", sum_text(before))
                    : "was " + old + " when it was sealed");
  });
  return issue;
}

void check_locator(const json& document, bool content_fits, std::vector<BundleIssue>& issues) {
  const json& locator = document.value("locator", json());
  const json& values = locator.is_object() ? locator.value("values", json()) : json();
  const json& sums = locator.is_object() ? locator.value("sums", json()) : json();
  const bool readable = values.is_number_unsigned() && sums.is_array() && sums.size() == 2 &&
                        sum_from(sums[0]) && sum_from(sums[1]);
  if (!readable) {
    issues.push_back({"altered", "locator", "is not what plumbline writes"});
    return;
  }
  const Sums sealed{values.get<uint64_t>(), *sum_from(sums[0]), *sum_from(sums[1])};
  const Sums now = sums_of(document["content"]);
  if (!content_fits) {
    if (now.values == sealed.values && now.a == sealed.a && now.b == sealed.b) return;
    issues.push_back(altered_at(document["content"], sealed, now));
    return;
  }
  const auto differs = [&](const char* path, uint64_t is, uint64_t should, bool hex) {
    if (is == should) return;
    issues.push_back(
        {"altered", path,
         hex ? fmt::format("is {}, the content gives {}", sum_text(is), sum_text(should))
             : fmt::format("is {}, the content gives {}", is, should)});
  };
  differs("locator.values", sealed.values, now.values, false);
  differs("locator.sums[0]", sealed.a, now.a, true);
  differs("locator.sums[1]", sealed.b, now.b, true);
}

}  // namespace

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

json seal_bundle(json content) {
  const std::string hash = to_hex(sha256(canonical_text(content)));
  const Sums sums = sums_of(content);
  return {{"plumbline_bundle", kBundleFormat},
          {"id", hash.substr(0, kIdDigits)},
          {"sha256", hash},
          {"locator", {{"values", sums.values}, {"sums", {sum_text(sums.a), sum_text(sums.b)}}}},
          {"content", std::move(content)},
          {"signature", nullptr}};
}

std::vector<BundleIssue> seal_issues(const json& document) {
  std::vector<BundleIssue> issues;
  if (!document.contains("content") || !document["content"].is_object()) {
    return {{"schema", "content", "is missing"}};
  }
  const std::string hash = to_hex(sha256(canonical_text(document["content"])));
  const auto text_at = [&](const char* key) {
    const auto it = document.find(key);
    return it != document.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const std::string id = text_at("id"), sealed = text_at("sha256");
  const bool changed = sealed != hash && id != hash.substr(0, kIdDigits);
  check_locator(document, !changed, issues);
  if (changed && !issues.empty()) return issues;
  if (sealed != hash) {
    issues.push_back({"altered", "sha256",
                      fmt::format("is {}, the content gives {}", sealed.substr(0, 64), hash)});
  }
  if (id != hash.substr(0, kIdDigits)) {
    issues.push_back(
        {"altered", "id",
         fmt::format("is {}, the content gives {}", id.substr(0, 64), hash.substr(0, kIdDigits))});
  }
  return issues;
}

}  // namespace plumbline
