"""Build the C library and install it: `make capi PREFIX=/usr/local`.

It installs the shared and the static library, the headers of C and C++, the Fortran module as
source with its files for CMake and fpm, a file for pkg-config and a package for CMake; on Linux
also the library that comes before CFITSIO, with a file for pkg-config.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "crates" / "tachyfits-capi"

#: Interfaces of one number fit each other: 0 until the release 1.0.
ABI = "0"

PKG_CONFIG = """prefix={prefix}
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: tachyfits
Description: FITS files read, measured and written without converting them first
Version: {version}
Libs: -L${{libdir}} -ltachyfits
Libs.private: {private}
Cflags: -I${{includedir}}
"""

#: The library that comes before CFITSIO has to be linked before it.
CFITSIO_PKG_CONFIG = """prefix={prefix}
libdir=${{prefix}}/lib

Name: tachyfits-cfitsio
Description: Faster reading for programs that use CFITSIO; link it before cfitsio
Version: {version}
Libs: -L${{libdir}} -Wl,--no-as-needed -ltachyfits_cfitsio -Wl,--as-needed
"""

CFITSIO = "libtachyfits_cfitsio.so"

#: The crate of that library, and the engine with the features that Python and C have: it is
#: compiled once for all of them, and the linker leaves out what the library does not call.
CFITSIO_CRATE = ("-p", "tachyfits-cfitsio", "--features", "tachyfits/remote")

CMAKE = """# find_package(tachyfits) gives the targets tachyfits::tachyfits and tachyfits::static;
# with COMPONENTS Fortran also tachyfits::fortran, the module built by the project's compiler.
get_filename_component(_prefix "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
set(tachyfits_VERSION {version})
if(NOT TARGET tachyfits::tachyfits)
  add_library(tachyfits::tachyfits SHARED IMPORTED)
  set_target_properties(tachyfits::tachyfits PROPERTIES
    IMPORTED_LOCATION "${{_prefix}}/lib/{shared}"
    IMPORTED_SONAME "{soname}"
    INTERFACE_INCLUDE_DIRECTORIES "${{_prefix}}/include")
  add_library(tachyfits::static STATIC IMPORTED)
  set_target_properties(tachyfits::static PROPERTIES
    IMPORTED_LOCATION "${{_prefix}}/lib/libtachyfits.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{_prefix}}/include"
    INTERFACE_LINK_LIBRARIES "{private}")
endif()
if("Fortran" IN_LIST tachyfits_FIND_COMPONENTS AND NOT TARGET tachyfits::fortran)
  add_subdirectory("${{_prefix}}/share/tachyfits/fortran" "${{CMAKE_BINARY_DIR}}/tachyfits-fortran")
endif()
"""


def version() -> str:
    """Return the version of the workspace."""
    match = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert match is not None
    return match[1]


def build() -> tuple[Path, str]:
    """Compile the library; return its folder and the libraries that a static one needs."""
    cargo = ["cargo", "rustc", "--release", "-p", "tachyfits-capi", "--features", "remote"]
    cargo += ["--crate-type", "cdylib,staticlib", "--", "--print", "native-static-libs"]
    if sys.platform == "darwin":
        cargo += ["-C", "link-arg=-Wl,-install_name,@rpath/libtachyfits.0.dylib"]
    else:
        cargo += ["-C", f"link-arg=-Wl,-soname,libtachyfits.so.{ABI}"]
    messages = subprocess.run(cargo, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True).stderr
    match = re.search(r"native-static-libs: (.*)", messages)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release", match[1].strip() if match else "-lpthread -ldl -lm"


def build_before_cfitsio() -> Path:
    """Compile the library that comes before CFITSIO; return its path."""
    cargo = ["cargo", "rustc", "--release", *CFITSIO_CRATE, "--"]
    subprocess.run([*cargo, "-C", f"link-arg=-Wl,-soname,{CFITSIO}"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / CFITSIO


def install(prefix: Path) -> None:
    """Build and copy everything below a prefix."""
    folder, private = build()
    is_mac = sys.platform == "darwin"
    suffix = "dylib" if is_mac else "so"
    numbered = (lambda n: f"libtachyfits.{n}.dylib") if is_mac else lambda n: f"libtachyfits.so.{n}"
    shared, soname = numbered(version()), numbered(ABI)
    library = prefix / "lib"
    for path in (library / "pkgconfig", library / "cmake" / "tachyfits", prefix / "include"):
        path.mkdir(parents=True, exist_ok=True)
    shutil.copy2(folder / f"libtachyfits_c.{suffix}", library / shared)
    shutil.copy2(folder / "libtachyfits_c.a", library / "libtachyfits.a")
    for link, target in ((soname, shared), (f"libtachyfits.{suffix}", soname)):
        (library / link).unlink(missing_ok=True)
        (library / link).symlink_to(target)
    for name in ("tachyfits.h", "tachyfits.hpp"):
        shutil.copy2(CRATE / "include" / name, prefix / "include" / name)
    module = prefix / "share" / "tachyfits" / "fortran"
    (module / "src").mkdir(parents=True, exist_ok=True)
    for name in ("CMakeLists.txt", "fpm.toml", "src/tachyfits.f90"):
        shutil.copy2(ROOT / "fortran" / name, module / name)
    words = {"prefix": prefix, "version": version(), "private": private, "shared": shared,
             "soname": soname}  # fmt: skip
    (library / "pkgconfig" / "tachyfits.pc").write_text(PKG_CONFIG.format(**words))
    if sys.platform == "linux":
        shutil.copy2(build_before_cfitsio(), library / CFITSIO)
        text = CFITSIO_PKG_CONFIG.format(**words)
        (library / "pkgconfig" / "tachyfits-cfitsio.pc").write_text(text)
    cmake = library / "cmake" / "tachyfits" / "tachyfits-config.cmake"
    cmake.write_text(CMAKE.format(**words))
    print(f"installed in {prefix}: lib/{shared}, lib/libtachyfits.a, include/tachyfits.h and .hpp")
    print(f"compile: cc program.c $(PKG_CONFIG_PATH={library}/pkgconfig "
          "pkg-config --cflags --libs tachyfits)")  # fmt: skip


if __name__ == "__main__":
    install(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "capi").resolve())
