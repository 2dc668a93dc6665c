"""The processors, and how the library and a program are built and run for each."""

import copy
import os
import pathlib
import platform
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LIBRARY = ROOT / "Sources" / "C"
# An error or a lost octet ends a program with 99.
MEMCHECK = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--num-callers=25"]
FLAGS = ["-std=c11", "-Os", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]


class Target:
    """A processor, and the kind of its library: "" as users have it, "address" with AddressSanitizer, or "musl"."""

    def __init__(self, triple, emulator=None, kind=""):
        self.triple, self.kind, self.sources = triple, kind, LIBRARY
        self.name = triple.partition("-")[0] + {
            "": "", "address": " with AddressSanitizer", "musl": " with musl"}[kind]
        self.folder = ROOT / ".build" / "embedded" / "-".join(filter(None, (triple, kind)))
        self.prefix = self.folder / "installed"
        self.tools = "" if emulator is None else triple + "-"
        self.emulator = [] if emulator is None else [
            emulator, "-L", f"/usr/{triple}", "-E", f"LD_LIBRARY_PATH={self.prefix}/lib"]
        self.compiler = "musl-gcc" if kind == "musl" else f"{self.tools}gcc"
        self.flags = FLAGS + {"": [], "address": ["-fsanitize=address", "-g"], "musl": ["-static"]}[kind]

    def checked(self):
        """The same programs under memcheck."""
        checked = copy.copy(self)
        checked.name, checked.emulator = f"{self.name} with memcheck", MEMCHECK
        return checked

    def of_tomorrow(self):
        """The same processor, with a library in which each structure that grows has one more field."""
        later = copy.copy(self)
        later.name, later.folder = f"{self.name} of tomorrow", self.folder / "tomorrow"
        later.prefix, later.sources = later.folder / "installed", later.folder / "Sources" / "C"
        return later

    def grow(self):
        """Copies the sources of the library and adds the fields."""
        shutil.copytree(LIBRARY, self.sources)
        for name in ("Atto", "Core", "toolchain"):
            (self.sources.parent / name).symlink_to(LIBRARY.parent / name)
        header = self.sources / "include" / "atto.h"
        text, count = re.subn(
            r"^(?=\} atto_(config|row|event);)", "  uint64_t tomorrow;\n", header.read_text(), flags=re.MULTILINE)
        assert count == 3, count
        header.write_text(text)

    def missing(self):
        """The programs that the target needs and this machine lacks."""
        wanted = [self.compiler, *self.emulator[:1]]
        return [name for name in wanted if shutil.which(name) is None]

    def install(self, path):
        """Builds and installs the library with these folders in PATH; its output if that fails."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.prefix.mkdir(parents=True)
        if self.sources != LIBRARY:
            self.grow()
        done = subprocess.run(
            [self.sources / "install", "--prefix", self.prefix, "--host", self.triple,
             "--build", self.folder / "build",
             *{"": [], "address": ["--sanitize"], "musl": ["--cc", self.compiler]}[self.kind]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | {"PATH": path})
        return None if done.returncode == 0 else done.stdout

    def pkg_config(self):
        """What pkg-config prints, without the program: the file is simple."""
        lines = (self.prefix / "lib" / "pkgconfig" / "atto.pc").read_text().splitlines()
        words = dict(line.split(": ", 1) for line in lines if ": " in line)
        variables = dict(line.split("=", 1) for line in lines if "=" in line and ": " not in line)
        text = words["Cflags"] + " " + words["Libs"]
        for _ in range(2):
            for name, value in variables.items():
                text = text.replace("${" + name + "}", value)
        return text.split()

    def compile(self, program, *sources, static=True, output=None):
        """Compiles a program against the installed library; its messages if that fails."""
        library = [self.prefix / "lib" / "libatto.a", "-lm"] if static or self.kind == "musl" else self.pkg_config()
        done = subprocess.run(
            [self.compiler, *self.flags, "-ffunction-sections", "-fdata-sections",
             "-I", self.prefix / "include", *sources, *library, "-Wl,--gc-sections",
             "-o", self.folder / program],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return None if done.returncode == 0 else done.stdout

    def command(self, program, *words):
        """The words that run a program of the target."""
        return [*self.emulator, str(self.folder / program), *map(str, words)]

    def run(self, program, *words, **more):
        return subprocess.run(
            self.command(program, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=120, env={"LD_LIBRARY_PATH": f"{self.prefix}/lib", "PATH": "/usr/bin:/bin"},
            **more)

    def instructions(self, program, *words):
        """How many instructions a program executes, counted by the emulator one by one."""
        emulator = self.emulator or [f"qemu-{platform.machine()}"]
        process = subprocess.Popen(
            [*emulator, "-singlestep", "-d", "exec,nochain", str(self.folder / program), *words],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        count = sum(line.startswith(b"Trace") for line in process.stderr)
        return count if process.wait() == 0 else None


def targets(is_quick, names):
    """The targets of a run; those with a part of a name of `names`, if there are names. musl is only among
    them where it is named."""
    machine = platform.machine()
    native = {"armv7l": "arm-linux-gnueabihf"}.get(machine, f"{machine}-linux-gnu")
    all = [Target(native), Target(native, kind="address")]
    for triple, emulator in [("aarch64-linux-gnu", "qemu-aarch64"),
                             ("arm-linux-gnueabihf", "qemu-arm"),
                             ("riscv64-linux-gnu", "qemu-riscv64")]:
        if triple != native and not is_quick:
            all.append(Target(triple, emulator))
    if "musl" in names:
        all.append(Target(native, kind="musl"))
    return [target for target in all if not names or any(part in target.name for part in names)]
