// Modules that applications of Atto need: the types of ATT and GATT, links and radios.
@_exported import AttoATT
@_exported import AttoEventLoop
@_exported import AttoGATT
@_exported import AttoLinks
@_exported import AttoRadio
@_exported import AttoKernelRadio
@_exported import AttoVirtualRadio
