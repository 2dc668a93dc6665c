/// A command to a controller. Vol 4, Part E, 7.8.
public struct HCICommand: Hashable, Sendable {
  /// The group and the number of the command within it. Vol 4, Part E, 5.4.1.
  public let opcode: UInt16
  /// At most 255 octets.
  public let parameters: [UInt8]

  private init(_ opcode: UInt16, _ parameters: [UInt8]) {
    (self.opcode, self.parameters) = (opcode, parameters)
  }

  /// The packet as a serial transport has it: a type, the opcode, the length, the parameters. Vol 4, Part A, 2.
  public var packet: [UInt8] {
    [0x01] + Self.octets(opcode) + [UInt8(parameters.count)] + parameters
  }

  /// LE Read Local Supported Features, which returns eight octets. 7.8.3.
  public static let readLocalFeatures = HCICommand(0x2003, [])

  /// LE Connection Update. 7.8.18.
  ///
  /// - Parameters:
  ///   - interval: in units of 1.25 ms.
  ///   - timeout: in units of 10 ms.
  public static func connectionUpdate(
    _ handle: UInt16, interval: ClosedRange<UInt16>, latency: UInt16, timeout: UInt16
  ) -> HCICommand {
    let fields = [handle, interval.lowerBound, interval.upperBound, latency, timeout, 0, 0]
    return HCICommand(0x2013, fields.flatMap(octets))
  }

  /// LE Set Host Feature: tells the controller what the host supports. 7.8.115.
  ///
  /// - Parameter bit: of the feature set. Vol 6, Part B, 4.6.
  public static func setHostFeature(_ bit: UInt8) -> HCICommand { HCICommand(0x2074, [bit, 1]) }

  /// LE Subrate Request. 7.8.124.
  ///
  /// - Parameters:
  ///   - factor: of how many connection events one is used.
  ///   - latency: the most subrated events that the peripheral may skip.
  ///   - continuation: the events that are used after one with data.
  ///   - timeout: in units of 10 ms.
  public static func subrateRequest(
    _ handle: UInt16, factor: ClosedRange<UInt16>, latency: UInt16, continuation: UInt16,
    timeout: UInt16
  ) -> HCICommand {
    let fields = [handle, factor.lowerBound, factor.upperBound, latency, continuation, timeout]
    return HCICommand(0x207E, fields.flatMap(octets))
  }

  /// LE Frame Space Update, for packets of data (T_IFS_ACL) in both directions on all PHYs. 7.8.151.
  ///
  /// - Parameter space: in microseconds.
  public static func frameSpaceUpdate(_ handle: UInt16, space: ClosedRange<UInt16>) -> HCICommand {
    HCICommand(
      0x209D,
      [handle, space.lowerBound, space.upperBound].flatMap(octets) + [0x07] + octets(0x0003))
  }

  private static func octets(_ value: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
  }
}
