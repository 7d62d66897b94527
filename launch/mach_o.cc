#include "launch/mach_o.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/encode.h"

namespace plumbline {
namespace {

constexpr uint64_t kMachHeader = 32;

enum MachCommand : uint32_t {
  kLoadDylib = 0xc,
  kCodeSignature = 0x1d,
  kLazyLoadDylib = 0x20,
  kBuildVersion = 0x32,
  kLoadWeakDylib = 0x80000018,
  kReexportDylib = 0x8000001f,
  kLoadUpwardDylib = 0x80000023,
};

uint32_t word_of(std::string_view content, uint64_t at) {
  return static_cast<uint32_t>(number_at(content, at, 4));
}

// Signatures are big-endian; 0 beyond the end.
uint32_t big_word(std::string_view content, uint64_t at) {
  const uint32_t little = word_of(content, at);
  return little >> 24 | (little >> 8 & 0xff00) | (little << 8 & 0xff0000) | little << 24;
}

// Of `content`, as far as it goes.
std::string_view piece(std::string_view content, uint64_t at, uint64_t size) {
  return at > content.size() ? std::string_view() : content.substr(at, size);
}

std::string hex_number(uint32_t number) { return fmt::format("0x{:x}", number); }

std::string why_not_arm64_program(std::string_view content) {
  constexpr uint32_t kMagic = 0xfeedfacf, kMagic32 = 0xfeedface, kMagicOfMany = 0xcafebabe;
  constexpr uint32_t kElf = 0x464c457f;
  constexpr uint64_t kCpuAt = 4, kSubtypeAt = 8, kTypeAt = 12;
  constexpr uint32_t kArm64 = 0x0100000c, kX86 = 0x01000007, kExecute = 2, kPlain = 0;
  const uint32_t magic = word_of(content, 0);
  if (magic == kElf) return "a program of Linux (ELF)";
  if (magic == kMagic32) return "a 32-bit program";
  if (big_word(content, 0) == kMagicOfMany) return "for several machines at once";
  if (magic != kMagic) return "no program of macOS (Mach-O)";
  const uint32_t cpu = word_of(content, kCpuAt);
  if (cpu == kX86) return "for x86_64";
  if (cpu != kArm64) return "for another processor, " + hex_number(cpu);
  // Its upper byte holds capabilities. Programs of other people's for arm64e are not started.
  if ((word_of(content, kSubtypeAt) & 0xffffff) != kPlain) return "for arm64e";
  if (word_of(content, kTypeAt) != kExecute) return "Mach-O, but no program";
  return {};
}

bool of_system(std::string_view path) {
  if (path.find("/../") != std::string_view::npos) return false;
  return path.rfind("/usr/lib/", 0) == 0 || path.rfind("/System/Library/", 0) == 0;
}

std::string why_not_dylib(std::string_view command) {
  constexpr uint64_t kNameAt = 8;
  std::string_view path = piece(command, word_of(command, kNameAt), command.size());
  const size_t end = path.find('\0');
  if (end == std::string_view::npos) return "damaged: a library without a name";
  path = path.substr(0, end);
  if (of_system(path)) return {};
  return "it needs " + std::string(path.substr(0, 200)) + ", which no Mac has of its own";
}

std::string why_not_version(std::string_view command) {
  constexpr uint64_t kPlatformAt = 8;
  constexpr uint32_t kMacos = 1;
  const uint32_t platform = word_of(command, kPlatformAt);
  if (platform == kMacos) return {};
  return fmt::format("for platform {} of Apple's, which is not macOS", platform);
}

// Whether the hashes in a code directory are those of the pages before the signature: a program
// that was changed after it was signed is killed when it starts.
std::string why_not_directory(std::string_view directory, std::string_view signed_part) {
  constexpr uint64_t kHashesAt = 16, kSlotsAt = 28, kLimitAt = 32, kHashSizeAt = 36,
                     kHashTypeAt = 37, kPageShiftAt = 39;
  constexpr uint64_t kSha256 = 2, kMostShift = 16;
  const uint64_t hashes = big_word(directory, kHashesAt), slots = big_word(directory, kSlotsAt);
  const uint64_t shift = number_at(directory, kPageShiftAt, 1);
  if (number_at(directory, kHashTypeAt, 1) != kSha256 ||
      number_at(directory, kHashSizeAt, 1) != Digest().size() || shift > kMostShift) {
    return "its signature is not one of SHA-256";
  }
  const uint64_t page = uint64_t{1} << shift;
  if (big_word(directory, kLimitAt) != signed_part.size() ||
      slots != (signed_part.size() + page - 1) / page ||
      piece(directory, hashes, slots * Digest().size()).size() != slots * Digest().size()) {
    return "its signature is not of all of it";
  }
  for (uint64_t i = 0; i < slots; ++i) {
    const Digest digest = sha256(piece(signed_part, i * page, page));
    const std::string_view stands = piece(directory, hashes + i * digest.size(), digest.size());
    const auto* const bytes = reinterpret_cast<const std::byte*>(stands.data());
    if (!std::equal(digest.begin(), digest.end(), bytes)) {
      return "it was changed after it was signed";
    }
  }
  return {};
}

std::string why_not_signed(std::string_view content, std::string_view command) {
  constexpr uint64_t kOffsetAt = 8, kSizeAt = 12;
  constexpr uint32_t kSuperBlob = 0xfade0cc0, kCodeDirectory = 0xfade0c02;
  constexpr uint64_t kCountAt = 8, kIndexAt = 12, kIndexEntry = 8, kMostBlobs = 64;
  const uint64_t offset = word_of(command, kOffsetAt), size = word_of(command, kSizeAt);
  const std::string_view blobs = piece(content, offset, size);
  if (size == 0 || blobs.size() != size) return "its signature lies beyond its end";
  const uint64_t count = big_word(blobs, kCountAt);
  if (big_word(blobs, 0) == kSuperBlob && count <= kMostBlobs) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t entry = kIndexAt + i * kIndexEntry;
      const std::string_view blob = piece(blobs, big_word(blobs, entry + 4), blobs.size());
      if (big_word(blobs, entry) != 0 || big_word(blob, 0) != kCodeDirectory) continue;
      return why_not_directory(piece(blob, 0, big_word(blob, 4)), content.substr(0, offset));
    }
  }
  return "its signature cannot be read";
}

}  // namespace

