// On Apple's systems `import OSLog` imports `os` and adds the store of logs, which Linux does not have.
@_exported import os
