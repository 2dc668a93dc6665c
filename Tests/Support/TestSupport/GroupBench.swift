import AttoATT
import AttoGATT

/// A group of sessions whose peer is the test. Bearer 0 is the unenhanced one.
package final class GroupBench {
  package let group: SessionGroup
  package var now = Instant.zero

  package init(_ server: Server? = nil) {
    group = SessionGroup(Session(server: server, client: server?.connect()))
  }

  /// - Parameter mtus: ATT_MTU of each enhanced bearer.
  package convenience init(_ server: Server? = nil, mtus: [Int], carriesProcedures: Bool = true) {
    self.init(server)
    for mtu in mtus { add(mtu, carriesProcedures: carriesProcedures) }
  }

  @discardableResult package func add(_ mtu: Int = 64, carriesProcedures: Bool = true) -> Session? {
    group.add(
      BearerConfiguration(channel: .enhanced(mtu: mtu)), carriesProcedures: carriesProcedures)
  }

  package func session(_ number: Int) -> Session {
    group.all.first { Int($0.number) == number }!
  }

  /// Delivers a PDU on a bearer. Returns the PDUs that the bearer sends.
  @discardableResult package func send(_ number: Int, _ pdu: String) -> [String] {
    let session = session(number)
    let octets = octets(pdu)
    if case .failed = session.receive(octets.span.bytes, at: now) {
      group.remove(session, at: now)
      return []
    }
    group.pump(at: now)
    return session.bearer.outbox.drain()
  }

  /// All PDUs that wait, each after the number of its bearer.
  package var sent: [String] {
    group.all.flatMap { session in
      session.bearer.outbox.drain().map { "\(session.number): \($0)" }
    }
  }

  /// Sends a value on the bearer of its attribute. Returns the number of the bearer.
  package func notify(_ handle: AttributeHandle, _ value: [UInt8]) -> Int {
    let session = group.session(forValuesOf: handle)
    return session.notify(handle, value.span.bytes) ? Int(session.number) : -1
  }
}
