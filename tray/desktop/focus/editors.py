"""Sessions inside of an editor or of Claude Desktop: that application, on the session's folder.

Which of its terminals or panels has the session, an editor tells nobody. Where the application
has one window, that is raised as any other. Else it is asked for the window of a folder by its
own command: VS Code and the JetBrains IDEs then bring up the window that has the folder open
already (in VS Code's windowsMainService.ts, `findWindowOnWorkspaceOrFolder`); of their options,
one would open a second window and one replace what is open.
"""

from __future__ import annotations

import os
import shutil
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

import msgspec

from tray.claude import ide
from tray.desktop.focus import terminal
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import check
from tray.desktop.starting import fresh, start
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.system.processes import Process


class _Editor(msgspec.Struct, frozen=True):
    name: str
    """As people know it."""
    program: str
    """Its file, and the command that opens a folder in it."""
    marker: str | None = None
    """What it keeps in a folder that was opened in it; `None`: it opens no folders."""


_VS_CODE = ".vscode"
_JETBRAINS = ".idea"
_EDITORS = (
    _Editor("Visual Studio Code", "code", _VS_CODE),
    _Editor("VS Code Insiders", "code-insiders", _VS_CODE),
    _Editor("Code - OSS", "code-oss", _VS_CODE),
    _Editor("VSCodium", "codium", _VS_CODE),
    _Editor("Cursor", "cursor", _VS_CODE),
    _Editor("Windsurf", "windsurf", _VS_CODE),
    _Editor("Positron", "positron", _VS_CODE),
    _Editor("IntelliJ IDEA", "idea", _JETBRAINS),
    _Editor("PyCharm", "pycharm", _JETBRAINS),
    _Editor("WebStorm", "webstorm", _JETBRAINS),
    _Editor("PhpStorm", "phpstorm", _JETBRAINS),
    _Editor("GoLand", "goland", _JETBRAINS),
    _Editor("CLion", "clion", _JETBRAINS),
    _Editor("Rider", "rider", _JETBRAINS),
    _Editor("RubyMine", "rubymine", _JETBRAINS),
    _Editor("RustRover", "rustrover", _JETBRAINS),
    _Editor("DataGrip", "datagrip", _JETBRAINS),
    _Editor("DataSpell", "dataspell", _JETBRAINS),
    _Editor("Android Studio", "studio", _JETBRAINS),
    _Editor("Claude Desktop", "claude-desktop"),
)
_JAVA = os.path.join("jbr", "bin", "java")
"""The Java that an IDE brings along, and up to 2023.1 runs as."""


class Held(msgspec.Struct, frozen=True):
    """A session as its editor has it."""

    editor: _Editor
    main: Process
    """The process that owns the windows."""


class _Spot:
    """An editor that shows a session."""

    def __init__(
        self, held: Held, folder: str | None, desktop: Mapping[str, str], *, raised: bool
    ) -> None:
        self._held = held
        self._folder = folder
        self._desktop = desktop
        self._raised = raised
        self._hint = _hint(held)
        self.layer = held.editor.name
        on = f" on {one_line(os.path.basename(folder) or folder, 60)}" if folder else ""
        self.says = f"{held.editor.name}{on}"
        self.outward: Seat | WindowHint | None = self._hint if raised else None

    def active(self) -> bool | None:
        """Return `None`: which of its terminals is selected is not known."""
        return None

    def show(self, token: str | None = None) -> None:
        """Have it bring up the window of the folder, unless its only window is raised then."""
        check(self._hint)
        if self._raised:
            return
        editor = self._held.editor
        command = launcher(self._held, self._desktop)
        if command is None:
            raise FocusError(
                f"{editor.name} cannot be asked: its command {editor.program} is not here"
            )
        argv = [command, *([self._folder] if self._folder else [])]
        try:
            code = start(argv, fresh(self._desktop, token))
        except OSError as error:
            raise FocusError(f"{editor.name} cannot be asked ({error.strerror})") from None
        if code:
            raise FocusError(f"{editor.name} cannot be asked: exit code {code} of {command}")


class _Layer:
    name = "editor"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        held = held_by_editor(place)
        if held is None or not isinstance(place, Seat):
            return None
        # Not at the top: this module is one of those that it looks through.
        from tray.desktop.focus import route

        window, _ = route.first(route.WINDOW_SYSTEMS, _hint(held), desktop)
        return _Spot(held, folder_of(place, held.editor), desktop, raised=window is not None)


def held_by_editor(place: Seat | WindowHint) -> Held | None:
    """Return the editor that has the session's tty, or the session without one. Pure.

    Only the processes above it count: variables such as TERM_PROGRAM are inherited, by a terminal
    that was started from an editor, too.
    """
    if not isinstance(place, Seat):
        return None
    for below, above in pairwise((place.process, *place.ancestors)):
        editor = _editor(above)
        if editor is None:
            continue
        if below.tty != place.process.tty or below.ppid != above.pid:
            return None
        return Held(editor, _main(editor, place.ancestors[place.ancestors.index(above) :]))
    return None


def _main(editor: _Editor, outward: Sequence[Process]) -> Process:
    """Return the process with the windows: terminals and plug-ins have others, below it."""
    return list(takewhile(lambda one: _editor(one) == editor, outward))[-1]


def folder_of(seat: Seat, editor: _Editor) -> str | None:
    """Return the folder to ask the editor for; `None` if it had better be asked for none."""
    cwd = seat.process.cwd
    if editor.marker is None or cwd is None or not os.path.isdir(cwd):
        return None
    told = ide.workspace_folders(environment(seat.process.pid, ide.ENVIRONMENT))
    if len(told) == 1:
        return told[0]
    # A window of several folders cannot be asked for by one of them.
    return None if told else _opened(cwd, editor.marker)


def launcher(held: Held, desktop: Mapping[str, str]) -> str | None:
    """Return the editor's own command; `None` if there is none that can be run here."""
    name, exe = held.editor.program, held.main.exe or ""
    folder = os.path.dirname(exe)
    candidates = [f"{folder}/bin/{name}", f"{folder}/resources/app/bin/{name}"]
    if exe.endswith(_JAVA):
        home = exe.removesuffix(_JAVA)
        candidates = [f"{home}bin/{name}", f"{home}bin/{name}.sh"]
    if os.path.basename(exe) == name:
        candidates.append(exe)
    for path in candidates:
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which(name, path=desktop.get("PATH"))


def _hint(held: Held) -> WindowHint:
    main = held.main
    return WindowHint(pid=main.pid, start_ticks=main.start_ticks, app=held.editor.program)


def _editor(process: Process) -> _Editor | None:
    names = {os.path.basename(process.exe or process.comm)}
    if (process.exe or "").endswith(_JAVA):
        bin_folder = (process.exe or "").removesuffix(_JAVA) + "bin"
        names = {
            one.program for one in _EDITORS if os.path.exists(f"{bin_folder}/{one.program}.sh")
        }
    elif any(name.startswith("electron") for name in names):
        # A distribution's package runs the system's Electron on its own files.
        names = {part for word in process.argv[1:3] for part in word.split("/")}
    for editor in _EDITORS:
        if editor.program in names or terminal.runs(process, (editor.program,)):
            return editor
    return None


def _opened(cwd: str, marker: str) -> str:
    """Return the folder at or above `cwd` that the editor has had open, else `cwd`."""
    folder = cwd
    while folder != os.path.dirname(folder):
        if os.path.isdir(os.path.join(folder, marker)) and folder != os.path.expanduser("~"):
            return folder
        folder = os.path.dirname(folder)
    return cwd


LAYER = _Layer()
