import AttoATT
import AttoGATT

@testable import AttoFormats

/// One link of a case: our sessions on its bearers, and the PDUs that they have sent.
///
/// PDUs go into `sent` at once, and the lines of the case consume those of their bearer in order. A
/// PDU that is missing or left over when a line expects something else is a difference.
final class TranscriptSeat {
  let group: SessionGroup
  /// The PDUs that no line has consumed, each with the number of its bearer.
  fileprivate var sent: [(bearer: Int, pdu: [UInt8])] = []

  init(_ session: Session) { group = SessionGroup(session) }

  var session: Session { group.main }

  func session(_ bearer: Int) -> Session? { group.all.first { Int($0.number) == bearer } }

  fileprivate func collect() {
    var pdu: [UInt8] = []
    for session in group.all {
      while !session.bearer.outbox.isEmpty {
        session.bearer.outbox.removeFirst(into: &pdu)
        sent.append((Int(session.number), pdu))
      }
    }
  }

  fileprivate func next(of bearer: Int) -> [UInt8]? {
    sent.firstIndex { $0.bearer == bearer }.map { sent.remove(at: $0).pdu }
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
  /// The bearer of the current line.
  private(set) var bearer = 0
  /// The results of procedures and the values that no line has consumed yet.
  private var results: [String] = []

  init(_ seat: TranscriptSeat) { self.seat = seat }

  /// The differences from the case, each with its line.
  func play(_ test: Transcript.Case) -> [String] {
    for step in test.steps {
      (line, bearer) = (step.line, step.bearer)
      take(step.action)
    }
    finish()
    return complaints
  }

  func complain(_ text: String) { complaints.append("line \(line): \(text)") }

  // MARK: Overridden for each role

  func take(_ action: Transcript.Action) {}
  func finish() {
    for seat in seats { expectNothing(of: nil, from: seat, "at the end") }
    for result in results { complain("the result \(result) is not in the transcript") }
  }
  /// The next event before a moment that no PDU causes.
  func nextMoment() -> Instant? { seats.flatMap(\.group.all).compactMap(\.deadline).min() }
  func happen() {}
  func acted(_ action: SessionAction, _ pdu: [UInt8], on session: Session) {}

  // MARK: PDUs

  /// Delivers a PDU of the peer to our session on the line's bearer.
  func inject(_ pdu: [UInt8]) {
    guard let session = seat.session(bearer) else {
      return complain("the bearer \(bearer) has ended")
    }
    took(session.receive(pdu.span.bytes, at: now), pdu, on: session, of: seat)
    collect()
  }

  private func took(
    _ action: SessionAction, _ pdu: [UInt8], on session: Session, of seat: TranscriptSeat
  ) {
    acted(action, pdu, on: session)
    if case .failed = action, session.number > 0 { seat.group.remove(session, at: now) }
    seat.group.pump(at: now)
  }

  // MARK: Bearers

  func open(_ count: Int, mtu: Int, carriesProcedures: Bool) {
    for _ in 0..<count {
      let configuration = BearerConfiguration(channel: .enhanced(mtu: mtu))
      if seat.group.add(configuration, carriesProcedures: carriesProcedures) == nil {
        complain("no more bearers")
      }
    }
  }

  func close(_ bearer: Int) {
    guard let session = seat.session(bearer) else {
      return complain("the bearer \(bearer) has ended")
    }
    expectNothing(of: bearer, from: seat, "before the end of the bearer")
    seat.group.remove(session, at: now)
    collect()
  }

  func collect() {
    for seat in seats { seat.collect() }
  }

  /// Checks the next PDU that our session has sent.
  func expect(_ pattern: Transcript.Pattern) {
    guard let pdu = seat.next(of: bearer) else {
      return complain("nothing came, not \(pattern)")
    }
    if !pattern.matches(pdu) { complain("\(hex(pdu)) came, not \(pattern)") }
  }

  /// Checks that no line has left a PDU of the link.
  func expectNothing(_ when: String) { expectNothing(of: nil, from: seat, when) }

  /// Checks that no line has left a PDU of the line's bearer.
  func expectNothingOnBearer(_ when: String) { expectNothing(of: bearer, from: seat, when) }

  /// - Parameter bearer: nil for all.
  private func expectNothing(of bearer: Int?, from seat: TranscriptSeat, _ when: String) {
    seat.sent.removeAll { entry in
      guard bearer == nil || bearer == entry.bearer else { return false }
      let place = entry.bearer == 0 ? "" : " on bearer \(entry.bearer)"
      complain("\(hex(entry.pdu)) came\(place) \(when)")
      return true
    }
  }

  // MARK: Procedures

  func begin(_ words: [String]) {
    let mistake = TranscriptProcedure(words, seat.group, now).begin { [unowned self] in
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
        for session in seat.group.all {
          let action = session.advance(to: now)
          if action != .none { took(action, [], on: session, of: seat) }
        }
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
  /// The session with the last indication.
  private var indicated: Session?

  init() { super.init(TranscriptSeat(Session())) }

  override func take(_ action: Transcript.Action) {
    switch action {
    case .client(let pdu): expect(Transcript.Pattern(pdu))
    case .server(let pattern):
      expectNothingOnBearer("before the server's PDU")
      guard let pdu = pattern.bytes else { return complain("\(pattern) is not one PDU") }
      inject(pdu)
    case .wait(let duration): wait(duration)
    case .silence(let duration):
      wait(duration)
      expectNothing("in silence")
    case .security: break
    case .disconnect:
      expectNothing("before the end")
      seat.group.linkEnded()
    case .bearers(let count, let mtu): open(count, mtu: mtu, carriesProcedures: true)
    case .close(let bearer): close(bearer)
    case .database, .notify, .indicate, .bond, .turn, .reconnect: break
    case .procedure(["hold"]): confirmsAtOnce = false
    case .procedure(["confirm"]):
      indicated?.confirm()
      collect()
    case .procedure(let words): begin(words)
    case .result(let words): expect(result: words)
    }
  }

  override func acted(_ action: SessionAction, _ pdu: [UInt8], on session: Session) {
    switch action {
    case .notification: came("notification " + value(pdu))
    case .indication:
      came("indication " + value(pdu))
      indicated = session
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
