// Recorded outputs of tools, from namespaces made for that, with names and addresses replaced.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/support/places.h"

namespace plumbline::test {

inline std::string sample_path(const std::string& name) {
  return test::source_dir() + "/tests/probes/sources/samples/" + name;
}

inline std::string sample(const std::string& name) {
  std::ifstream file(sample_path(name), std::ios::binary);
  if (!file) throw std::runtime_error("no sample " + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace plumbline::test
