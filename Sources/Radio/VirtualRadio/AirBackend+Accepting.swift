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
        SocketListener(OwnedDescriptor(owning: socket), endpoint: endpoint) {
          (accepted) throws(LinkError) in
          guard !accepted.isDead, AirFolder.stranger(at: accepted.rawValue) == nil else {
            return nil
          }
          return accepted.release()
        }, on: loop, hasRoom: { [weak self] in self?.host.hasRoom ?? false },
        { [weak self] in self?.greet($0) },
        failure: { [host] in host.acceptFailed($0) })
    } catch {
      throw RadioError(error)
    }
  }

  private func greet(_ socket: Int32) {
    // If the socket cannot be watched, it is closed: the central sees a hang-up and tries again.
    guard let control = try? AirControlSocket(socket, on: loop, takesChannel: false) else { return }
    if handshakes.count >= Self.handshakeLimit { endOldestHandshake() }
    lastHandshake += 1
    let id = lastHandshake
    let timer = LoopTimer(after: handshakeTime, on: loop) { [weak self] in self?.endHandshake(id) }
    handshakes[id] = (control, timer, PeerProcess(of: socket))
    control.setHandler { [weak self] input in
      guard case .control(.hello(let address, let name)) = input else {
        self?.endHandshake(id)
        return
      }
      self?.admit(id, address, name)
    }
  }

  /// Makes room for another handshake. A central sends its hello as it connects, so one that has not
  /// been read yet is not older than ``SocketAcceptor/budget`` others. Of those that are silent, the
  /// oldest of the process with most of them ends.
  private func endOldestHandshake() {
    var counts: [PeerProcess: Int] = [:]
    for (_, _, process) in handshakes.values { if let process { counts[process, default: 0] += 1 } }
    func count(_ entry: Handshake) -> Int { entry.process.flatMap { counts[$0] } ?? 0 }
    let victim = handshakes.min { (count($1.value), $0.key) < (count($0.value), $1.key) }
    if let victim { endHandshake(victim.key) }
  }

  private func endHandshake(_ id: UInt64) {
    guard let (control, timer, _) = handshakes.removeValue(forKey: id) else { return }
    timer.cancel()
    control.close()
  }

  /// A central has sent its address.
  private func admit(_ id: UInt64, _ peer: BluetoothAddress, _ name: String) {
    guard let (control, timer, _) = handshakes[id] else { return }
    guard !control.isHungUp else { return endHandshake(id) }
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
  }

  private func reasonToRefuse(_ peer: BluetoothAddress) -> DisconnectReason? {
    guard current?.parameters.isConnectable == true else { return .failedToBeEstablished }
    // A link that the peer has left does not count, even before this end has received its end.
    if let known = peers[peer], !known.isHungUp { return .connectionAlreadyExists }
    return peers.count < linkLimit ? nil : .connectionLimitExceeded
  }
}
