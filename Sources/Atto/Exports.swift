// What an app that imports Atto works with: the words of ATT and GATT, endpoints, radios.
@_exported import ATT
@_exported import EventLoop
@_exported import GATT
@_exported import Links
@_exported import Radio
