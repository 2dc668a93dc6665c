"""The steps of the test run, in their order: long ones come first, so that the end keeps both processors busy."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Callable

from running import ROOT

# Whole modules compile in four fifths of the time that batches of files take. SwiftPM expects an
# object for each file, hence the threads.
WHOLE_MODULES = ["-Xswiftc", "-wmo", "-Xswiftc", "-num-threads", "-Xswiftc", "2"]
# Warnings are errors here and not in a plain `swift build`.
STRICT = ["-Xswiftc", "-warnings-as-errors", "-Xcc", "-Werror"]
ADDRESS = ["--sanitize=address", "-Xswiftc", "-gline-tables-only"]
SYSTEM = ROOT / "Tests" / "System"

# The linker's about a sanitizer's symbols, and the compiler driver's about SwiftPM's own options.
EXPECTED_WARNING = re.compile(r"Cannot export local symbol|ignoring '-enable-batch-mode'")

# The tests with threads.
THREADED = (
    "EventLoopTests|LinksTests|RadioTests|AttoTests|AttoTestingTests|CoreBluetoothTests|StoreTests|"
    "GatewayTests|MQTTTests|ESPHomeTests")


@dataclass
class Step:
    name: str
    # Seconds.
    limit: int
    run: Callable
    # Steps that must have passed before.
    after: list = field(default_factory=list)
    # The processors that it keeps busy, of two.
    load: float = 1.0
    # Whether it only computes: it leaves the processors to the steps whose processes wait for each
    # other.
    is_patient: bool = False
    # Whether it belongs to the run without --all.
    is_short: bool = True
    # Whether it runs also where no step is named.
    is_default: bool = True
    # The lines of its log that are printed also if it passed.
    shows: str = ""


STEPS = []


def step(limit: int, **more):
    def add(function):
        STEPS.append(Step(function.__name__, limit, function, **more))
        return function
    return add


class Failure(Exception):
    """The reason why a step failed, where its output does not say it."""


# Whether this is the run without --all.
is_short_run = False
# For programs of the debug build. The leaks step looks for leaks.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


def debug_build() -> str:
    """The folder of the debug build. A build with other options has a folder of its own, so that two
    do not rebuild everything in turns."""
    return ".build/checked" if is_short_run else ".build/address"


def products():
    """Where the debug build puts modules and programs."""
    return ROOT / debug_build() / "debug"


def atto():
    """The command: the optimised one, or in a short run the one of the debug build."""
    return products() / "atto" if is_short_run else ROOT / ".build" / "release" / "atto"


def run(*words, **environment) -> None:
    """Runs a command; the step fails with it."""
    status = subprocess.run([str(word) for word in words], env=os.environ | environment).returncode
    if status != 0:
        sys.stdout.flush()
        sys.exit(status if status > 0 else 1)


def build(*words, command=("swift", "build"), **environment) -> None:
    """Builds. SwiftPM's own warnings, about files without a target for example, fail no build, but
    they fail the step.

    SwiftPM finds the tests in the compiler's index. Without the system's modules in it, a debug build
    takes two thirds of the time. The optimised build has none: with the option, a plain `swift build` of
    a later step would compile everything again."""
    index = ["-Xswiftc", "-index-ignore-system-modules"] if "--build-tests" in words else []
    process = subprocess.Popen(
        [*command, *index, *words],
        env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    warned = False
    for line in process.stdout:
        print(line, end="")
        warned |= "warning:" in line and not EXPECTED_WARNING.search(line)
    if process.wait() != 0:
        raise Failure("the build failed")
    if warned:
        raise Failure("there are warnings")


def unit_tests(folder: str, *runs: list) -> None:
    """Runs built tests, in processes side by side with these options."""
    program = [ROOT / folder / "debug" / "AttoPackageTests.xctest", "--testing-library", "swift-testing"]
    processes = [
        subprocess.Popen([*program, *options], env=os.environ | NO_LEAKS) for options in runs]
    if any([process.wait() for process in processes]):
        sys.exit(1)


@step(60, load=0.25)
def tools():
    """Swift 6.3 with clang and swift format."""
    wrong = [f"{name} is missing: put the Swift toolchain's usr/bin into PATH"
             for name in ("swift", "swiftc") if not shutil.which(name)]
    if not wrong:
        said = subprocess.run(["swift", "--version"], capture_output=True, text=True)
        version = re.search(r"Swift version (\d+)\.(\d+)", said.stdout + said.stderr)
        if version is None or (int(version[1]), int(version[2])) < (6, 3):
            wrong.append("Swift is too old or does not start: 6.3 or later is needed")
        if subprocess.run(["swift", "format", "--version"], capture_output=True).returncode != 0:
            wrong.append("swift format is missing")
        clang = subprocess.run(["Sources/toolchain", "clang", "--version"], capture_output=True, text=True)
        if clang.returncode != 0:
            wrong.append(clang.stderr.strip())
    if wrong:
        raise Failure("\n".join([*wrong, "install Swift 6.3 or later from https://swift.org/install"]))


@step(2700, after=["tools"], is_patient=True, is_short=False)
def release():
    """Every program, optimised, as packages have them."""
    build(command=[ROOT / "Sources" / "Debian" / "compile"])


@step(2700, after=["tools"], is_patient=True)
def build_all():
    """Everything in debug, with warnings as errors and AddressSanitizer; a short run without the
    sanitizer."""
    build("--build-tests", "--scratch-path", debug_build(), *STRICT, *WHOLE_MODULES,
          *([] if is_short_run else ADDRESS))


@step(2400, after=["release"], is_short=False, shows=r".")
def lab():
    """On a kernel with Bluetooth, emulated; the examples of CoreBluetooth too."""
    run(SYSTEM / "KernelLab" / "run", atto(), "--examples", ROOT / ".build" / "release")


@step(2700, after=["release"], load=0.75, is_patient=True, shows=r"^table |^  +octets|^  +text")
def embedded():
    """The C library of ATT and GATT, in Embedded Swift: built, installed and used on four processors; a
    short run takes this machine's only."""
    run(SYSTEM / "Embedded" / "run", atto(), *["--quick"][:is_short_run])


