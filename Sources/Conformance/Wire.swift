/// The link of a case, with all that went over it kept.
final class Wire {
  private let peer: any Peer
  private var links: [Int: any PeerLink] = [:]
  private var current = 1
  private(set) var exchange: [ExchangedPDU] = []
  private var closedTime: Duration = .zero
  private var keptOctets = 0

  init(_ peer: any Peer) { self.peer = peer }

  private var link: any PeerLink {
    get async throws(CaseStop) {
      if let link = links[current] { return link }
      do throws(PeerError) {
        let link = try await peer.open()
        links[current] = link
        return link
      } catch {
        throw .link(error)
      }
    }
  }

  /// Makes this client's link the current one; opens it when it is first used.
  func turn(to client: Int) { current = client }

  /// Opens the current link if it is not open.
  func open() async throws(CaseStop) { _ = try await link }

  func send(_ pdu: [UInt8]) async throws(CaseStop) {
    let link = try await link
    keep(ExchangedPDU(isFromPeer: false, pdu))
    do throws(PeerError) { try await link.send(pdu) } catch { throw .link(error) }
  }

  func receive(within time: Duration) async throws(CaseStop) -> [UInt8]? {
    let link = try await link
    do throws(PeerError) {
      guard let pdu = try await link.receive(within: time) else { return nil }
      keep(ExchangedPDU(isFromPeer: true, pdu))
      return pdu
    } catch {
      throw .link(error)
    }
  }

  func wait(_ time: Duration) async throws(CaseStop) {
    let link = try await link
    do throws(PeerError) { try await link.wait(time) } catch { throw .link(error) }
  }

  /// Ends the current link.
  func close() async {
    guard let link = links.removeValue(forKey: current) else { return }
    closedTime += link.elapsed
    await link.close()
  }

  /// Ends all links.
  func closeAll() async {
    for client in links.keys.sorted() {
      current = client
      await close()
    }
  }

  /// The time that the links have lasted.
  var elapsed: Duration { links.values.reduce(closedTime) { $0 + $1.elapsed } }

  private func keep(_ pdu: ExchangedPDU) {
    keptOctets += pdu.octets.count
    guard exchange.count < CaseReport.exchangeLimit, keptOctets <= CaseReport.octetLimit else {
      return
    }
    exchange.append(pdu)
  }
}

extension CaseReport {
  /// A report of a case that has ended like this.
  init(_ name: String, _ title: String, _ stop: CaseStop?, _ wire: Wire) throws(PeerError) {
    let outcome: Outcome
    switch stop {
    case nil: outcome = .passed
    case .broken(let finding)?: outcome = .broken(finding)
    case .skipped(let why)?: outcome = .skipped(why)
    case .notExercised(let why)?: outcome = .notExercised(why)
    case .link(.cancelled)?: throw .cancelled
    case .link(.unreachable(let why))?: outcome = .unreachable(why)
    case .link(.ended(let why))?:
      outcome = .broken(
        Finding(
          "A peer does not end a link for what it receives on it", section: "Vol 3, Part F, 3.4.1",
          "the link ended in the middle of the case: \(why)"))
    }
    self.init(
      name: name, title: title, outcome: outcome, exchange: wire.exchange,
      duration: wire.elapsed)
  }
}
