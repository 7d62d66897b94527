// A module as another version of plumbline would have built it: it must never be called.
#include <cstdint>
#include <cstdlib>

extern "C" {
uint32_t plumbline_engine_module_version() { return 999; }
void* plumbline_engine_module() { std::abort(); }
}
