// A small program for macOS as launch/mach_o.h reads it, and ways in which it may be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/encode.h"
#include "launch/push.h"

namespace plumbline::test {

struct MacProgram {
  uint32_t magic = 0xfeedfacf, cpu = 0x0100000c, subtype = 0, type = 2;
  uint32_t load = 0xc;  // the command that loads a library
  std::vector<std::string> libraries = {"/usr/lib/libSystem.B.dylib"};
  uint32_t platform = 1;  // of its version; 0 = it says none
  bool is_signed = true;
  std::string build = "1-a";

  // The bytes of the header and of all commands; the mark and the signature follow.
  [[nodiscard]] size_t head_bytes() const { return 32 + commands(0, 0).size(); }

  [[nodiscard]] std::string bytes() const {
    const std::string mark = PLUMBLINE_BUILD_MARK + build + ";";
    const size_t filled = (head_bytes() + mark.size() + 15) / 16 * 16 + kPage;  // more than a page
    std::string text = head(filled) + mark;
    text.resize(filled, '.');
    return is_signed ? text + signature(text) : text;
  }

 private:
  static constexpr size_t kPage = 4096, kPageShift = 12;

  static std::string little(std::initializer_list<uint32_t> words) {
    std::string text;
    for (const uint32_t word : words) {
      for (const unsigned shift : {0U, 8U, 16U, 24U}) text += static_cast<char>(word >> shift);
    }
    return text;
  }
  static std::string big(std::initializer_list<uint32_t> words) {
    std::string text;
    for (const uint32_t word : words) {
      for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(word >> shift);
    }
    return text;
  }
  static uint32_t word(size_t number) { return static_cast<uint32_t>(number); }

  [[nodiscard]] uint32_t count() const {
    return word(1 + libraries.size() + (platform != 0 ? 1 : 0) + (is_signed ? 1 : 0));
  }
  static size_t signature_bytes(size_t filled) {
    return 12 + 8 + 44 + (filled + kPage - 1) / kPage * Digest().size();
  }

  [[nodiscard]] std::string commands(size_t signature_at, size_t signature_size) const {
    std::string text = little({0x19, 24, 0, 0, 0, 0});  // a segment, which nobody looks at
    for (const std::string& library : libraries) {
      const size_t size = (24 + library.size() + 1 + 7) / 8 * 8;
      std::string command = little({load, word(size), 24, 0, 0, 0}) + library;
      command.resize(size, '\0');
      text += command;
    }
    if (platform != 0) text += little({0x32, 24, platform, 13 << 16, 0, 0});
    if (is_signed) text += little({0x1d, 16, word(signature_at), word(signature_size)});
    return text;
  }

  [[nodiscard]] std::string head(size_t filled) const {
    const std::string all = commands(filled, signature_bytes(filled));
    return little({magic, cpu, subtype, type, count(), word(all.size()), 0, 0}) + all;
  }

  static std::string signature(const std::string& text) {
    const size_t slots = (text.size() + kPage - 1) / kPage;
    std::string hashes;
    for (size_t i = 0; i < slots; ++i) {
      const Digest digest = sha256(std::string_view(text).substr(i * kPage, kPage));
      hashes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    }
    std::string directory = big({0xfade0c02, word(44 + hashes.size()), 0x20400, 2, 44, 0, 0,
                                 word(slots), word(text.size())});
    directory += {static_cast<char>(Digest().size()), 2, 0, kPageShift};
    directory += big({0}) + hashes;
    return big({0xfade0cc0, word(12 + 8 + directory.size()), 1, 0, 20}) + directory;
  }
};

}  // namespace plumbline::test
