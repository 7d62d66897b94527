#!/usr/bin/env python3
"""Linker launcher of the macOS cross build: stands between CMake and the linker.

libcrypto and libfmt cannot be had for macOS on a Linux machine, so the link would fail on their
symbols (fmt could be had from its headers alone, which is a quarter of the compiling). This script
reads the objects and archives on the linker's command line, writes for each library of the table
below a text stub (.tbd, the format in which Apple ships its own) that names exactly those of its
symbols that are still undefined, and then becomes the linker. Only names of the forms below get into
a stub: any other undefined symbol, a Linux-only call above all, still fails the link.

usage: macos_stub_libraries.py DIRECTORY LINKER [ARGUMENT...]
"""
import os
import re
import struct
import sys

# Library -> what its symbols look like in a Mach-O file (C names carry one more underscore).
STUBS = {
    "crypto": re.compile(r"_(EVP|HMAC|SHA256|RAND|ERR|CRYPTO|OPENSSL|OpenSSL|OSSL)_?\w*$"),
    "fmt": re.compile(r"__Z(N|NK|TIN|TSN|TVN)3fmt2v\d+\w*$"),
}
MACHO_64 = 0xFEEDFACF
LC_SYMTAB = 2
N_STAB, N_TYPE, N_EXT = 0xE0, 0x0E, 0x01


def symbols(data):
    """(undefined, defined) external names of one 64-bit Mach-O object; empty for anything else."""
    undefined, defined = set(), set()
    if len(data) < 32 or struct.unpack_from("<I", data)[0] != MACHO_64:
        return undefined, defined
    commands, position = struct.unpack_from("<I", data, 16)[0], 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, position)
        if command == LC_SYMTAB:
            table, count, strings, _ = struct.unpack_from("<4I", data, position + 8)
            for index in range(count):
                name, kind, _, _, value = struct.unpack_from("<IBBHQ", data, table + 16 * index)
                if kind & N_STAB or not kind & N_EXT:
                    continue
                start = strings + name
                text = data[start : data.index(b"\0", start)].decode()
                # Undefined with a value is a common symbol: the linker makes room for it.
                is_undefined = kind & N_TYPE == 0 and value == 0
                (undefined if is_undefined else defined).add(text)
        position += size
    return undefined, defined


def members(path):
    """The objects in a file: itself, or what the archive holds."""
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(b"!<arch>\n"):
        yield data
        return
    position = 8
    while position + 60 <= len(data):
        name = data[position : position + 16].decode().strip()
        size = int(data[position + 48 : position + 58])
        begin = position + 60
        # BSD archives put a long name before the content and count it in.
        skip = int(name[3:]) if name.startswith("#1/") else 0
        yield data[begin + skip : begin + size]
        position = begin + size + size % 2


def write_stub(directory, library, names):
    listed = ", ".join("'%s'" % name for name in sorted(names))
    text = (
        "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\n"
        "install-name: '/stub/lib%s.dylib'\nexports:\n"
        "  - targets: [ arm64-macos ]\n    symbols: [ %s ]\n...\n" % (library, listed)
    )
    with open(os.path.join(directory, "lib%s.tbd" % library), "w") as file:
        file.write(text)


def main():
    directory, linker = sys.argv[1], sys.argv[2:]
    undefined, defined = set(), set()
    for argument in linker[1:]:
        if argument.endswith((".o", ".a")) and os.path.isfile(argument):
            for data in members(argument):
                wanted, offered = symbols(data)
                undefined |= wanted
                defined |= offered
    os.makedirs(directory, exist_ok=True)
    for library, pattern in STUBS.items():
        names = {name for name in undefined - defined if pattern.match(name)}
        write_stub(directory, library, names)
    os.execvp(linker[0], linker + ["-L" + directory])


if __name__ == "__main__":
    main()
