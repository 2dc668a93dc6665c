import Foundation

/// An error of this module, which is cast from and to `NSError` as on Apple's systems.
///
/// Foundation's own protocol for that, `_BridgedStoredNSError`, does not make `as? CBError` work on
/// Linux. A conformance to `_ObjectiveCBridgeable` does.
public protocol _BridgedError: CustomNSError, LocalizedError, CustomStringConvertible,
  _ObjectiveCBridgeable
where _ObjectiveCType == NSError {
  /// Creates the error from its code and `userInfo`. The domain is not checked.
  init(_nsError error: NSError)
}

extension _BridgedError {
  /// The error as an `NSError`.
  public var _nsError: NSError {
    NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
  }

  /// The form that NSError has on Apple's systems, without the repeated description in its `userInfo`.
  public var description: String {
    let rest = errorUserInfo.filter { $0.key != NSLocalizedDescriptionKey }
      .sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
    return "Error Domain=\(Self.errorDomain) Code=\(errorCode) \"\(errorDescription ?? "")\""
      + (rest.isEmpty ? "" : " UserInfo={\(rest)}")
  }

  public func _bridgeToObjectiveC() -> NSError { _nsError }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout Self?) {
    result = Self(_nsError: source)
  }

  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSError, result: inout Self?
  ) -> Bool {
    result = source.domain == errorDomain ? Self(_nsError: source) : nil
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> Self {
    Self(_nsError: source ?? NSError(domain: errorDomain, code: 0))
  }
}
