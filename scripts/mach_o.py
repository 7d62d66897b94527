#!/usr/bin/env python3
"""Reads a program for macOS as its kernel and its loader would, and says what it is, or what is wrong with it (exit status 1).

It must be for arm64 alone, load nothing but what the system has in /usr/lib or /System/Library, say the oldest macOS that it is for, carry a
signature that fits its bytes, and the mark of its build. launch/mach_o.cc reads the same in another way; the two must agree.
"""
import argparse
import hashlib
import os
import re
import struct
import sys

LC_SYMTAB, LC_CODE_SIGNATURE, LC_BUILD_VERSION = 0x2, 0x1D, 0x32
LC_LOADS = (0xC, 0x20, 0x80000018, 0x8000001F, 0x80000023)  # plain, lazy, weak, re-exported, upward
SYSTEM = ("/usr/lib/", "/System/Library/")


class Wrong(Exception):
    pass


def need(right, why):
    if not right:
        raise Wrong(why)


def load_commands(data):
    """(number, bytes) of each."""
    need(len(data) >= 32 and data[:4] == b"\xcf\xfa\xed\xfe", "not a 64-bit Mach-O file")
    cpu, subtype, kind, count, size = struct.unpack_from("<5I", data, 4)
    need(cpu == 0x0100000C and subtype & 0xFFFFFF == 0, "not for arm64: processor %#x, %#x" % (cpu, subtype))
    need(kind == 2, "not a program: type %d" % kind)
    commands, at = [], 32
    for _ in range(count):
        need(at + 8 <= 32 + size <= len(data), "its load commands are cut off")
        number, length = struct.unpack_from("<2I", data, at)
        need(length >= 8 and length % 8 == 0 and at + length <= 32 + size, "its load commands are cut off")
        commands.append((number, data[at : at + length]))
        at += length
    return commands


def version_text(number):
    return "%d.%d" % (number >> 16, number >> 8 & 255)


def check_pages(directory, signed):
    """Every page's hash, as the kernel checks it when the page is first touched."""
    hashes, _, _, slots, limit, size, kind, _, shift = struct.unpack_from(">5I4B", directory, 16)
    need((size, kind) == (32, 2), "its signature is not one of SHA-256")
    need(limit == len(signed), "its signature covers %d of %d bytes" % (limit, len(signed)))
    pages = [signed[at : at + (1 << shift)] for at in range(0, limit, 1 << shift)]
    need(slots == len(pages), "its signature has %d hashes for %d pages" % (slots, len(pages)))
    for number, page in enumerate(pages):
        need(directory[hashes + 32 * number :][:32] == hashlib.sha256(page).digest(), "page %d was changed after it was signed" % number)


def signature_flags(data, command):
    """The flags of its code directory; 2 = ad hoc."""
    at, size = struct.unpack_from("<2I", command, 8)
    need(size and at + size <= len(data), "its signature lies beyond its end")
    blobs = data[at : at + size]
    magic, _, count = struct.unpack_from(">3I", blobs)
    need(magic == 0xFADE0CC0 and count < 64, "its signature cannot be read")
    for number in range(count):
        kind, start = struct.unpack_from(">2I", blobs, 12 + 8 * number)
        if kind == 0:
            magic, length, _, flags = struct.unpack_from(">4I", blobs, start)
            need(magic == 0xFADE0C02, "its signature has no code directory")
            check_pages(blobs[start : start + length], data[:at])
            return flags
    raise Wrong("its signature has no code directory")


def read(data):
    """What it says of itself; raises Wrong."""
    said = {"libraries": [], "bytes": len(data), "symbols": 0}
    signature = None
    for number, command in load_commands(data):
        if number in LC_LOADS:
            name = command[struct.unpack_from("<I", command, 8)[0] :].split(b"\0")[0].decode(errors="replace")
            need(name.startswith(SYSTEM) and "/../" not in name, "it needs " + name)
            said["libraries"].append(name)
        elif number == LC_BUILD_VERSION:
            platform, oldest = struct.unpack_from("<2I", command, 8)
            need(platform == 1, "not for macOS: platform %d" % platform)
            said["oldest"] = version_text(oldest)
        elif number == LC_CODE_SIGNATURE:
            signature = command
        elif number == LC_SYMTAB:
            said["symbols"] = struct.unpack_from("<I", command, 12)[0]
    need("oldest" in said, "it does not say which macOS it is for")
    need(signature is not None, "it is not signed")
    said["ad_hoc"] = signature_flags(data, signature) & 2 != 0
    mark = re.search(rb"plumbline-build:([^;\0]+);", data)
    need(mark is not None, "it has no mark of a build")
    said["build"] = mark.group(1).decode(errors="replace")
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oldest", help="the macOS that it must be for")
    parser.add_argument("--most-mb", type=float, help="it must not be larger")
    parser.add_argument("file")
    args = parser.parse_args()
    try:
        with open(args.file, "rb") as file:
            said = read(file.read())
        need(args.oldest in (None, said["oldest"]), "it is for macOS %s and later" % said["oldest"])
        need(args.most_mb is None or said["bytes"] <= args.most_mb * 1e6, "%.1f MB are too many" % (said["bytes"] / 1e6))
    except (OSError, struct.error, Wrong) as error:
        sys.exit("mach_o: %s: %s" % (args.file, error))
    print("%s: arm64, macOS %s and later, %s, build %s, %d bytes, loads %s" % (
        os.path.basename(args.file), said["oldest"], "signed ad hoc" if said["ad_hoc"] else "signed", said["build"], said["bytes"],
        " ".join(said["libraries"])))


if __name__ == "__main__":
    main()
