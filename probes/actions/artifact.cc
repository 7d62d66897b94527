#include "probes/actions/artifact.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "core/encode.h"
#include "core/file.h"
#include "core/ranges.h"
#include "core/side_by_side.h"
#include "core/text.h"
#include "probes/actions/model_files.h"
#include "probes/actions/software.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 4096, kMostEntries = 65'536, kMostMissing = 64,
                 kLongestFileName = 512;
constexpr int kMostFolders = 8;             // within each other
constexpr int64_t kWholeBytes = 4 << 20;    // up to here all of a file is read
constexpr int64_t kSampleBytes = 64 << 10;  // of one sample
constexpr int64_t kSamples = 16;            // the first at the beginning, the last at the end
constexpr size_t kMostHeader = 8 << 20;     // of a safetensors file
constexpr size_t kMostIndex = 8 << 20;      // bytes of an index
constexpr size_t kReaders = 4;              // files that are read at the same time
constexpr int64_t kArtifactReserve = kSecond / 2;  // kept back from the deadline for the answer
constexpr std::string_view kIndexEnd = ".index.json", kSafetensorsEnd = ".safetensors";

// Whoever waits may have gone, or the time is over.
class Time {
 public:
  explicit Time(const AgentCall& call)
      : deadline_(Deadline::at_ns(call.deadline.at_ns() - kArtifactReserve)),
        ending_(call.ending) {}
  bool over() const { return deadline_.passed() || (ending_ != nullptr && ending_->load()); }

 private:
  Deadline deadline_;
  const std::atomic<bool>* ending_;
};

// ---- which files there are ----

void add_error(ArtifactEvidence& out, const std::string& error) {
  out.error += (out.error.empty() ? "" : "; ") + error;
}

// A regular file, or a link that leads to none: somebody meant a file to be there.
bool is_file_or_broken(const fs::directory_entry& entry) {
  std::error_code code;
  return entry.is_regular_file(code) || (entry.is_symlink(code) && !entry.exists(code));
}

// Regular files below the folder, also behind links to them: that is how some caches keep models.
// `listed` stays false where that was not all.
void list_files(const fs::path& root, const Time& time, ArtifactEvidence& out) {
  std::error_code code;
  fs::recursive_directory_iterator each(root, code), end;
  std::string skipped;
  for (size_t entries = 0; !code && each != end; each.increment(code)) {
    if (++entries > kMostEntries || out.files.size() >= kMostFiles || time.over()) {
      return add_error(out, time.over() ? std::string("its files could not be listed in time")
                                        : fmt::format("it has more than {} files", kMostFiles));
    }
    const fs::path path = each->path();
    std::error_code ignored;
    const bool hidden = path.filename().native().starts_with('.');
    const bool folder = each->is_directory(ignored);
    const bool too_deep = folder && each.depth() + 1 >= kMostFolders;
    if (hidden || too_deep) each.disable_recursion_pending();
    if (hidden) continue;
    if (too_deep || (folder && each->is_symlink(ignored))) {
      skipped = folder && too_deep ? "folders within folders are too many"
                                   : "a link to a folder was not followed";
    }
    if (!is_file_or_broken(*each)) continue;
    std::string name = path.lexically_relative(root).native();
    if (name.size() > kLongestFileName || !is_printable(name)) {
      skipped = "a file has a name that is too long, or is no text: it was left out";
      continue;
    }
    out.files.emplace_back().name = std::move(name);
  }
  if (code) skipped = "not all of it can be read: " + code.message();
  if (!skipped.empty()) return add_error(out, skipped);
  out.listed = true;
}

// ---- what is in one of them ----

// False at a read that fails, or gives less than there should be.
bool read_at(int fd, int64_t at, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<size_t>(got));
    at += got;
  }
  return true;
}

// False, with the file's problem, where this part cannot be read.
bool add_part(int fd, int64_t at, int64_t bytes, std::vector<std::byte>& buffer,
              Sha256Stream& stream, ArtifactFile& file) {
  buffer.resize(static_cast<size_t>(bytes));
  errno = 0;
  if (!read_at(fd, at, buffer)) {
    file.problem = errno == 0 ? std::string("it became shorter while it was read")
                              : fmt::format("reading at byte {}: {}", at, std::strerror(errno));
    return false;
  }
  stream.add(buffer);
  return true;
}

