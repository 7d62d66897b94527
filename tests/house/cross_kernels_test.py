"""The kernels compute the same bits on 64-bit ARM as here: built for it by Debian's cross compiler (scripts/packages.sh static), run
under qemu's emulator of single programs, and compared with what this build's program says of itself."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import house

COMPILER = "aarch64-linux-gnu-g++"
SOURCES = ["kernels/kernels.cc", "kernels/check.cc", "kernels/scalar.cc", "kernels/simd.cc", "kernels/native_bf16_none.cc", "core/op.cc"]
MAIN = """
#include <cinttypes>
#include <cstdio>
#include "kernels/kernels.h"
int main() {
  for (const plumbline::KernelSet* set : plumbline::kernel_sets()) {
    std::printf("%s %016" PRIx64 "\\n", set->target, plumbline::digest_kernels(*set));
    for (const std::string& line : plumbline::check_kernels(*set)) std::printf("wrong: %s\\n", line.c_str());
  }
}
"""


class CrossKernels(unittest.TestCase):
    def setUp(self):
        self.qemu = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
        if not shutil.which(COMPILER) or not self.qemu:
            self.skipTest("no %s or no qemu-aarch64; scripts/packages.sh static installs both" % COMPILER)
        self.folder = tempfile.mkdtemp(prefix="plumbline-cross-")
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self):
        """The headers of this machine's packages do: they are portable. So that none of its C library is found, they are linked to."""
        headers = os.path.join(self.folder, "include")
        os.mkdir(headers)
        for name in ("hwy", "fmt", "tl"):
            os.symlink(os.path.join("/usr/include", name), os.path.join(headers, name))
        main = os.path.join(self.folder, "main.cc")
        with open(main, "w") as file:
            file.write(MAIN)
        binary = os.path.join(self.folder, "kernels")
        # The CRC instruction is not taken for granted, so that it is asked for at run time.
        command = [COMPILER, "-std=c++20", "-O2", "-static", "-march=armv8-a+crypto", "-DHWY_COMPILE_ONLY_STATIC", "-DFMT_HEADER_ONLY",
                   "-I" + house.ROOT, "-I" + os.path.join(house.ROOT, "include"), "-isystem", headers, main,
                   *(os.path.join(house.ROOT, source) for source in SOURCES), "-o", binary]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return binary

    def test_bits_are_those_of_this_machine(self):
        program = os.path.join(os.environ["TEST_BUILD"], "plumbline")
        here = subprocess.run([program, "selftest"], capture_output=True, text=True, timeout=200, check=True).stdout
        digest = re.search(r"digest (\w{16})", here).group(1)
        binary = self.build()
        for cpu in ("max", "cortex-a57"):
            there = subprocess.run([self.qemu, "-cpu", cpu, binary], capture_output=True, text=True, timeout=200, check=True).stdout
            self.assertEqual(there.split("\n"), ["NEON " + digest, "scalar " + digest, ""], cpu)


if __name__ == "__main__":
    house.main()
