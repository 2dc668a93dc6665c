import TestSupport
import AttoATT

/// A bearer without an owner. Octets go in; actions and octets come out as text.
final class BearerBench {
  var bearer: Bearer
  var now = Instant.zero

  init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    bearer = Bearer(configuration)
  }

  /// Receives a PDU at the current time.
  @discardableResult func receive(_ pdu: String) -> BearerAction { receive(octets(pdu)) }

  @discardableResult func receive(_ pdu: [UInt8]) -> BearerAction {
    bearer.receive(PDU(pdu.span.bytes, mtu: bearer.mtu), octets: pdu.span.bytes, at: now)
  }

  // Macros cannot access noncopyable values.
  var mtu: Int { bearer.mtu }
  var failure: BearerFailure? { bearer.failure }
  var deadline: Instant? { bearer.deadline }
  var holdsValues: Bool { bearer.holdsValues }
  var canExchangeMTU: Bool { bearer.canExchangeMTU }
  var isCongested: Bool { bearer.isCongested }
  var owesResponse: Bool { bearer.owesResponse }
  var hasNothingToSend: Bool { bearer.outbox.isEmpty }

  /// Removes and returns the PDUs in the outbox.
  var sent: [String] { bearer.outbox.drain() }

  /// Queues a request and transmits it if the slot is granted.
  @discardableResult func request(_ id: UInt64, _ pdu: String) -> Bool {
    guard bearer.enqueueRequest(TransactionID(rawValue: id)) == .waiting,
      let granted = bearer.nextRequest()
    else { return false }
    let pdu = octets(pdu)
    bearer.transmit(request: granted, at: now) { out in out.append(pdu.span.bytes) }
    return true
  }

  /// Queues an indication and transmits it if the slot is granted.
  @discardableResult func indicate(_ id: UInt64, _ pdu: String) -> Bool {
    guard bearer.enqueueIndication(TransactionID(rawValue: id)) == .waiting,
      let granted = bearer.nextIndication()
    else { return false }
    let pdu = octets(pdu)
    bearer.transmit(indication: granted, at: now) { out in out.append(pdu.span.bytes) }
    return true
  }

  func respond(_ pdu: String) {
    let pdu = octets(pdu)
    bearer.respond(pdu.span.bytes)
  }

  /// Dequeues a held request, as text.
  func held() -> String? {
    var pdu: [UInt8] = []
    return bearer.dequeueHeldRequest(into: &pdu) ? hexText(pdu) : nil
  }
}

extension TransactionID: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}