@step(1800, after=["tools"], is_patient=True, is_short=False)
def build_thread():
    """The tests with threads, for ThreadSanitizer."""
    build(
        "--product", "AttoPackageTests", "--sanitize=thread", "--scratch-path", ".build/thread",
        "-Xswiftc", "-gline-tables-only", "-Xswiftc", "-DTHREAD_SANITIZER", *WHOLE_MODULES,
        ATTO_TESTS=THREADED)


@step(1800, after=["build-thread"], load=0.75, is_short=False)
def thread():
    """The tests with threads, with ThreadSanitizer."""
    os.environ["TSAN_OPTIONS"] = f"suppressions={ROOT}/Tests/thread-suppressions.txt"
    unit_tests(
        ".build/thread", ["--no-parallel", "--filter", "CoreBluetoothTests"],
        ["--no-parallel", "--skip", "CoreBluetoothTests"])


@step(1200, after=["release"], load=0.75)
def gateway():
    """The gateway: as a service, with Home Assistant's Bluetooth clients, and with MQTT."""
    # What a value costs is that of the optimised build.
    parts = ["running", "esphome", "mqtt"] if is_short_run else []
    run(SYSTEM / "Gateway" / "run", atto().parent, *parts)


@step(600, after=["release"], is_short=False, shows=r".")
def lab_newest():
    """The tests of sockets, management and security on Debian's newest kernel."""
    run(SYSTEM / "KernelLab" / "run", atto(), "--kernel", "newest", "doctor", "enhanced",
        "encrypted-channels", "link", "radio", "security", "pairing", "on-demand", "mtu", "channels",
        "power", "values", "stages")


@step(60, after=["tools"], load=0.25)
def abi():
    """CLinux's statement of the kernel's Bluetooth ABI agrees with <bluetooth/bluetooth.h>, which static
    assertions in CLinux.c compare. Every other build is without that header, whether it is installed or
    not."""
    for words in [], ["-DCLINUX_COMPARE_HEADERS"]:
        run("Sources/toolchain", "clang", "-fsyntax-only", "-Wall", "-Werror", *words, "-I",
            "Sources/System/CLinux/include", "Sources/System/CLinux/CLinux.c")


@step(60, after=["tools"], load=0.25)
def architecture():
    """Imports, groups, folders, limits."""
    run("Tests/architecture")


