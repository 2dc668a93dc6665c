// As on Apple's systems, what imports CoreBluetooth has these too.
@_exported import Dispatch
@_exported import Foundation

/// Seconds since 1 January 2001, as Core Foundation counts them.
public typealias CFAbsoluteTime = Double

/// Core Foundation's UUID, which Linux has under this name only.
public typealias CFUUID = NSUUID
