// As on Apple's systems, `import CoreBluetooth` imports these modules too.
@_exported import Dispatch
@_exported import Foundation

/// Seconds since 1 January 2001, as in Core Foundation.
public typealias CFAbsoluteTime = Double

/// A number of seconds, as in Core Foundation.
public typealias CFTimeInterval = Double

/// The time now, as in Core Foundation.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime {
  Date().timeIntervalSinceReferenceDate
}

/// Core Foundation's UUID, which exists only under this name on Linux.
public typealias CFUUID = NSUUID
