"""What Slang makes of compute kernels: `slang.py OUT FOLDER...` writes the WGSL of every entry point of every HLSL file
in the folders to OUT/NUMBER.wgsl, and beside it, as OUT/NUMBER.txt, the file's path and the entry point's name. What Slang
refuses is told on standard error. Needs slangpy, whose compiler is called as its C interface has it.
"""

import ctypes
import importlib.util
import pathlib
import re
import sys

# Of slang.h.
WGSL, HLSL, COMPUTE = 28, 2, 6


def compiler():
    # Found without being imported: the package itself wants a GPU's libraries.
    found = importlib.util.find_spec("slangpy")
    if found is None:
        sys.exit("no slangpy")
    folder = pathlib.Path(found.origin).parent
    libraries = sorted(folder.glob("libslang-compiler.so*")) or sorted(folder.glob("*slang*compiler*"))
    library = ctypes.CDLL(str(libraries[0]))
    for name in ("spCreateSession", "spCreateCompileRequest", "spGetEntryPointCode"):
        getattr(library, name).restype = ctypes.c_void_p
    library.spGetDiagnosticOutput.restype = ctypes.c_char_p
    return library


def wgsl(library, session, path, text, entry):
    """The text of a kernel, or what is wrong with it."""
    request = ctypes.c_void_p(library.spCreateCompileRequest(session))
    try:
        library.spSetCodeGenTarget(request, WGSL)
        unit = library.spAddTranslationUnit(request, HLSL, b"kernel")
        library.spAddTranslationUnitSourceString(request, unit, str(path).encode(), text)
        index = library.spAddEntryPoint(request, unit, entry.encode(), COMPUTE)
        if library.spCompile(request) < 0:
            said = (library.spGetDiagnosticOutput(request) or b"").decode(errors="replace")
            return None, next((line for line in said.splitlines() if "error" in line), said.strip())
        size = ctypes.c_size_t()
        code = library.spGetEntryPointCode(request, index, ctypes.byref(size))
        return ctypes.string_at(code, size.value), None
    finally:
        library.spDestroyCompileRequest(request)


# Comments may be anywhere, so what is told of an entry point by its looks alone is only tried.
ENTRY = re.compile(rb"numthreads\s*\([^{;]*?\bvoid\s+(\w+)\s*\(", re.DOTALL)


def entries(text):
    bare = re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", text, flags=re.DOTALL)
    return dict.fromkeys(name.decode() for name in ENTRY.findall(bare))


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    library = compiler()
    session = ctypes.c_void_p(library.spCreateSession(None))
    number = refused = 0
    for path in sorted(file for folder in sys.argv[2:] for file in pathlib.Path(folder).rglob("*.hlsl")):
        text = path.read_bytes()
        for entry in entries(text):
            code, wrong = wgsl(library, session, path, text, entry)
            if code is None:
                refused += 1
                print(f"refused by Slang: {entry} of {path}: {wrong}", file=sys.stderr)
                continue
            (out / f"{number}.wgsl").write_bytes(code)
            (out / f"{number}.txt").write_text(f"{path}\n{entry}\n")
            number += 1
    print(f"{number} kernels written by Slang, {refused} refused", file=sys.stderr)


main()
