"""A small program for macOS, as plumbline reads one before it sends it: made here, because a lab need not have the cross compiler."""
import hashlib
import struct

PAGE_SHIFT = 12


def load_library(name):
    text = name.encode() + b"\0"
    text += bytes(-len(text) % 8)
    return struct.pack("<6I", 0xC, 24 + len(text), 24, 0, 0, 0) + text


def signature(signed):
    """Ad hoc: one code directory with a hash of each page."""
    pages = [signed[at : at + (1 << PAGE_SHIFT)] for at in range(0, len(signed), 1 << PAGE_SHIFT)]
    hashes = b"".join(hashlib.sha256(page).digest() for page in pages)
    head = struct.pack(">9I4BI", 0xFADE0C02, 44 + len(hashes), 0x20400, 2, 44, 0, 0, len(pages), len(signed), 32, 2, 0, PAGE_SHIFT, 0)
    return struct.pack(">5I", 0xFADE0CC0, 20 + len(head + hashes), 1, 0, 20) + head + hashes


def mac_program(mark, libraries=("/usr/lib/libSystem.B.dylib",), size=100000):
    """Its bytes: `size` of them before the signature."""
    loads = [load_library(name) for name in libraries]
    loads.append(struct.pack("<6I", 0x32, 24, 1, 13 << 16, 0, 0))
    slots = -(-size // (1 << PAGE_SHIFT))
    loads.append(struct.pack("<4I", 0x1D, 16, size, 20 + 44 + 32 * slots))
    commands = b"".join(loads)
    text = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, len(loads), len(commands), 0, 0) + commands + mark
    text += b"." * (size - len(text))
    return text + signature(text)
