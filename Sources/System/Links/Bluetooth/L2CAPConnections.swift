import CAttoLinux

extension SocketConnector where Connection == SocketLink {
  /// Prepares a connection to a peer's ATT channel (L2CAP CID 4).
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT if the kernel has no Bluetooth, ENODEV for an adapter
  /// that does not exist.
  public convenience init(
    _ address: L2CAPAddress, options: L2CAPOptions = L2CAPOptions()
  ) throws(LinkError) {
    let endpoint = address.description
    self.init(
      try options.openATT(address.source, .connect, endpoint), endpoint: endpoint,
      isRefusedByHangup: true,
      connect: { connectL2CAP($0, to: address.peer, CLINUX_ATT_CID, 0) },
      wrap: { SocketLink($0, carrier: .l2cap, isNew: $1, peerName: endpoint) })
  }
}

extension SocketConnector where Connection == SocketLink {
  /// Prepares the channel of an enhanced bearer to a peer (SPSM 0x0027). The link to the peer is
  /// encrypted first, if it is not.
  ///
  /// Each channel has a request of its own. The kernel can open several with one request (sockets
  /// that set BT_DEFER_SETUP, and a last one that does not), but Linux 6.12 then gives the sockets
  /// each other's destination CIDs: what is sent on one socket is answered on another.
  ///
  /// Throws ``LinkError`` with ENOPROTOOPT if the kernel has enhanced channels switched off,
  /// EAFNOSUPPORT if it has no Bluetooth, ENODEV for an adapter that does not exist.
  ///
  /// - Parameter mtu: the longest PDU that this end receives, at least 64.
  public static func enhanced(
    _ address: L2CAPAddress, mtu: UInt16
  ) throws(LinkError) -> SocketConnector {
    let endpoint = address.description
    let options = L2CAPOptions(security: .medium, receiveMTU: mtu)
    return SocketConnector(
      try options.openEnhanced(address.source, .connect, endpoint), endpoint: endpoint,
      isRefusedByHangup: true,
      connect: { connectL2CAP($0, to: address.peer, 0, enhancedATTPSM) },
      wrap: { socket, _ in
        SocketLink(socket, carrier: .l2cap, isEnhanced: true, peerName: endpoint)
      })
  }
}

/// The SPSM of enhanced ATT bearers (EATT), assigned by the Bluetooth SIG.
package let enhancedATTPSM: UInt16 = 0x0027

extension SocketConnector where Connection == ChannelSocket {
  /// Prepares a channel to a peer's PSM. The kernel uses an existing link, and makes one if there is
  /// none.
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT if the kernel has no Bluetooth, ENODEV for an adapter
  /// that does not exist, EADDRINUSE if all PSMs of this machine are in use.
  public convenience init(
    _ address: L2CAPAddress, psm: UInt16, options: L2CAPOptions = L2CAPOptions()
  ) throws(LinkError) {
    let endpoint = "channel \(psm) of \(address)"
    self.init(
      try options.openChannel(address.source, .connect, endpoint), endpoint: endpoint,
      isRefusedByHangup: true,
      connect: { connectL2CAP($0, to: address.peer, 0, psm) },
      wrap: { socket, _ in ChannelSocket(socket, carrier: .l2cap, peerName: endpoint) })
  }
}

extension SocketListener where Connection == SocketLink {
  /// Listens on the ATT channel (L2CAP CID 4), with up to `backlog` connections waiting. The peer's
  /// address is the ``Link/peerName`` of its link.
  ///
  /// Listening does not advertise. Several sockets may listen, bluetoothd's among them; the newest
  /// gets the connection. A peer that returns within some seconds of its disconnection reuses the
  /// link, and no new connection appears here.
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT if the kernel has no Bluetooth, ENODEV for an adapter
  /// that does not exist, EADDRINUSE.
  public convenience init(
    l2cap source: L2CAPSource, options: L2CAPOptions = L2CAPOptions(), backlog: Int32 = 16
  ) throws(LinkError) {
    let endpoint = "le:\(source.suffix)"
    let socket = try options.openATT(source, .listen, endpoint)
    try LinkError.check(clinux_listen(socket.rawValue, backlog), .listen, endpoint)
    self.init(
      socket, endpoint: endpoint,
      wrap: { (accepted) throws(LinkError) in
        // Accepted sockets do not inherit the listener's buffers.
        try options.socket.apply(to: accepted.rawValue, endpoint: endpoint)
        let peer = SocketLink.l2capAddresses(of: accepted.rawValue)?.peer
        return SocketLink(
          accepted, carrier: .l2cap, peerName: peer.map { "le:\($0)" } ?? "a peer of \(endpoint)")
      })
  }
}

