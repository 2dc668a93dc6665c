import AttoEventLoop
import AttoLinks
import Glibc

/// Opens channels of enhanced bearers over the kernel, one after the other: see
/// `SocketConnector.enhanced`. The loop's thread only.
///
///     opening 1 --connected--> opening 2 ... --the last one--> completed
///        '---------refused, failed | time--> completed with those that are open, or the error
final class EnhancedRequest {
  private let count: Int
  private let mtu: UInt16
  private let ends: LinkAddresses
  private let loop: Loop
  private let timeout: Duration
  private let start: Int64
  private var completion: RadioCompletion<[any Link]>?
  private var links: [any Link] = []
  private var attempt: LinkAttempt<SocketLink>?

  init(
    _ count: Int, mtu: UInt16, _ ends: LinkAddresses, on loop: Loop, timeout: Duration,
    _ completion: @escaping RadioCompletion<[any Link]>
  ) {
    self.count = count
    self.mtu = mtu
    self.ends = ends
    self.loop = loop
    self.timeout = timeout
    self.completion = completion
    start = loop.now
  }

  func openNext() {
    guard completion != nil else { return }
    guard links.count < count else { return complete(nil) }
    let address = L2CAPAddress(ends.peer, source: .address(ends.own))
    let mtu = mtu
    // The attempt and this request hold each other until the attempt ends.
    let attempt = LinkAttempt(
      on: loop, timeout: timeout - .nanoseconds(loop.now - start),
      { () throws(LinkError) in try SocketConnector.enhanced(address, mtu: mtu) }
    ) { self.ended($0) }
    self.attempt = attempt
    attempt.start()
  }

  private func ended(_ end: LinkAttempt<SocketLink>.End) {
    attempt = nil
    switch end {
    case .connected(let link):
      guard completion != nil else { return link.close() }
      links.append(link)
      openNext()
    case .failed(let error):
      switch error.errno {
      case ECONNREFUSED: refused(.unspecified)
      case EACCES: refused(.insufficientEncryption)
      default: complete(.link(error))
      }
    case .unwatched(let error): complete(RadioError(error))
    case .timedOut: complete(.timedOut(ends.peer, after: timeout))
    case .givenUp: break
    }
  }

  private func refused(_ reason: ChannelRefusal) {
    complete(.channelRefused(ends.peer, psm: EnhancedBearers.spsm, reason))
  }

  private func complete(_ error: RadioError?) {
    guard let completion else { return }
    self.completion = nil
    let links = links
    self.links = []
    if let error, links.isEmpty { completion(.failure(error)) } else { completion(.success(links)) }
  }

  /// Ends the request with an error; does nothing if it has completed.
  func end(_ error: RadioError) {
    guard let completion else { return }
    self.completion = nil
    for link in links { link.close() }
    links = []
    let attempt = attempt
    self.attempt = nil
    attempt?.giveUp()
    completion(.failure(error))
  }
}
