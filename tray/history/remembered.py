"""What the index remembers of the sessions, without a look at one file of theirs.

It may be old: for what is shown until `tray.history.scan.scan` has looked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.history.kinship import with_parents
from tray.history.past import Past

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.history.index import Index
    from tray.history.past import Place

_decode = msgspec.msgpack.Decoder(Past).decode


def remembered(places: Iterable[Place], index: Index) -> tuple[Past, ...]:
    """Return the sessions in these places as they were last counted, newest first. Never raises."""
    sources = {place.path: place.source for place in places}
    below = tuple(os.path.join(path, "projects", "") for path in sources)
    found = []
    for path, (_, kept) in index.load().items():
        try:
            past = _decode(kept)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        transcript = past.transcript or os.fsdecode(path)
        if past.skipped is None and transcript.startswith(below):
            root = past.config_root or next(at for at in sources if transcript.startswith(at))
            source = sources.get(root, past.source)
            found.append(replace(past, transcript=transcript, config_root=root, source=source))
    found.sort(key=lambda past: (-(past.modified or 0.0), past.transcript))
    return tuple(with_parents(found))
