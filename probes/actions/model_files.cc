#include "probes/actions/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr int kDeepestFile = 8;
constexpr size_t kLongestShard = 512, kMostShards = 4096;

// Keeps where in the document a value stands; what both readers have in common. False ends the
// reading.
class ModelFileReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    take_number(value);
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& value) override {
    take_text(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    keys_[static_cast<size_t>(depth_)] = name.size() <= kLongestShard ? name : std::string();
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 protected:
  virtual void take_number(uint64_t) {}
  virtual void take_text(const std::string&) {}
  // How many objects and lists are open; the key in the one at this depth, from 1.
  int depth() const { return depth_; }
  const std::string& key_at(int depth) const { return keys_[static_cast<size_t>(depth)]; }

 private:
  bool enter() {
    if (++depth_ > kDeepestFile) return false;
    keys_[static_cast<size_t>(depth_)].clear();
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  std::string keys_[kDeepestFile + 1];
};

// {"w": {"data_offsets": [0, 4096]}}: where the last tensor ends.
class TensorEnds : public ModelFileReader {
 public:
  uint64_t end() const { return end_; }

 private:
  void take_number(uint64_t value) override {
    if (depth() == 3 && key_at(2) == "data_offsets") end_ = std::max(end_, value);
  }
  uint64_t end_ = 0;
};

// {"weight_map": {"w": "m-1.safetensors"}}
class ShardNames : public ModelFileReader {
 public:
  std::set<std::string> take() { return std::move(names_); }

 private:
  void take_text(const std::string& text) override {
    if (depth() != 2 || key_at(1) != "weight_map" || names_.size() >= kMostShards) return;
    if (text.empty() || text.size() > kLongestShard || !is_printable(text)) return;
    const std::filesystem::path plain = std::filesystem::path(text).lexically_normal();
    if (plain.is_absolute() || plain.native().starts_with("..") || !plain.has_filename()) return;
    names_.insert(plain.native());
  }
  std::set<std::string> names_;
};

}  // namespace

uint64_t safetensors_header(std::string_view head) {
  uint64_t length = 0;
  for (size_t i = kSafetensorsLength; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(head[i]);
  }
  return length;
}

std::string safetensors_problem(std::string_view head, int64_t bytes) {
  if (bytes < static_cast<int64_t>(kSafetensorsLength) || head.size() < kSafetensorsLength) {
    return fmt::format("{} bytes are no safetensors file: cut off?", bytes);
  }
  const uint64_t length = safetensors_header(head);
  const auto room = static_cast<uint64_t>(bytes) - kSafetensorsLength;
  if (length > room) return "its header alone is longer than the file: cut off?";
  if (head.size() - kSafetensorsLength < length) return {};  // too long to be looked at
  const std::string_view header = head.substr(kSafetensorsLength, length);
  TensorEnds tensors;
  const bool object = header.find_first_not_of(" \t\r\n") == header.find('{');
  if (!object || !nlohmann::json::sax_parse(header.begin(), header.end(), &tensors)) {
    return "its header is no JSON";
  }
  const uint64_t there = room - length;
  if (there < tensors.end()) {
    return fmt::format("{} bytes are missing at its end: cut off?", tensors.end() - there);
  }
  if (there > tensors.end())
    return fmt::format("{} bytes too many at its end", there - tensors.end());
  return {};
}

std::vector<std::string> shards_in_index(const std::string& text) {
  ShardNames reader;
  if (!nlohmann::json::sax_parse(text, &reader)) return {};
  const std::set<std::string> names = reader.take();
  return {names.begin(), names.end()};
}

}  // namespace plumbline
