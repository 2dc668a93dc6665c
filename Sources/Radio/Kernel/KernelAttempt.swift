import EventLoop
import Links

/// One attempt to connect to a peer's ATT channel. The loop's thread only.
///
/// The kernel looks for the peer's advertisement first, and then connects; giving the socket up
/// ends that. An absent peer and a wrong kind of address look alike: nothing happens.
final class KernelAttempt: ReadinessHandler {
  private let address: L2CAPAddress
  private let security: L2CAPOptions
  private let loop: Loop
  private let timeout: Duration?
  private var completion: ((Result<ConnectedLink, RadioError>) -> Void)?
  private var connector: SocketConnector?
  private var watch: WatchID?
  private var timer: OneTimer?

  init(
    _ address: L2CAPAddress, options: L2CAPOptions, on loop: Loop, timeout: Duration?,
    _ completion: @escaping (Result<ConnectedLink, RadioError>) -> Void
  ) {
    self.address = address
    security = options
    self.loop = loop
    self.timeout = timeout
    self.completion = completion
  }

  var peer: BluetoothAddress { address.peer }

  func start() {
    if let timeout {
      timer = OneTimer(after: timeout, on: loop) { [weak self] in
        guard let self else { return }
        finish(.failure(.timedOut(peer, after: timeout)))
      }
    }
    do throws(LinkError) {
      let connector = try SocketConnector(address, options: security)
      self.connector = connector
      if try connector.start() == .connected { return tryToFinish() }
      guard let descriptor = connector.descriptor else { return }
      do throws(LoopError) {
        watch = try loop.watch(descriptor, self)
      } catch {
        finish(.failure(.system("watch a descriptor", errno: error.errno)))
      }
    } catch {
      finish(.failure(.link(error)))
    }
  }

  func ready(_ readiness: Readiness) { tryToFinish() }

  private func tryToFinish() {
    do throws(LinkError) {
      guard let link = try connector?.finish() else { return }
      finish(
        .success(ConnectedLink(link, peer: peer, identity: "", isCentral: true, loop: loop)))
    } catch {
      finish(.failure(.link(error)))
    }
  }

  /// Ends the attempt; more than once does nothing.
  func finish(_ result: Result<ConnectedLink, RadioError>) {
    guard let completion else { return }
    self.completion = nil
    // The watch must go before the link, whose own watch takes the same descriptor.
    if let watch { loop.unwatch(watch) }
    watch = nil
    timer?.cancel()
    connector = nil
    completion(result)
  }
}
