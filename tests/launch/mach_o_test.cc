#include "launch/mach_o.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/mac_program.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using test::MacProgram;
using testing::HasSubstr;

std::string why_not(const MacProgram& program) { return why_not_mac_program(program.bytes()); }

TEST(MachO, AProgramThatNeedsTheSystemAlone) {
  MacProgram program;
  EXPECT_EQ(why_not(program), "");
  program.libraries = {"/usr/lib/libSystem.B.dylib", "/usr/lib/libpcap.A.dylib",
                       "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"};
  EXPECT_EQ(why_not(program), "");
  program.subtype = 0x80000000;  // a capability, which changes nothing
  EXPECT_EQ(why_not(program), "");
}

TEST(MachO, OtherProgramsAreNamed) {
  EXPECT_EQ(why_not_mac_program("\x7f"
                                "ELF\x02\x01\x01"),
            "a program of Linux (ELF)");
  EXPECT_EQ(why_not_mac_program("\xca\xfe\xba\xbe"), "for several machines at once");
  EXPECT_EQ(why_not_mac_program("#!/bin/sh\n"), "no program of macOS (Mach-O)");
  EXPECT_EQ(why_not_mac_program(""), "no program of macOS (Mach-O)");
  MacProgram program;
  program.magic = 0xfeedface;
  EXPECT_EQ(why_not(program), "a 32-bit program");
  program = {};
  program.magic = 0xcffaedfe;  // the other byte order
  EXPECT_EQ(why_not(program), "no program of macOS (Mach-O)");
  program = {};
  program.cpu = 0x01000007;
  EXPECT_EQ(why_not(program), "for x86_64");
  program.cpu = 0x0200000c;
  EXPECT_EQ(why_not(program), "for another processor, 0x200000c");
  program = {};
  program.subtype = 0x80000002;
  EXPECT_EQ(why_not(program), "for arm64e");
  program = {};
  program.type = 6;
  EXPECT_EQ(why_not(program), "Mach-O, but no program");
  program = {};
  program.platform = 2;
  EXPECT_THAT(why_not(program), HasSubstr("platform 2"));
  program.platform = 0;
  EXPECT_THAT(why_not(program), HasSubstr("which macOS"));
}

TEST(MachO, ALibraryOfElsewhereIsNamed) {
  for (const char* path :
       {"/opt/homebrew/opt/fmt/lib/libfmt.9.dylib", "@rpath/libfmt.9.dylib", "libfmt.dylib",
        "/usr/local/lib/libssl.dylib", "/usr/lib/../../opt/libfmt.dylib", "/usr/libfmt.dylib"}) {
    for (const uint32_t load : {0xcU, 0x20U, 0x80000018U, 0x8000001fU, 0x80000023U}) {
      MacProgram program;
      program.libraries.emplace_back(path);
      program.load = load;
      EXPECT_THAT(why_not(program), HasSubstr(std::string("it needs ") + path)) << load;
    }
  }
}

TEST(MachO, ASignatureIsWantedThatFits) {
  MacProgram program;
  program.is_signed = false;
  EXPECT_THAT(why_not(program), HasSubstr("not signed"));
  program.is_signed = true;
  const std::string whole = program.bytes();
  const size_t head = program.head_bytes();
  const size_t last = whole.find("\xfa\xde\x0c\xc0") - 1;
  for (const size_t at : {head + 1, last}) {  // in the first page, and in the second
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(why_not_mac_program(changed), "it was changed after it was signed") << at;
  }
  // The last command is the signature's: command, size, place, length.
  std::string elsewhere = whole;
  elsewhere[head - 5] = '\x7f';
  EXPECT_EQ(why_not_mac_program(elsewhere), "its signature lies beyond its end");
  elsewhere = whole;
  elsewhere[head - 8] = static_cast<char>(elsewhere[head - 8] + 8);
  EXPECT_EQ(why_not_mac_program(elsewhere), "its signature lies beyond its end");
  elsewhere = whole;
  elsewhere.replace(head - 4, 4, 4, '\0');
  EXPECT_EQ(why_not_mac_program(elsewhere), "its signature lies beyond its end");
}

