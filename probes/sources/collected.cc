#include "probes/sources/collected.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/file.h"
#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/ports.h"
#include "probes/sources/parsers.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr std::string_view kTitle = "=plumbline-collect 1";
constexpr size_t kLongestTitle = 64;  // bytes; a longer one is not the script's
constexpr size_t kMostSections = 10'000, kMostPeers = 256, kMostErrors = 8192;
using State = SourceOutput::State;

bool starts(std::string_view line, std::string_view key) { return line.rfind(key, 0) == 0; }

// What the script was told; lines that are not known belong to a newer one.
void read_head(std::string_view line, CollectedFile& file) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view key = line.substr(0, space);
  const std::string value(trimmed(line.substr(space)));
  if (key == "=name") file.name = value;
  if (key == "=system") file.system = value;
  if (key == "=time") file.time = value;
  if (key == "=peers") {
    for (const std::string_view word : words_of(value)) {
      if (file.peers.size() < kMostPeers) file.peers.emplace_back(word);
    }
  }
  if (key == "=ports") {
    for (const std::string_view word : words_of(value)) {
      if (const auto port = parse_port(word)) file.ports.push_back(*port);
    }
  }
}

// Collects the lines of one section and closes it with the script's last line about it.
class SectionReader {
 public:
  explicit SectionReader(std::string_view title) {
    const auto words = words_of(title);
    if (words.size() < 2) return;
    section_.name = words[1];
    section_.args.assign(words.begin() + 2, words.end());
  }

  void add(std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '|') {
      section_.output.text.append(line.substr(1)).append("\n");
      ++lines_;
    } else if (line.front() == '!' && section_.errors.size() < kMostErrors) {
      section_.errors.append(line.substr(1)).append("\n");
    } else if (starts(line, "=command ")) {
      section_.command = line.substr(9);
    }
  }

  // "=end status=0 sure=no lines=12"
  CollectedSection close(std::string_view line) {
    std::string status;
    std::optional<int64_t> told;
    for (const std::string_view word : words_of(line)) {
      if (starts(word, "status=")) status = word.substr(7);
      if (starts(word, "lines=")) told = parse_whole(word.substr(6));
      if (word == "sure=yes") section_.output.sure = true;
    }
    set_state(status);
    if (told != lines_ && section_.output.state == State::kRead) {
      section_.output.state = State::kFailed;
      section_.output.why = "lines of its output are missing in the file";
    }
    return std::move(section_);
  }

 private:
  void set_state(const std::string& status) {
    SourceOutput& output = section_.output;
    const auto failed = [&](std::string why) {
      output.state = State::kFailed;
      output.why = std::move(why);
    };
    if (status == "0") {
      output.state = State::kRead;
    } else if (status == "skipped") {
      output.state = State::kSkipped;
    } else if (status == "denied") {
      output.state = State::kDenied;
      output.why = "Permission denied";
    } else if (status == "127") {
      output.state = State::kAbsent;
      output.why = "there is no such program or file: " + section_.command;
    } else if (status == "timeout") {
      failed("did not end in time");
    } else {
      const std::string said = first_line(section_.errors);
      failed(said.empty() ? "ended with status " + status : said);
    }
  }

  CollectedSection section_;
  int64_t lines_ = 0;
};

std::string name_of_path(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}

Expected<CollectedFile> read_one(const std::string& path, const std::string& text) {
  auto file = take_apart(text);
  if (!file) return fail(file.error().code, path + ": " + file.error().what, file.error().hint);
  if (file->name.empty()) file->name = name_of_path(path);
  return file;
}

// The same name twice is two hosts all the same, and none of them keeps it: a file that claims the
// name of another host must not speak for that one.
void make_unique(std::vector<CollectedFile>& files) {
  std::map<std::string, int> claims;
  for (CollectedFile& file : files) {
    file.name = escaped_short(file.name);
    ++claims[file.name];
  }
  std::set<std::string> taken;
  for (const auto& [name, count] : claims) taken.insert(name);
  for (CollectedFile& file : files) {
    if (claims[file.name] == 1) continue;
    std::string name;
    for (int n = 1; name.empty() || taken.count(name) > 0; ++n) {
      name = fmt::format("{}-{}", file.name, n);
    }
    taken.insert(name);
    file.name = name;
  }
}

