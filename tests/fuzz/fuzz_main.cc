// Stands in for libFuzzer where there is none: hands every file of the named corpus folders to the
// target once, then cut in half and with each of a few bytes changed, so that the inputs which once
// found a bug are tried in every build, with every sanitizer. Exit status 1 when a folder is empty.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// In a buffer of exactly its size, so that AddressSanitizer sees every step beyond it.
void feed(const Bytes& bytes) {
  const Bytes exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

int replay(const std::filesystem::path& path) {
  Bytes bytes = read_all(path);
  feed(bytes);
  feed(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2)));
  constexpr size_t kChanges = 16;
  const size_t step = std::max<size_t>(1, bytes.size() / kChanges);
  for (size_t at = 0; at < bytes.size(); at += step) {
    for (const int change : {0x01, 0x80, 0xff}) {
      const uint8_t before = bytes[at];
      bytes[at] = static_cast<uint8_t>(before ^ change);
      feed(bytes);
      bytes[at] = before;
    }
  }
  return 1;
}

int replay_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  int done = 0;
  for (const auto& file : files) done += replay(file);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    const int done = std::filesystem::is_directory(path) ? replay_folder(path) : replay(path);
    std::printf("%s: %d inputs\n", argv[i], done);
    if (done == 0) return 1;
  }
  return argc > 1 ? 0 : 1;
}
