// As on Apple's systems, `import CoreBluetooth` imports these modules too.
@_exported import Dispatch
@_exported import Foundation

/// Seconds since 1 January 2001, as in Core Foundation.
public typealias CFAbsoluteTime = Double

/// Core Foundation's UUID, which exists only under this name on Linux.
public typealias CFUUID = NSUUID