Expected<std::vector<std::string>> texts_of(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  size_t bytes = 0;
  for (const std::string& path : paths) {
    Expected<std::string> text = read_input_file(path, kMostEvidenceBytes);
    if (!text) return fail(text.error());
    bytes += text->size();
    if (bytes > kMostEvidenceBytes) {
      return fail(ErrorCode::kConfig,
                  fmt::format("the files up to {} are together larger than {} MiB", path,
                              kMostEvidenceBytes >> 20),
                  "diagnose fewer hosts at a time");
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

bool is_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

}  // namespace

Expected<CollectedFile> take_apart(const std::string& text) {
  CollectedFile out;
  const auto lines = lines_of(text);
  size_t at = 0;
  // Somebody may have pasted it behind a prompt or a greeting.
  while (at < lines.size() && lines[at] != kTitle) ++at;
  if (at == lines.size()) {
    return fail(ErrorCode::kConfig,
                fmt::format("there is no line '{}': this is no file of collect.sh, or of another "
                            "version",
                            kTitle),
                "write it anew: sh collect.sh > FILE");
  }
  std::optional<SectionReader> open;
  std::string title;
  bool done = false;
  for (++at; at < lines.size() && out.sections.size() < kMostSections; ++at) {
    const std::string_view line = lines[at];
    if (starts(line, "=begin ")) {
      if (open) out.problems.push_back(fmt::format("the section '{}' has no end", title));
      title = line.size() > kLongestTitle ? "..." : valid_utf8(first_line(line.substr(7)));
      open.emplace(line);
    } else if (open && starts(line, "=end ")) {
      out.sections.push_back(open->close(line));
      open.reset();
    } else if (open) {
      open->add(line);
    } else if (starts(line, "=done")) {
      done = true;
    } else if (starts(line, "=")) {
      read_head(line, out);
    }
  }
  if (open) {
    out.problems.push_back(fmt::format("the file ends in the middle of the section '{}'", title));
  } else if (!done) {
    out.problems.emplace_back("the end of the file is missing");
  }
  out.name = valid_utf8(out.name);
  return out;
}

HostEvidence host_of(const CollectedFile& file) {
  HostEvidence host;
  host.name = file.name;
  host.source = "collected";
  host.system = file.system;
  for (const std::string& problem : file.problems) {
    host.unreadable.push_back("collect.sh: " + problem);
  }
  for (const SourceRow& row : source_table()) {
    const std::string where = row.system;
    if (where != file.system && where != "any") continue;
    const auto section =
        std::find_if(file.sections.begin(), file.sections.end(),
                     [&](const CollectedSection& s) { return s.name == row.name; });
    if (section != file.sections.end()) apply_output(row, section->output, host);
  }
  for (const CollectedSection& section : file.sections) {
    if (section.name == "resolve") host.names.push_back(parse_resolve(section));
  }
  finish_filters(host);
  keep_sockets_of_interest(host, file.ports);
  return host;
}

Expected<EvidenceSet> evidence_of_collected(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& texts) {
  std::vector<CollectedFile> files;
  for (size_t i = 0; i < paths.size(); ++i) {
    auto file = read_one(paths[i], texts[i]);
    if (!file) return fail(file.error());
    files.push_back(std::move(*file));
  }
  make_unique(files);
  std::vector<HostEvidence> hosts;
  for (const CollectedFile& file : files) hosts.push_back(host_of(file));
  EvidenceSet out = join_collected(files, std::move(hosts));
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i > 0) out.job.file += ", ";
    out.job.file += paths[i];
    out.job.hosts[i].where = paths[i];
  }
  return out;
}

Expected<EvidenceSet> read_evidence_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return fail(ErrorCode::kUsage, "no file of collect.sh was given");
  const Expected<std::vector<std::string>> texts = texts_of(paths);
  if (!texts) return fail(texts.error());
  if (paths.size() > 1 || !is_json(texts->front())) return evidence_of_collected(paths, *texts);
  Expected<EvidenceSet> evidence = parse_evidence(texts->front());
  if (!evidence) evidence.error().what = paths.front() + ": " + evidence.error().what;
  return evidence;
}

}  // namespace plumbline