// The signature begins where the rest ends: a blob of blobs, and in it at 20 the code directory.
TEST(MachO, ASignatureThatCannotBeReadIsRefused) {
  const MacProgram program;
  const std::string whole = program.bytes();
  const size_t at = whole.find("\xfa\xde\x0c\xc0");
  ASSERT_NE(at, std::string::npos);
  const auto with = [&](size_t place, char c) {
    std::string changed = whole;
    changed[at + place] = c;
    return why_not_mac_program(changed);
  };
  EXPECT_EQ(with(0, 'x'), "its signature cannot be read");
  EXPECT_EQ(with(8, '\x7f'), "its signature cannot be read");   // very many blobs
  EXPECT_EQ(with(11, '\0'), "its signature cannot be read");    // none
  EXPECT_EQ(with(15, '\x02'), "its signature cannot be read");  // one of another kind
  EXPECT_EQ(with(16, '\x7f'), "its signature cannot be read");  // far away
  EXPECT_EQ(with(20, 'x'), "its signature cannot be read");     // no code directory
  constexpr size_t kDirectory = 20;
  EXPECT_EQ(with(kDirectory + 7, 20), "its signature is not one of SHA-256");  // too short
  EXPECT_EQ(with(kDirectory + 36, 20), "its signature is not one of SHA-256");
  EXPECT_EQ(with(kDirectory + 37, 1), "its signature is not one of SHA-256");
  EXPECT_EQ(with(kDirectory + 39, 40), "its signature is not one of SHA-256");
  EXPECT_EQ(with(kDirectory + 16, '\x7f'), "its signature is not of all of it");  // hashes far away
  EXPECT_EQ(with(kDirectory + 31, 1), "its signature is not of all of it");  // of the first page
  EXPECT_EQ(with(kDirectory + 35, 1), "its signature is not of all of it");
}

TEST(MachO, WhatIsCutOffIsRefusedAtEveryLength) {
  const std::string whole = MacProgram().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(why_not_mac_program(std::string_view(whole).substr(0, size)), "") << size;
  }
}

// Every byte of the head at its extremes: no answer may need bytes that are not there.
TEST(MachO, HostileHeadsAreReadWithinTheirBounds) {
  const MacProgram program;
  const std::string whole = program.bytes();
  for (size_t at = 0; at < program.head_bytes(); ++at) {
    for (const char c : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[at] = c;
      if (changed == whole) continue;
      EXPECT_NE(why_not_mac_program(changed), "") << at;
    }
  }
}

TEST(MachO, CommandsOfWrongSizesAreRefused) {
  const std::string whole = MacProgram().bytes();
  constexpr size_t kFirst = 32;
  for (const char size : {'\0', '\x04', '\x1a', '\xf8'}) {
    std::string changed = whole;
    changed[kFirst + 4] = size;
    if (size == '\xf8') changed[kFirst + 7] = '\x7f';
    EXPECT_EQ(why_not_mac_program(changed), "damaged: its load commands are cut off");
  }
  std::string odd = whole;  // 28 bytes and all there, but a Mac wants multiples of eight
  odd[kFirst + 4] = 28;
  odd.insert(kFirst + 24, 4, '\0');
  EXPECT_EQ(why_not_mac_program(odd), "damaged: its load commands are cut off");
  std::string last = whole;  // the signature's, which is 16 bytes long
  last[MacProgram().head_bytes() - 16 + 7] = '\x7f';
  EXPECT_EQ(why_not_mac_program(last), "damaged: its load commands are cut off");
  std::string nameless = whole;
  nameless[kFirst + 24 + 8] = '\x7f';  // where the library's name begins
  EXPECT_EQ(why_not_mac_program(nameless), "damaged: a library without a name");
}

// What scripts/cross_macos.sh has left here; scripts/mach_o.py has read it already.
TEST(MachO, TheCrossBuildIsOne) {
  if (test::kSanitized) GTEST_SKIP() << "100 MB of hashes take a minute under a sanitizer";
  int read = 0;
  for (const char* built : {"build-macos/plumbline", "build-macos-ship/plumbline-darwin-arm64"}) {
    const std::filesystem::path path = std::filesystem::path(test::source_dir()) / built;
    if (!std::filesystem::exists(path)) continue;
    // What an older script has left tells nothing of this one.
    const auto reader = std::filesystem::path(test::source_dir()) / "launch/mach_o.cc";
    if (std::filesystem::last_write_time(path) < std::filesystem::last_write_time(reader)) continue;
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(why_not_mac_program(content), "") << path;
    ++read;
  }
  if (read == 0) GTEST_SKIP() << "nothing was built for macOS here (scripts/cross_macos.sh)";
}

}  // namespace
}  // namespace plumbline