extension SocketListener where Connection == SocketLink {
  /// Listens for the channels of enhanced bearers (SPSM 0x0027), which peers open on encrypted
  /// links.
  ///
  /// Throws ``LinkError`` with ENOPROTOOPT if the kernel has enhanced channels switched off, EACCES
  /// without CAP_NET_BIND_SERVICE, EADDRINUSE if another program (bluetoothd) listens there.
  ///
  /// - Parameter mtu: the longest PDU that this end receives, at least 64.
  public static func enhanced(
    _ source: L2CAPSource, mtu: UInt16, backlog: Int32 = 16
  ) throws(LinkError) -> SocketListener {
    let endpoint = "le:\(source.suffix)"
    let options = L2CAPOptions(security: .medium, receiveMTU: mtu)
    let socket = try options.openEnhanced(source, psm: enhancedATTPSM, .listen, endpoint)
    try LinkError.check(clinux_listen(socket.rawValue, backlog), .listen, endpoint)
    return SocketListener(
      socket, endpoint: endpoint,
      wrap: { (accepted) throws(LinkError) in
        // Without an address the peer has gone already.
        guard let peer = SocketLink.l2capAddresses(of: accepted.rawValue)?.peer else { return nil }
        return SocketLink(
          accepted, carrier: .l2cap, isEnhanced: true, peerName: "le:\(peer)")
      })
  }
}

/// A channel that a peer has opened, and the address of that peer.
public typealias AcceptedChannel = (ChannelSocket, BluetoothAddress)

extension SocketListener where Connection == AcceptedChannel {
  /// Listens for channels, with up to `backlog` channels waiting.
  ///
  /// - Parameter psm: the PSM; 0: the kernel chooses one from 0x0080 to 0x00FF. Those below 0x0080
  ///   require CAP_NET_BIND_SERVICE.
  /// - Returns: the listener and its PSM.
  /// - Throws: ``LinkError`` with EAFNOSUPPORT if the kernel has no Bluetooth, ENODEV for an adapter
  ///   that does not exist, EADDRINUSE if the PSM is in use, EINVAL if all are or it is invalid.
  public static func channels(
    source: L2CAPSource = .any, psm: UInt16 = 0, options: L2CAPOptions = L2CAPOptions(),
    backlog: Int32 = 16
  ) throws(LinkError) -> (listener: SocketListener, psm: UInt16) {
    let endpoint = "le:\(source.suffix)"
    let socket = try options.openChannel(source, psm: psm, .listen, endpoint)
    try LinkError.check(clinux_listen(socket.rawValue, backlog), .listen, endpoint)
    let number = clinux_channel_psm(socket.rawValue)
    guard number > 0 else {
      throw LinkError(.listen, result: min(number, -EINVAL), endpoint: endpoint)
    }
    let psm = UInt16(truncatingIfNeeded: number)
    let listener = SocketListener(
      socket, endpoint: endpoint,
      wrap: { (accepted) throws(LinkError) in
        guard let peer = SocketLink.l2capAddresses(of: accepted.rawValue)?.peer else { return nil }
        let name = "channel \(psm) with \(peer)"
        return (ChannelSocket(accepted, carrier: .l2cap, peerName: name), peer)
      })
    return (listener, psm)
  }
}

private func connectL2CAP(
  _ socket: Int32, to peer: BluetoothAddress, _ cid: UInt16, _ psm: UInt16
) -> Int32 {
  clinux_l2cap_connect(socket, peer.littleEndian, peer.kind.rawValue, cid, psm)
}
