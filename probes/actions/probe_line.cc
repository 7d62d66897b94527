#include "probes/actions/probe_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/number.h"

namespace plumbline {
namespace {

constexpr std::string_view kMagic = "PLPROBE1";
constexpr size_t kMaxNonce = 64;

// The words of one complete line with single spaces between them; nothing otherwise.
std::optional<std::vector<std::string_view>> probe_words(std::string_view text) {
  if (text.empty() || text.size() > kMaxProbeLine || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = text.find(' ');
    words.push_back(text.substr(0, end));
    if (words.back().empty()) return std::nullopt;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (words.front() != kMagic) return std::nullopt;
  return words;
}

std::optional<int64_t> not_negative(std::string_view text) {
  return parse_whole(text, int64_t{0}, INT64_MAX);
}

}  // namespace

bool usable_nonce(std::string_view nonce) {
  return !nonce.empty() && nonce.size() <= kMaxNonce &&
         std::all_of(nonce.begin(), nonce.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string probe_line(const ProbeLine& line) {
  return fmt::format("{} {} {} {}\n", kMagic, line.nonce, line.mode, line.argument);
}

std::optional<ProbeLine> parse_probe_line(std::string_view text) {
  const auto words = probe_words(text);
  if (!words || words->size() != 4 || !usable_nonce((*words)[1])) return std::nullopt;
  const auto argument = not_negative((*words)[3]);
  if (!argument) return std::nullopt;
  return ProbeLine{std::string((*words)[1]), std::string((*words)[2]), *argument};
}

std::string ok_line(const std::string& nonce) { return fmt::format("{} ok {}\n", kMagic, nonce); }

std::string sink_line(const SinkReport& report) {
  return fmt::format("{} got {} {} {} {}\n", kMagic, report.bytes, report.duration_ns,
                     report.cpu_ns, report.segments);
}

std::optional<SinkReport> parse_sink_line(std::string_view text) {
  const auto words = probe_words(text);
  if (!words || words->size() < 5 || words->size() > 6 || (*words)[1] != "got") {
    return std::nullopt;
  }
  const auto bytes = not_negative((*words)[2]), duration = not_negative((*words)[3]),
             cpu = not_negative((*words)[4]);
  const auto segments = words->size() == 6 ? not_negative((*words)[5]) : int64_t{0};
  if (!bytes || !duration || !cpu || !segments) return std::nullopt;
  return SinkReport{*bytes, *duration, *cpu, *segments};
}

}  // namespace plumbline
