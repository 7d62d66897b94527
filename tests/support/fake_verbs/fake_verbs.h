// Where the verbs library without hardware is (fake_verbs.cc), and what is left of its objects.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/options/options.h"
#include "tests/support/places.h"

namespace plumbline::test {

inline std::string fake_verbs_library() {
  const std::string program = test::program_path();
  return program.substr(0, program.rfind('/')) + "/tests/plumbline_fake_verbs.so";
}

// Queue pairs, regions and all else that this process has made there and not given back.
inline int fake_verbs_left() {
  void* const library = dlopen(fake_verbs_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return -1;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym gives functions
  const auto left = reinterpret_cast<int (*)()>(dlsym(library, "plumbline_fake_verbs_left"));
  return left == nullptr ? -1 : left();
}

// The same options, with RDMA over it; or over a real device, of the type TEST_RDMA_QP, where the
// variable TEST_RDMA_DEVICE names one (tests/lab/rdma_test.py).
inline OptionSet with_rdma(const OptionSet& options) {
  const char* const device = std::getenv("TEST_RDMA_DEVICE");
  const char* const type = std::getenv("TEST_RDMA_QP");
  OptionSet with = *options.with("rdma_device", device == nullptr ? "rdma_en1" : device, "test");
  if (type != nullptr) with = *with.with("rdma_qp", type, "test");
  return device != nullptr ? with : *with.with("rdma_library", fake_verbs_library(), "test");
}

}  // namespace plumbline::test
