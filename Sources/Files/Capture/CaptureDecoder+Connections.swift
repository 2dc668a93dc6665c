import ATT

// What is known of the connections of a capture.

extension CaptureDecoder {
  struct ConnectionState {
    var incarnation = 1
    /// ATT_MTU, if it is known.
    var mtu: Int?
    /// Whether its beginning was seen.
    var isWhole = false
    var isOver = false
    /// What each side has offered in a request: the host's, or central's, first.
    private var offers: [Bool: Int] = [:]

    init(incarnation: Int = 1) { self.incarnation = incarnation }

    /// Learns from an exchange of ATT_MTU. Vol 3, Part F, 3.4.2.
    mutating func see(_ octets: [UInt8], isSent: Bool) {
      switch PDU(octets.span.bytes) {
      case .exchangeMTURequest(let request): offers[isSent] = Int(request.clientReceiveMTU)
      case .exchangeMTUResponse(let response):
        guard let offer = offers.removeValue(forKey: !isSent) else { return }
        let agreed = max(23, min(offer, Int(response.serverReceiveMTU)))
        mtu = isWhole ? agreed : max(mtu ?? 0, agreed)
      default: break
      }
    }
  }

  /// The state of a connection, which begins here if none is under way.
  func connection(_ path: Path) -> ConnectionState {
    var state = connections[path] ?? ConnectionState()
    if state.isOver { state = ConnectionState(incarnation: state.incarnation + 1) }
    return state
  }

  /// Connections begin and end with events. Vol 4, Part E, 7.7.
  mutating func takeEvent(_ hci: CaptureRecord.HCI) {
    let octets = hci.octets
    guard let code = octets.first else { return }
    switch code {
    case 0x05 where octets.count >= 5 && octets[2] == 0:
      // Disconnection Complete: status, then handle.
      let path = path(octets.number16(at: 3, isBig: false), hci.adapter)
      for isSent in [true, false] { drop(Way(path: path, isSent: isSent)) }
      connections[path]?.isOver = true
    case 0x3E where octets.count >= 6 && [0x01, 0x0A, 0x29].contains(octets[2]) && octets[3] == 0:
      // LE Connection Complete, as it was and enhanced: status, then handle.
      let path = path(octets.number16(at: 4, isBig: false), hci.adapter)
      for isSent in [true, false] { drop(Way(path: path, isSent: isSent)) }
      var state = ConnectionState(
        incarnation: connections[path].map { $0.incarnation + 1 } ?? 1)
      state.isWhole = true
      state.mtu = 23
      remember(state, path)
    default: return
    }
  }

  private func path(_ handle: UInt16, _ adapter: UInt16) -> Path {
    Path(adapter: adapter, handle: UInt32(handle & 0xFFF), isOnAir: false)
  }

  mutating func remember(_ state: ConnectionState, _ path: Path) {
    if connections.count >= Self.connectionLimit, connections[path] == nil { connections = [:] }
    connections[path] = state
  }
}
