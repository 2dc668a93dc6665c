import CAttoLinux
import AttoEventLoop
import AttoLinks
import AttoRadio
import Glibc

/// The control socket of a link, at either end. The loop's thread only.
///
/// All input is checked here: a packet that is too long or not an `AirControl` is a violation, and
/// so is an unexpected descriptor, which is closed. At most ``budget`` packets are received in one
/// turn of the loop.
final class AirControlSocket {
  enum Input {
    case control(AirControl)
    /// An acceptance, with the descriptor of the ATT channel. The receiver owns it.
    case channel(Int32)
    /// A channel beside ATT that the peer opens, with an end of it. The receiver owns it.
    case offer(UInt8, psm: UInt16, Int32)
    /// An enhanced bearer that this end has asked for, with an end of it. The receiver owns it.
    case bearer(UInt8, number: UInt8, mtu: UInt16, Int32)
    /// The peer broke the protocol.
    case violation
    /// The peer has closed the socket.
    case hangup
  }

  private static let budget = 32

  private var watched: WatchedDescriptor?
  private var takesChannel: Bool
  /// Whether the peer may open channels: as soon as there is a link.
  var takesOffers = false
  private var handler: ((Input) -> Void)?

  /// Takes ownership of a connected socket.
  ///
  /// - Parameter takesChannel: whether this end is a central, which receives the ATT channel.
  init(_ descriptor: Int32, on loop: Loop, takesChannel: Bool) throws(RadioError) {
    self.takesChannel = takesChannel
    watched = try WatchedDescriptor(descriptor, on: loop) { [unowned self] _ in drain() }
  }

  /// Sets the handler of input. It is not called before the next turn.
  func setHandler(_ handler: @escaping (Input) -> Void) {
    self.handler = handler
    watched?.again()
  }

  /// The process at the other end; nil after ``close()``.
  var process: PeerProcess? { watched.flatMap { PeerProcess(of: $0.descriptor) } }

  var isOpen: Bool { watched != nil }

  /// Whether the peer has closed the socket, even if the handler has not been called yet.
  var isHungUp: Bool {
    guard let watched else { return true }
    return clinux_poll_now(watched.descriptor)
      & (CLINUX_POLLHUP | CLINUX_POLLERR | CLINUX_POLLRDHUP) != 0
  }

  /// Sends a control, with a descriptor if there is one. False if the peer has closed the socket, or
  /// the queue in the kernel is full because the peer does not read.
  func send(_ control: AirControl, channel: Int32? = nil) -> Bool {
    guard let watched else { return false }
    let octets = control.octets
    guard let channel else {
      return clinux_send(watched.descriptor, octets, octets.count) == octets.count
    }
    return clinux_send_descriptor(watched.descriptor, octets, octets.count, channel)
      == octets.count
  }

  /// Closes the socket; the handler is not called again.
  func close() {
    handler = nil
    watched?.end()
    watched = nil
  }

  /// Handles the packets that have arrived.
  func drain() {
    for _ in 0..<Self.budget {
      guard let watched, let handler else { return }
      var octets = [UInt8](repeating: 0, count: AirControl.lengthLimit + 1)
      var passed: Int32 = -1
      let length = clinux_receive_descriptor(
        watched.descriptor, &octets, octets.count, &passed)
      if length == -Int(EAGAIN) { return }
      guard length > 0 else {
        if passed >= 0 { _ = Glibc.close(passed) }
        // Of an empty packet 0 octets are received, as at the end.
        return handler(length == 0 && !isHungUp ? .violation : .hangup)
      }
      let control = length < octets.count ? AirControl(octets: octets[..<length]) : nil
      switch control {
      case .accept? where takesChannel && passed >= 0:
        takesChannel = false
        handler(.channel(passed))
      case .open(let identifier, let psm)? where takesOffers && passed >= 0:
        handler(.offer(identifier, psm: psm, passed))
      case .bearer(let identifier, let number, let mtu)? where takesOffers && passed >= 0:
        handler(.bearer(identifier, number: number, mtu: mtu, passed))
      case let control? where !control.bringsDescriptor && passed < 0: handler(.control(control))
      default:
        if passed >= 0 { _ = Glibc.close(passed) }
        handler(.violation)
      }
    }
    watched?.again()
  }
}
