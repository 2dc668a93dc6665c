// The Clang module of this name, whose submodules are what `import os.log` finds.
@_exported import os
