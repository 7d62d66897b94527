// Programs of macOS, read without starting them: what a Mac's kernel and its loader would refuse is
// named before such a file is sent anywhere. The forms are those of <mach-o/loader.h>, and of
// <kern/cs_blobs.h> for the signature, which a Mac wants of every arm64 program. Pure functions
// over bytes that anybody may have written; scripts/mach_o.py reads the same in another way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumbline {

// Little-endian unsigned number of `size` bytes; 0 beyond the end.
uint64_t number_at(std::string_view content, uint64_t at, size_t size);

// What is wrong with this as a program for macOS on arm64 that needs nothing but what the system
// brings along; empty = nothing.
std::string why_not_mac_program(std::string_view content);

}  // namespace plumbline
