"""Big blocks of memory go back to the system, in a process that sees to it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAP_GROWTH = """
import re

def heap():
    lines = [line for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]")]
    ends = [int(end, 16) for line in lines for end in re.split("[- ]", line)[:2]]
    return max(ends) - min(ends)

{call}
before = heap()
bytearray(8 << 20)
block = bytearray(8 << 20)
print(heap() - before)
"""


def heap_growth(call: str) -> int:
    script = HEAP_GROWTH.format(call=call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not os.confstr("CS_GNU_LIBC_VERSION"), reason="not glibc")
def test_big_blocks_stay_out_of_the_heap() -> None:
    assert heap_growth("") >= 8 << 20, "what glibc does by itself"
    assert heap_growth("from tray.system.memory import *; return_big_blocks()") < 8 << 20