// All of it, or samples at places that follow from its length.
void take_digest(int fd, bool whole, const Time& time, ArtifactFile& file) {
  const std::unique_ptr<Sha256Stream> stream = crypto().start_sha256();
  std::vector<std::byte> buffer;
  const int64_t step = whole ? kWholeBytes : (file.bytes - kSampleBytes) / (kSamples - 1);
  const int64_t last = whole ? file.bytes : file.bytes - kSampleBytes;
  for (int64_t at = 0, i = 0; whole ? at < last : i < kSamples; at += step, ++i) {
    if (time.over()) return;
    const int64_t from = !whole && i == kSamples - 1 ? last : at;
    const int64_t bytes = whole ? std::min(kWholeBytes, last - at) : kSampleBytes;
    if (!add_part(fd, from, bytes, buffer, *stream, file)) return;
  }
  file.sampled = !whole;
  file.digest = to_hex(stream->end());
}

void look_at_header(int fd, ArtifactFile& file) {
  std::string head(kSafetensorsLength, '\0');
  if (!read_at(fd, 0, std::as_writable_bytes(std::span(head)))) {
    file.problem = safetensors_problem({}, file.bytes);
    return;
  }
  const uint64_t length = safetensors_header(head);
  if (length <= kMostHeader && length <= static_cast<uint64_t>(file.bytes) - kSafetensorsLength) {
    head.resize(kSafetensorsLength + length);
    if (!read_at(fd, 0, std::as_writable_bytes(std::span(head)))) return;
  }
  file.problem = safetensors_problem(head, file.bytes);
}

void look_at_file(const fs::path& root, bool deep, const Time& time, ArtifactFile& file) {
  const fs::path path = file.name.empty() ? root : root / file.name;
  const Expected<Fd> fd = open_input_file(path.string());
  struct stat info {};
  if (!fd || ::fstat(fd->get(), &info) != 0) {
    file.problem =
        fmt::format("it cannot be read: {}", std::strerror(fd ? errno : fd.error().sys_errno));
    return;
  }
  file.bytes = info.st_size;
  if (path.native().ends_with(kSafetensorsEnd)) look_at_header(fd->get(), file);
  const std::string wrong = file.problem;
  take_digest(fd->get(), deep || file.bytes <= kWholeBytes, time, file);
  if (!wrong.empty()) file.problem = wrong;
}

void look_at_files(const fs::path& root, bool deep, const Time& time, ArtifactEvidence& out) {
  std::atomic<size_t> next = 0;
  const size_t readers = std::min(
      {kReaders, out.files.size(), size_t{std::max(1U, std::thread::hardware_concurrency())}});
  side_by_side(readers, [&](size_t) {
    for (size_t i = next++; i < out.files.size() && !time.over(); i = next++) {
      look_at_file(root, deep, time, out.files[i]);
    }
  });
  const auto late = std::count_if(out.files.begin(), out.files.end(), [](const ArtifactFile& file) {
    return file.digest.empty() && file.problem.empty();
  });
  if (late > 0) {
    add_error(out, fmt::format("{} of {} files could not be read in time", late, out.files.size()));
  }
}

// ---- whether it is whole ----

void look_for_shards(const fs::path& root, const Time& time, ArtifactEvidence& out) {
  std::set<std::string> missing;
  for (const ArtifactFile& file : out.files) {
    if (!file.name.ends_with(kIndexEnd) || time.over()) continue;
    const auto text = read_input_file((root / file.name).string(), kMostIndex);
    if (!text) continue;
    const fs::path folder = fs::path(file.name).parent_path();
    for (const std::string& shard : shards_in_index(*text)) {
      std::error_code code;
      const std::string name = (folder / shard).native();
      if (!fs::exists(root / name, code) && !code) missing.insert(name);
    }
  }
  for (const std::string& name : missing) {
    if (out.missing.size() < kMostMissing) out.missing.push_back(name);
  }
}

}  // namespace

Expected<ArtifactEvidence> read_artifact(const AskArtifact& asked, const AgentCall& call) {
  const Expected<std::string> path = path_here(asked.path);
  if (!path) return fail(path.error());
  ArtifactEvidence out;
  out.path = asked.path;
  out.folder = *path;
  while (out.folder.size() > 1 && out.folder.back() == '/') out.folder.pop_back();
  const fs::path root = out.folder;
  const Time time(call);
  std::error_code code;
  const fs::file_status there = fs::status(root, code);
  if (there.type() == fs::file_type::not_found) {
    out.found = false;
    return out;
  }
  if (code) {
    out.error = code.message();
    return out;
  }
  if (fs::is_directory(there)) {
    list_files(root, time, out);
  } else if (fs::is_regular_file(there)) {
    out.files.emplace_back();  // without a name: the path itself
    out.listed = true;
  } else {
    out.error = "it is neither a folder nor a file";
    return out;
  }
  out.found = true;
  std::sort(out.files.begin(), out.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  look_at_files(root, asked.deep, time, out);
  look_for_shards(root, time, out);
  return out;
}

}  // namespace plumbline
