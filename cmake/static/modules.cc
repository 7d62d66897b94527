// A static program opens no modules: the libraries that they need are of the machine's glibc, which
// must not meet ours.
#include <dlfcn.h>

extern "C" void* dlopen(const char* /*file*/, int /*mode*/) noexcept { return nullptr; }