@step(1800, after=["tools"], is_patient=True)
def format():
    """The sources are formatted."""
    status = subprocess.run(
        ["swift", "format", "lint", "--strict", "--recursive", "--parallel", "Sources", "Tests",
         "Package.swift"]).returncode
    if status != 0:
        raise Failure("run: swift format --in-place --recursive Sources Tests Package.swift")


@step(1800, after=["tools"], is_patient=True)
def dependents():
    """A package that depends on a version of Atto resolves beside targets named GATT, Files and so on."""
    run(SYSTEM / "Dependents" / "run")


@step(60, after=["release"], load=0.25, is_short=False)
def libraries():
    """The command needs nothing but the C library, and no program has the engine of regular expressions."""
    allowed = re.compile(r"(linux-vdso|ld-linux[-a-z0-9_]*|libc|libm)\.so\b.*")

    def said(*words) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", atto()))
    listed = said("ldd", atto())
    loaded = [line.split()[0].rpartition("/")[2] for line in listed.splitlines()]
    if "libc.so.6" not in needed:
        raise Failure(f"readelf does not list libc: {needed}")
    wrong = [f"atto is linked with {name}" for name in needed if not allowed.fullmatch(name)]
    wrong += [f"atto loads {name}" for name in loaded if not allowed.fullmatch(name)]
    wrong += [line for line in listed.splitlines() if "not found" in line]
    # `regex` names the function that brings it.
    wrong += [f"{name} has _RegexParser, a megabyte: a function of Pieces.swift does what needs it"
              for name in ("atto", "atto-gateway") if b"12_RegexParser" in (atto().parent / name).read_bytes()]
    if wrong:
        raise Failure("\n".join(wrong))


@step(900, after=["release"], load=0.75, is_short=False, is_default=False, shows=r"^table ")
def package():
    """The Debian packages: built, checked, and used in a fresh system. Only where it is named."""
    run(SYSTEM / "Packages" / "run", ROOT / ".build" / "release")


@step(2 * 60 * 60, after=["tools"], is_short=False, is_default=False, shows=r"^\w+: |^README")
def arm64():
    """The programs and packages for arm64, under an emulator. Only where it is named: they are built, and 3 GB
    fetched."""
    run(SYSTEM / "Arm64" / "run")


@step(4 * 60 * 60, after=["tools"], is_short=False, is_default=False, shows=r"^ *\w+ +(user|root) ")
def environments():
    """What a new user does, in fresh Debian systems. Only where it is named."""
    run(SYSTEM / "Environments" / "run")


