// The Clang module of the same name; `import os.log` finds its submodule.
@_exported import os
