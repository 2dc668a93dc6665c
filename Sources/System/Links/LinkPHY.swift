import CAttoLinux

/// The PHYs that an LE link uses now. Vol 6, Part B, 3.
public struct LinkPHY: Hashable, Sendable, CustomStringConvertible {
  /// The PHY of one direction. The numbers are those of HCI.
  public enum Kind: UInt8, Hashable, Sendable, CustomStringConvertible {
    /// LE 1M.
    case oneMegabit = 1
    /// LE 2M.
    case twoMegabit = 2
    /// LE Coded. The kernel does not report whether S is 2 or 8.
    case coded = 3

    public var description: String {
      switch self {
      case .oneMegabit: "1M"
      case .twoMegabit: "2M"
      case .coded: "coded"
      }
    }

    /// The bits of BT_PHY, of both directions.
    var bits: Int32 {
      switch self {
      case .oneMegabit: BT_PHY_LE_1M_TX | BT_PHY_LE_1M_RX
      case .twoMegabit: BT_PHY_LE_2M_TX | BT_PHY_LE_2M_RX
      case .coded: BT_PHY_LE_CODED_TX | BT_PHY_LE_CODED_RX
      }
    }
  }

  /// The PHY of this end.
  public var transmit: Kind
  /// The PHY of the peer.
  public var receive: Kind

  /// Creates a pair of PHYs.
  public init(transmit: Kind, receive: Kind) {
    self.transmit = transmit
    self.receive = receive
  }

  /// Reads BT_PHY. Returns nil if it has no PHY or several for a direction: Linux 7.3 answers with the
  /// PHYs that are allowed, 6.12 with the PHYs in use after their first change, and otherwise with none.
  init?(bits: UInt32) {
    func only(_ choices: [(Int32, Kind)]) -> Kind? {
      let found = choices.filter { bits & UInt32($0.0) != 0 }
      return found.count == 1 ? found[0].1 : nil
    }
    guard
      let transmit = only([
        (BT_PHY_LE_1M_TX, .oneMegabit), (BT_PHY_LE_2M_TX, .twoMegabit),
        (BT_PHY_LE_CODED_TX, .coded),
      ]),
      let receive = only([
        (BT_PHY_LE_1M_RX, .oneMegabit), (BT_PHY_LE_2M_RX, .twoMegabit),
        (BT_PHY_LE_CODED_RX, .coded),
      ])
    else { return nil }
    self.init(transmit: transmit, receive: receive)
  }

  /// Whether this kernel cannot choose the PHY of a link: it does not know BT_PHY as an option to set. Linux 6.12
  /// does not, Linux 7.3 does.
  package static var isFixed: Bool {
    let descriptor = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    guard descriptor >= 0 else { return false }
    defer { _ = close(descriptor) }
    return isFixed(for: descriptor)
  }

  /// The same, tried on an L2CAP socket that is not bound.
  package static func isFixed(for socket: Int32) -> Bool {
    clinux_set_option(socket, SOL_BLUETOOTH, BT_PHY, Kind.oneMegabit.bits) == -ENOPROTOOPT
  }

  /// `2M`, or `1M out, 2M in` if the two differ.
  public var description: String {
    transmit == receive ? "\(transmit)" : "\(transmit) out, \(receive) in"
  }
}
