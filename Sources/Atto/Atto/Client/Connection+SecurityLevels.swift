import AttoATT
import AttoGATT

// LE GATT Security Levels: the security that a server wants, told before it refuses a request.
extension Connection {
  /// Raises the link to the level that the peer's LE GATT Security Levels (2BF5) state, so that a
  /// person pairs once, and before the first request is refused. Vol 3, Part C, 12.7.
  ///
  /// - Returns: the stated level; nil if the peer states none, and the link is left as it is.
  /// - Throws: what ``read(uuid:in:)`` throws except for attributeNotFound, and what
  ///   ``raiseSecurity(to:within:)`` throws.
  @discardableResult
  public func raiseSecurityAsStated(
    within time: Duration = .seconds(30)
  ) async throws(AttoError) -> SecurityLevel? {
    let stated: [UInt8]?
    do throws(AttoError) {
      let found = try await perform(ReadUsingUUID(.leGATTSecurityLevels, extent: .firstResponse))
      stated = found.values.first?.octets
    } catch .refused(let response) where response.code == .attributeNotFound {
      stated = nil
    }
    guard let level = stated.flatMap(SecurityLevel.init(statedBy:)) else { return nil }
    if level > .low { try await raiseSecurity(to: level, within: time) }
    return level
  }
}

extension SecurityLevel {
  /// The lowest level in a value of LE GATT Security Levels: entries of a mode and a level, one of which
  /// the link must meet. nil if there is none of mode 1, encryption, or if the value is cut off.
  public init?(statedBy value: [UInt8]) {
    guard value.count % 2 == 0 else { return nil }
    let levels = stride(from: 0, to: value.count, by: 2).compactMap { index in
      value[index] == 1 ? SecurityLevel(rawValue: value[index + 1]) : nil
    }
    guard let lowest = levels.min() else { return nil }
    self = lowest
  }
}
