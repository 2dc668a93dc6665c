import ATT

/// A bearer with nobody behind it: octets in, actions and octets out, as text.
final class BearerBench {
  var bearer: Bearer
  var now = Instant.zero

  init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    bearer = Bearer(configuration)
  }

  /// Hands in a PDU at the present moment.
  @discardableResult func receive(_ pdu: String) -> BearerAction { receive(octets(pdu)) }

  @discardableResult func receive(_ pdu: [UInt8]) -> BearerAction {
    bearer.receive(PDU(pdu.span.bytes, mtu: bearer.mtu), octets: pdu.span.bytes, at: now)
  }

  // A macro cannot look through a value that is not copyable.
  var mtu: Int { bearer.mtu }
  var failure: BearerFailure? { bearer.failure }
  var deadline: Instant? { bearer.deadline }
  var holdsValues: Bool { bearer.holdsValues }
  var canExchangeMTU: Bool { bearer.canExchangeMTU }
  var isCongested: Bool { bearer.isCongested }
  var owesResponse: Bool { bearer.owesResponse }
  var hasNothingToSend: Bool { bearer.outbox.isEmpty }

  /// What waits for the link, taken from there.
  var sent: [String] { drain(&bearer.outbox) }

  /// Queues a request and, if its turn has come, transmits it.
  @discardableResult func request(_ id: UInt64, _ pdu: String) -> Bool {
    guard bearer.enqueueRequest(TransactionID(rawValue: id)) == .waiting,
      let granted = bearer.nextRequest()
    else { return false }
    let pdu = octets(pdu)
    bearer.transmit(request: granted, at: now) { out in out.append(pdu.span.bytes) }
    return true
  }

  /// Queues an indication and, if its turn has come, transmits it.
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

  /// A held request, as text, if one may be taken up now.
  func held() -> String? {
    var pdu: [UInt8] = []
    return bearer.takeHeldRequest(into: &pdu) ? text(pdu) : nil
  }
}

extension TransactionID: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}
