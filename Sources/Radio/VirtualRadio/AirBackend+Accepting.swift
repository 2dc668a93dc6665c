import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import CAttoLinux
import Glibc

extension AirBackend {
  func acceptMore() { listener?.resume() }

  /// Accepts the connections of a listening socket, which it takes ownership of.
  func listen(_ socket: Int32) throws(RadioError) {
    let endpoint = "air:\(name.isEmpty ? "\(address)" : name)"
    do throws(LoopError) {
      listener = try SocketAcceptor(
        socket, on: loop, next: { () throws(LinkError) in try Self.accept(socket, endpoint) },
        close: { _ = Glibc.close(socket) },
        hasRoom: { [weak self] in
          guard let self else { return false }
          return handshakes.count < Self.handshakeLimit && host.hasRoom
        }, { [weak self] in self?.greet($0) },
        failure: { [host] in host.acceptFailed($0) })
    } catch {
      throw RadioError(error)
    }
  }

  private static func accept(_ listener: Int32, _ endpoint: String) throws(LinkError) -> Int32? {
    // More connections die in the queue, or are strangers', only under attack.
    for _ in 0..<64 {
      let socket = clinux_accept(listener)
      switch -socket {
      case EAGAIN: return nil
      case EINTR, ECONNABORTED: continue
      case 1...: throw LinkError(.accept, .system(-socket), endpoint: endpoint)
      default:
        if AirFolder.stranger(at: socket) == nil { return socket }
        _ = Glibc.close(socket)
      }
    }
    throw LinkError(.accept, .system(EAGAIN), endpoint: endpoint)
  }

  private func greet(_ socket: Int32) {
    // If the socket cannot be watched, it is closed: the central sees a hang-up and tries again.
    guard let control = try? AirControlSocket(socket, on: loop, takesChannel: false) else { return }
    lastHandshake += 1
    let id = lastHandshake
    let timer = LoopTimer(after: handshakeTime, on: loop) { [weak self] in self?.endHandshake(id) }
    handshakes[id] = (control, timer)
    control.setHandler { [weak self] input in
      guard case .control(.hello(let address, let name)) = input else {
        self?.endHandshake(id)
        return
      }
      self?.admit(id, address, name)
    }
  }

  private func endHandshake(_ id: UInt64) {
    if let (control, timer) = handshakes.removeValue(forKey: id) {
      timer.cancel()
      control.close()
    }
    acceptMore()
  }

  /// A central has sent its address.
  private func admit(_ id: UInt64, _ peer: BluetoothAddress, _ name: String) {
    guard let (control, timer) = handshakes[id] else { return }
    if let reason = reasonToRefuse(peer) {
      _ = control.send(.reject(reason))
      return endHandshake(id)
    }
    var ends: [Int32] = [-1, -1]
    let result = clinux_seqpacket_pair(&ends)
    guard result == 0 else {
      _ = control.send(.reject(.limitedResources))
      host.acceptFailed(LinkError(.accept, .system(-result), endpoint: "air:\(self.name)"))
      return endHandshake(id)
    }
    let own = OwnedDescriptor(owning: ends[0])
    let theirs = OwnedDescriptor(owning: ends[1])
    guard control.send(.accept, channel: theirs.rawValue) else { return endHandshake(id) }
    timer.cancel()
    handshakes[id] = nil
    peers[peer] = control
    let link = AirLink(
      data: own, control: control, peer: peer, name: name, isCentral: false, radio: self)
    host.accepted(link.connected)
    acceptMore()
  }

  private func reasonToRefuse(_ peer: BluetoothAddress) -> DisconnectReason? {
    guard current?.parameters.isConnectable == true else { return .failedToBeEstablished }
    // A link that the peer has left does not count, even before this end has received its end.
    if let known = peers[peer], !known.isHungUp { return .connectionAlreadyExists }
    return peers.count < linkLimit ? nil : .connectionLimitExceeded
  }
}
