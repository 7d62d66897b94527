"""Records as tests read them: each with its environment, which stands once above those that share it, and with what is left out because it
is as usual (docs/record_format.md)."""
import copy
import functools
import json
import pathlib
import time


@functools.cache
def schema():
    path = pathlib.Path(__file__).resolve().parents[2] / "docs" / "record.schema.json"
    return json.loads(path.read_text())["else"]


def filled(value, below):
    if isinstance(value, dict):
        for name, inner in below.get("properties", {}).items():
            if name == "cell":
                continue  # as asked for
            if name not in value and "default" in inner:
                value[name] = copy.deepcopy(inner["default"])
            filled(value.get(name), inner)
    elif isinstance(value, list):
        for each in value:
            filled(each, below.get("items", {}))
    return value


def records(text):
    """Those of a whole records.jsonl, or of what `coll --json` printed."""
    environments, out = {}, []
    for line in text.splitlines():
        value = json.loads(line)
        if "cell" not in value:
            environments[value["hash"]] = value["environment"]
            continue
        if isinstance(value["environment"], str):
            value["environment"] = environments[value["environment"]]
        out.append(filled(value, schema()))
    return out


def records_of(path):
    """The whole ones: the last may be half written, or its writer was killed there."""
    text = pathlib.Path(path).read_text()
    return records(text[:text.rfind("\n") + 1])


def wait_for_record(path, seconds):
    """Whether one came in time; a file that is not empty need not hold one, as its first line is its environment."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if records_of(path):
                return True
        except FileNotFoundError:
            pass
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
