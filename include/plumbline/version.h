// Which plumbline this is.
#pragma once

// Grows when a program that compiled before would not any more.
#define PLUMBLINE_COMM_API 1

namespace plumbline {

// Of the library that is linked: "0.1.0". Ranks of different versions do not form a group.
const char* library_version();

}  // namespace plumbline
