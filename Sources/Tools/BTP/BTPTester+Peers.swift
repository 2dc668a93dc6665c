import Atto
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A connected peer.
struct BTPPeer: Sendable {
  let id: UInt64
  let address: BluetoothAddress
  let connection: Connection
  var level = SecurityLevel.low
  var mtu = 23
}

// Connected peers, made by either end. Each has a client and is served.
extension BTPTester {
  /// The connection to a peer. Its kind of address does not matter: testers take simulated radios for
  /// public ones.
  func peer(_ address: BluetoothAddress) throws(BTPStatus) -> BTPPeer {
    guard let peer = peers[address.value] else { throw .fail }
    return peer
  }

  /// Takes over a new link and reports it.
  func adopt(_ link: ConnectedLink) async {
    let address = link.peer
    lastPeer += 1
    let id = lastPeer
    arriving = address
    let connection: Connection
    do {
      connection = try Connection.adoptNow(
        link.unwrap(), options: watching(address, id), server: server)
    } catch {
      arriving = nil
      return note("connection with \(address)", error)
    }
    arriving = nil
    // A link with this peer that has ended unnoticed.
    if let former = peers[address.value] { forget(former) }
    peers[address.value] = BTPPeer(id: id, address: address, connection: connection)
    let values = try? await connection.values()
    let agreed = try? await adapter.connectionInformation(of: address)?.parameters
    // The protocol has no value for parameters that are not known.
    send(
      0x82, of: .gap,
      address.btp + (agreed?.interval ?? 0).octets(2) + (agreed?.latency ?? 0).octets(2)
        + (agreed?.supervisionTimeout ?? 0).octets(2))
    start {
      if let values {
        do {
          for try await value in values {
            await self.room()
            await self.received(value, from: address)
          }
        } catch {}
      }
      try? await connection.waitUntilClosed()
      await self.ended(address, id)
    }
  }

  private func received(_ value: ReceivedValue, from address: BluetoothAddress) {
    let parameters =
      address.btp + [value.isIndication ? 2 : 1] + value.handle.btp + value.value.btpValue
    send(0x80, of: .gatt, parameters)
    send(0x90, of: .gattClient, parameters)
  }

  private func ended(_ address: BluetoothAddress, _ id: UInt64) {
    guard let peer = peers[address.value], peer.id == id else { return }
    forget(peer)
  }

  private func forget(_ peer: BTPPeer) {
    peers[peer.address.value] = nil
    answer(nil, to: peer.address)
    send(0x83, of: .gap, peer.address.btp)
  }

  /// Closes the link, which the kernel would keep for some seconds.
  func disconnect(_ peer: BTPPeer) async {
    peer.connection.close()
    if adapter.index != nil { try? await adapter.disconnect(peer.address) }
  }

  // MARK: Watching

  /// The options of a connection, which look at its ATT_MTU and its security with each PDU.
  private func watching(_ address: BluetoothAddress, _ id: UInt64) -> ConnectionOptions {
    var options = options
    let others = options.linkMonitor
    let loop = loop
    options.linkMonitor = { [weak self] link in
      let other = others?(link)
      let link = LoopBound(link, loop)
      return { [weak self] event in
        other?(event)
        guard case .pdu(let pdu) = event else { return }
        let mtu = pdu.bearer == 0 ? pdu.mtu : nil
        self?.assumeIsolated { $0.saw(mtu, link.value.security.level, of: address, id) }
      }
    }
    return options
  }

  /// - Parameter mtu: that of the unenhanced bearer; nil for a PDU of another one.
  private func saw(
    _ mtu: Int?, _ level: SecurityLevel, of address: BluetoothAddress, _ id: UInt64
  ) {
    guard let peer = peers[address.value], peer.id == id else { return }
    securityIs(level, of: peer)
    if let mtu { mtuIs(mtu, of: peer) }
  }

  /// The MTU was exchanged by this end.
  func lookAtMTU(of peer: BTPPeer) async {
    if let mtu = try? await peer.connection.mtu { mtuIs(mtu, of: peer) }
  }

  private func mtuIs(_ mtu: Int, of peer: BTPPeer) {
    guard let known = peers[peer.address.value], known.id == peer.id, known.mtu != mtu else {
      return
    }
    peers[peer.address.value]?.mtu = mtu
    send(0x80, of: .gattClient, peer.address.btp + UInt16(clamping: mtu).octets(2))
  }

  func securityIs(_ level: SecurityLevel, of peer: BTPPeer) {
    guard let known = peers[peer.address.value], known.id == peer.id, known.level != level else {
      return
    }
    peers[peer.address.value]?.level = level
    // 1: encrypted, 2: with an authenticated key, 3: with one of Secure Connections.
    send(0x89, of: .gap, peer.address.btp + [level.rawValue - 1])
  }
}
