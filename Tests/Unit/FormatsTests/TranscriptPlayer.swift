import AttoATT
import AttoGATT

@testable import AttoFormats

/// One link of a case: our session on it, and the PDUs that the session has sent.
///
/// PDUs go into `sent` at once, and the lines of the case consume them in order. A PDU that is missing
/// or left over when a line expects something else is a difference.
final class TranscriptSeat {
  var session: Session
  fileprivate var sent: [[UInt8]] = []
  fileprivate var first = 0

  init(_ session: Session) { self.session = session }

  fileprivate func collect() {
    var pdu: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &pdu)
      sent.append(pdu)
    }
  }
}

/// Plays one case of a transcript in virtual time, against our server or our client.
class TranscriptPlayer {
  /// The link of the current lines.
  var seat: TranscriptSeat
  /// All links.
  var seats: [TranscriptSeat] { [seat] }
  var session: Session { seat.session }
  private(set) var now = Instant.zero
  private(set) var complaints: [String] = []
  private(set) var line = 0
  /// The results of procedures and the values that no line has consumed yet.
  private var results: [String] = []

  init(_ seat: TranscriptSeat) { self.seat = seat }

  /// The differences from the case, each with its line.
  func play(_ test: Transcript.Case) -> [String] {
    for step in test.steps {
      line = step.line
      take(step.action)
    }
    finish()
    return complaints
  }

  func complain(_ text: String) { complaints.append("line \(line): \(text)") }

  // MARK: Overridden for each role

  func take(_ action: Transcript.Action) {}
  func finish() {
    for seat in seats { expectNothing(from: seat, "at the end") }
    for result in results { complain("the result \(result) is not in the transcript") }
  }
  /// The next event before a moment that no PDU causes.
  func nextMoment() -> Instant? { seats.compactMap(\.session.deadline).min() }
  func happen() {}
  func acted(_ action: SessionAction, _ pdu: [UInt8]) {}

  // MARK: PDUs

  /// Delivers a PDU of the peer to our session.
  func inject(_ pdu: [UInt8]) {
    acted(session.receive(pdu.span.bytes, at: now), pdu)
    collect()
  }

  func collect() {
    for seat in seats { seat.collect() }
  }

  /// Checks the next PDU that our session has sent.
  func expect(_ pattern: Transcript.Pattern) {
    guard seat.first < seat.sent.count else { return complain("nothing came, not \(pattern)") }
    let pdu = seat.sent[seat.first]
    seat.first += 1
    if !pattern.matches(pdu) { complain("\(hex(pdu)) came, not \(pattern)") }
  }

  func expectNothing(_ when: String) { expectNothing(from: seat, when) }

  private func expectNothing(from seat: TranscriptSeat, _ when: String) {
    for pdu in seat.sent[seat.first...] { complain("\(hex(pdu)) came \(when)") }
    seat.first = seat.sent.count
  }

  // MARK: Procedures

  func begin(_ words: [String]) {
    let mistake = TranscriptProcedure(words, session, now).begin { [unowned self] in
      results.append($0)
    }
    if let mistake { complain(mistake) }
    collect()
  }

  func came(_ result: String) { results.append(result) }

  func expect(result words: [String]) {
    let expected = words.joined(separator: " ")
    guard !results.isEmpty else { return complain("no result, not \(expected)") }
    let result = results.removeFirst()
    if result != expected { complain("the result is \(result), not \(expected)") }
  }

  // MARK: Time

  func wait(_ duration: Duration) {
    let end = now + duration
    while let moment = nextMoment(), moment <= end {
      now = max(now, moment)
      for seat in seats {
        let action = seat.session.advance(to: now)
        if action != .none { acted(action, []) }
      }
      happen()
      collect()
    }
    now = end
  }

  func hex(_ octets: [UInt8]) -> String { Hex.text(octets, separator: " ") }
}

/// Plays a case against our client. The transcript has the PDUs of the server.
final class TranscriptClientPlayer: TranscriptPlayer {

  private var confirmsAtOnce = true

  init() { super.init(TranscriptSeat(Session())) }

  override func take(_ action: Transcript.Action) {
    switch action {
    case .client(let pdu): expect(Transcript.Pattern(pdu))
    case .server(let pattern):
      expectNothing("before the server's PDU")
      guard let pdu = pattern.bytes else { return complain("\(pattern) is not one PDU") }
      inject(pdu)
    case .wait(let duration): wait(duration)
    case .silence(let duration):
      wait(duration)
      expectNothing("in silence")
    case .security: break
    case .disconnect:
      expectNothing("before the end")
      session.linkEnded()
    case .database, .notify, .indicate, .bond, .turn, .reconnect: break
    case .procedure(["hold"]): confirmsAtOnce = false
    case .procedure(["confirm"]):
      session.confirm()
      collect()
    case .procedure(let words): begin(words)
    case .result(let words): expect(result: words)
    }
  }

  override func acted(_ action: SessionAction, _ pdu: [UInt8]) {
    switch action {
    case .notification: came("notification " + value(pdu))
    case .indication:
      came("indication " + value(pdu))
      if confirmsAtOnce { session.confirm() }
    case .notifications:
      let octets = pdu.span.bytes
      if case .multipleHandleValueNotification(let values) = PDU(octets) {
        var iterator = values.makeIterator()
        while let value = iterator.next() {
          came("notification " + text(value.handle, value.value.owned))
        }
      }
    default: break
    }
  }

  private func value(_ pdu: [UInt8]) -> String {
    text(AttributeHandle(UInt16(pdu[1]) | UInt16(pdu[2]) << 8), Array(pdu[3...]))
  }

  private func text(_ handle: AttributeHandle, _ value: [UInt8]) -> String {
    value.isEmpty ? "\(handle)" : "\(handle) " + TranscriptProcedure.text(value)
  }

}