uint64_t number_at(std::string_view content, uint64_t at, size_t size) {
  if (at > content.size() || content.size() - at < size) return 0;
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(content[at + i]);
  }
  return value;
}

std::string why_not_mac_program(std::string_view content) {
  constexpr uint64_t kCommandsAt = 16, kSmallest = 8, kAlignment = 8;
  std::string why = why_not_arm64_program(content);
  if (!why.empty()) return why;
  std::string_view signature;
  bool versioned = false;
  uint64_t at = kMachHeader;
  for (uint32_t left = word_of(content, kCommandsAt); left > 0; --left) {
    const uint32_t size = word_of(content, at + 4);
    const std::string_view command = piece(content, at, size);
    if (size < kSmallest || size % kAlignment != 0 || command.size() != size) {
      return "damaged: its load commands are cut off";
    }
    switch (word_of(command, 0)) {
      case kLoadDylib:
      case kLazyLoadDylib:
      case kLoadWeakDylib:
      case kReexportDylib:
      case kLoadUpwardDylib:
        why = why_not_dylib(command);
        break;
      case kBuildVersion:
        why = why_not_version(command);
        versioned = true;
        break;
      case kCodeSignature:
        signature = command;
        break;
      default:
        break;
    }
    if (!why.empty()) return why;
    at += size;
  }
  if (!versioned) return "it does not say which macOS it is for";
  if (signature.empty()) return "not signed, and a Mac starts no arm64 program that is not";
  return why_not_signed(content, signature);
}

}  // namespace plumbline