@step(120, after=["release"], load=0.25)
def demo():
    """`atto demo` ends with its throughput."""
    done = subprocess.run([atto(), "demo"], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    if done.returncode != 0:
        raise Failure(f"atto demo ended with {done.returncode}")
    if not re.search(r"^throughput: ", done.stdout, re.MULTILINE):
        raise Failure("atto demo printed no throughput")


@step(1800, after=["build"], load=0.75, shows=r"^attacks: ")
def test():
    """The unit tests, in one process as `swift test` runs them."""
    unit_tests(debug_build(), [])


@step(600, after=["release"], load=0.75, is_short=False, shows=r"^[0-9]+ passed")
def mutants():
    """Peers that break one rule each: `atto conform` finds each fault, and accuses no case beside it."""
    run(SYSTEM / "Mutants" / "run", atto())


@step(60, after=["build"], load=0.25)
def regex():
    """No program uses what brings Swift's engine of regular expressions, a megabyte of a static program."""
    for name in "atto", "atto-gateway":
        symbols = subprocess.run(["readelf", "--dyn-syms", "--wide", products() / name], check=True,
                                 capture_output=True, text=True).stdout
        if used := re.findall(r"UND (\S*17_StringProcessing\S*)", symbols):
            raise Failure(f"{name} uses {used}: a function of Pieces.swift does it. `swift demangle` shows a name, and "
                          "nm -u of the objects in .build/debug finds the file")


@step(60, after=["build"], load=0.25)
def surface():
    """Apple's interface of CoreBluetooth, symbol by symbol."""
    run(SYSTEM / "CoreBluetooth" / "surface", products())


@step(60, after=["build"], load=0.25)
def api():
    """What `import Atto` offers is what is recorded."""
    run("Tests/api", products())


# A version is built once on each machine.
@step(1200, after=["build"], load=0.5)
def changes():
    """No library breaks programs that are written for the last version."""
    run(SYSTEM / "Dependents" / "changes", products())


@step(60, after=["build"], load=0.5)
def documentation():
    """Every public symbol is documented, and every function that throws says when."""
    run("Tests/documentation", products())


@step(900, after=["build"], is_patient=True, shows=r"^\d+ pages, ")
def site():
    """The documentation site: built without a warning, and every link of it leads somewhere."""
    run(SYSTEM / "Site" / "run", products(), **NO_LEAKS)


@step(600, after=["build"], load=0.5)
def snippets():
    """The programs in the documentation compile, and KeepConnected finds its strap again."""
    run("Tests/snippets", products(), *[] if is_short_run else ["-sanitize=address"], **NO_LEAKS)


@step(900, after=["build"], load=0.25)
def examples():
    """The examples of CoreBluetooth against each other."""
    run(SYSTEM / "CoreBluetooth" / "examples", products(), **NO_LEAKS)


@step(600, after=["release"], load=0.25)
def tours():
    """The commands that the documentation shows, in their order."""
    run(SYSTEM / "Documentation" / "run", atto())


@step(600, after=["release"], load=0.5)
def commands():
    """Every command as its users run it."""
    run(SYSTEM / "Commands" / "run", atto())


@step(600, after=["release"], load=1.25)
def hostile():
    """Every client command against servers that misbehave; a short run takes a part of the pairs."""
    run(SYSTEM / "Hostile" / "run", atto(), *["--quick"][:is_short_run])


@step(900, after=["release"], load=0.5, shows=r"^[A-Za-z].*: \d+ ")
def conformance():
    """The cases of the GATT test suite; a short run leaves out those with Bumble."""
    run(SYSTEM / "Conformance" / "run", atto(), *["--quick"][:is_short_run])


@step(900, after=["release"], load=0.5, is_short=False)
def interoperability():
    """Against Bumble, in both roles."""
    run(SYSTEM / "Interoperability" / "run", atto())


@step(300, after=["release"])
def sensors():
    """Readings in advertisements, against the decoders of Home Assistant."""
    run(SYSTEM / "Sensors" / "run", atto())


@step(600, after=["release", "embedded"])
def python():
    """The Python package, and its backend for bleak."""
    run(SYSTEM / "Python" / "run", atto())


@step(300, after=["release"], load=0.5, is_short=False)
def leaks():
    """Memory that a server loses with its clients, or a client when it ends."""
    run(SYSTEM / "Leaks" / "run", atto())


# Half an hour more than the minutes that it takes by default; see main.py for others.
@step(90 * 60, after=["release"], is_patient=True, is_short=False, is_default=False,
      shows=r"^minute |^growth |^FAILED ")
def soak():
    """An hour of clients that come and go, in which nothing may grow or be lost."""
    run(SYSTEM / "Soak" / "run", atto(), ROOT / ".build" / "release" / "soak",
        "--minutes", os.environ.get("ATTO_SOAK_MINUTES", "60"))


@step(1800, after=["tools"], is_patient=True, is_short=False, shows=r" executions, ")
def fuzz():
    """Code that reads octets from outside, five seconds for each target. The unit tests replay the inputs
    that are kept, with AddressSanitizer."""
    run(SYSTEM / "Fuzz" / "run", "--debug")


@step(1800, after=["tools"], is_patient=True, is_short=False)
def broken():
    """Atto broken on purpose, one line at a time: a transcript and a seed of the simulator must
    notice each."""
    run(SYSTEM / "Broken" / "run")


# Its compilers take 500 MB.
@step(300, after=["tools"], is_patient=True, is_default=False)
def bindings():
    """The examples of the C library in Rust and Go. Only where it is named."""
    run(SYSTEM / "Bindings" / "run")


@step(1800, after=["release"], load=0.75, is_patient=True, is_short=False)
def counts():
    """Allocations, system calls and instructions of the hot paths, against recorded numbers."""
    run(SYSTEM / "Counts" / "run")


@step(1800, after=["release"], is_patient=True, shows=r"^seeds simulated: ", is_short=False)
def simulation():
    """Clients and servers in virtual time. A seed that breaks a rule is reduced and printed with its
    transcript. Repeat one with `.build/release/simulate --seed N --trace`."""
    run(".build/release/simulate", "--seed", 1, "--count", 10000, "--shrink")


# `build` is a function of this file.
for one in STEPS:
    one.name = one.name.removesuffix("_all").replace("_", "-")
