// What the files of a model say of themselves: a safetensors file how long it is
// (https://github.com/huggingface/safetensors, format), an index which files belong together. They
// are read as they come, token by token, because nobody says who wrote them: nothing of them is
// kept but what is returned. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Bytes that stand before the header, and tell how long that is (little endian).
constexpr size_t kSafetensorsLength = 8;
// `head`: at least those bytes.
uint64_t safetensors_header(std::string_view head);
// Of a file that is `bytes` long and begins with `head` (those bytes and the header, or less where
// that is too long to be looked at): what is wrong, "96 bytes are missing at its end: cut off?";
// empty = nothing.
std::string safetensors_problem(std::string_view head, int64_t bytes);

// Files that the text of a *.index.json names, each once, ascending, in their plain form; empty
// when it names none, or makes no sense. None leads out of its folder.
std::vector<std::string> shards_in_index(const std::string& text);

}  // namespace plumbline
