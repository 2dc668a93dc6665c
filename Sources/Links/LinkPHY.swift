/// The PHYs of an LE link, as they are in use now. Vol 6, Part B, 3.
public struct LinkPHY: Hashable, Sendable, CustomStringConvertible {
  /// One direction's.
  public enum Kind: UInt8, Hashable, Sendable, CustomStringConvertible {
    /// LE 1M; the numbers are those of HCI.
    case oneMegabit = 1
    /// LE 2M
    case twoMegabit = 2
    /// LE Coded; the kernel does not tell whether S is 2 or 8.
    case coded = 3

    public var description: String {
      switch self {
      case .oneMegabit: "1M"
      case .twoMegabit: "2M"
      case .coded: "coded"
      }
    }
  }

  /// What this end sends with.
  public var transmit: Kind
  /// What the peer sends with.
  public var receive: Kind

  /// One with these values; its properties say what each means.
  public init(transmit: Kind, receive: Kind) {
    self.transmit = transmit
    self.receive = receive
  }

  /// `2M`, or `1M out, 2M in` where the two differ.
  public var description: String {
    transmit == receive ? "\(transmit)" : "\(transmit) out, \(receive) in"
  }
}
