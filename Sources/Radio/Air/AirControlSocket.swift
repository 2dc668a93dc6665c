import CLinux
import EventLoop
import Glibc

/// The socket beside a link's ATT channel, at either end. The loop's thread only.
///
/// Everything that comes in is bounded and checked here: a packet that is too long or not an
/// `AirControl` is a violation, and so is a descriptor that nobody asked for, which is closed.
/// At most ``budget`` packets are taken in one turn of the loop.
final class AirControlSocket {
  enum Input {
    case control(AirControl)
    /// An acceptance, with the descriptor of the ATT channel. The receiver owns it.
    case channel(Int32)
    /// A channel beside ATT that the other end opens, with an end of it. The receiver owns it.
    case offer(UInt8, psm: UInt16, Int32)
    /// What the other end sent breaks the rules.
    case violation
    /// The other end is gone.
    case hangup
  }

  private static let budget = 32

  private var watched: WatchedDescriptor?
  private var takesChannel: Bool
  /// Whether channels may be offered: as soon as there is a link.
  var takesOffers = false
  private var handler: ((Input) -> Void)?

  /// Takes over a connected socket. `takesChannel`: a central's, which is to be given the ATT
  /// channel.
  init(_ descriptor: Int32, on loop: Loop, takesChannel: Bool) throws(RadioError) {
    self.takesChannel = takesChannel
    watched = try WatchedDescriptor(descriptor, on: loop) { [unowned self] readiness in
      read(readiness)
    }
  }

  /// Says who is told from now on. Nothing is called from within.
  func hand(to handler: @escaping (Input) -> Void) {
    self.handler = handler
    watched?.again()
  }

  var isOpen: Bool { watched != nil }

  /// Whether the other end has gone, though this one has not been told yet.
  var isHungUp: Bool {
    guard let watched else { return true }
    return clinux_poll_now(watched.descriptor)
      & (CLINUX_POLLHUP | CLINUX_POLLERR | CLINUX_POLLRDHUP) != 0
  }

  /// Sends, together with a descriptor if there is one. False if the other end is gone or does
  /// not read what it is sent: the queue in the kernel is the limit.
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

  /// Takes what has come and has not been told yet.
  func drain() { read([]) }

  private func read(_ readiness: Readiness) {
    for _ in 0..<Self.budget {
      guard let watched, let handler else { return }
      var octets = [UInt8](repeating: 0, count: AirControl.lengthLimit + 1)
      var passed: Int32 = -1
      let length = clinux_receive_descriptor(
        watched.descriptor, &octets, octets.count, &passed)
      if length == -Int(EAGAIN) { return }
      guard length > 0 else {
        if passed >= 0 { _ = Glibc.close(passed) }
        // An empty packet reads as the end does.
        return handler(length == 0 && !isHungUp ? .violation : .hangup)
      }
      let control = length < octets.count ? AirControl(octets: octets[..<length]) : nil
      switch control {
      case .accept? where takesChannel && passed >= 0:
        takesChannel = false
        handler(.channel(passed))
      case .open(let identifier, let psm)? where takesOffers && passed >= 0:
        handler(.offer(identifier, psm: psm, passed))
      case let control? where !control.bringsDescriptor && passed < 0: handler(.control(control))
      default:
        if passed >= 0 { _ = Glibc.close(passed) }
        handler(.violation)
      }
    }
    watched?.again()
  }
}
