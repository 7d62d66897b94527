#!/usr/bin/env python3
"""Writes the labelled code blocks of docs/adding.md into a folder, so that they are compiled as they stand there.

usage: extract.py DOCUMENT FOLDER
"```cpp collectives/algorithms/x.cc" becomes FOLDER/x.cc, "```cpp row of the report table" becomes FOLDER/report_row.inc.
"""
import pathlib
import re
import sys

document, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```cpp (.+?)\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
if not blocks:
    sys.exit(f"{document}: no labelled code blocks")
for label, code in blocks:
    row = re.fullmatch(r"row of the (\w+) table", label)
    path = folder / (f"{row[1]}_row.inc" if row else pathlib.PurePath(label).name)
    if not path.exists() or path.read_text() != code:
        path.write_text(code)
