import AttoATT
import AttoHCI

// The connections of a capture.

extension CaptureDecoder {
  struct ConnectionState {
    var incarnation = 1
    /// ATT_MTU, if it is known.
    var mtu: Int?
    /// Whether the capture has its start.
    var isWhole = false
    var isOver = false
    /// The MTU that each side offered in a request; true is the host or central.
    private var offers: [Bool: Int] = [:]
    var bearers = CapturedBearers()

    init(incarnation: Int = 1) { self.incarnation = incarnation }

    /// Updates ATT_MTU from an exchange. Vol 3, Part F, 3.4.2.
    mutating func update(_ octets: [UInt8], isSent: Bool) {
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

  /// The state of a connection, which is new if the last one has ended.
  func connection(_ path: Path) -> ConnectionState {
    var state = connections[path] ?? ConnectionState()
    if state.isOver { state = ConnectionState(incarnation: state.incarnation + 1) }
    return state
  }

  /// Starts or ends a connection by an event. Vol 4, Part E, 7.7.
  mutating func update(_ hci: CaptureRecord.HCI) {
    switch HCIEvent(hci.octets[...]) {
    case .disconnectionComplete(let handle):
      let path = path(handle, hci.adapter)
      dropAll(of: path)
      connections[path]?.isOver = true
    case .connectionComplete(let handle, _, _):
      let path = path(handle, hci.adapter)
      dropAll(of: path)
      var state = ConnectionState(
        incarnation: connections[path].map { $0.incarnation + 1 } ?? 1)
      state.isWhole = true
      state.mtu = 23
      store(state, path)
    default: return
    }
  }

  private mutating func dropAll(of path: Path) {
    for isSent in [true, false] { drop(Way(path: path, isSent: isSent)) }
    dropSDUs(of: path)
  }

  private func path(_ handle: UInt16, _ adapter: UInt16) -> Path {
    Path(adapter: adapter, handle: UInt32(handle), isOnAir: false)
  }

  mutating func store(_ state: ConnectionState, _ path: Path) {
    if connections.count >= Self.connectionLimit, connections[path] == nil { connections = [:] }
    connections[path] = state
  }
}
