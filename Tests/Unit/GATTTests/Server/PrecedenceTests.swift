import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The documented precedence of errors: of two faults in one request, the first one is answered.
/// Rule 5.
@Suite(.sideBySide) struct PrecedenceTests {
  /// The faults of a Write Request or Prepare Write Request, in the documented order.
  enum Fault: Int, CaseIterable, Sendable {
    case form, outOfSync, handle, permission, security, keySize, authorization, queueFull, value,
      application

    func code(_ opcode: UInt8) -> UInt8 {
      switch self {
      case .form: 0x04
      case .outOfSync: 0x12
      case .handle: 0x01
      case .permission: opcode == 0x0A ? 0x02 : 0x03
      case .security: 0x05
      case .keySize: 0x0C
      case .authorization: 0x08
      case .queueFull: 0x09
      case .value: 0x0D
      case .application: 0x80
      }
    }
  }

  static let pairs: [(Fault, Fault)] = Fault.allCases.flatMap { first in
    Fault.allCases.filter { $0.rawValue > first.rawValue }.map { (first, $0) }
  }

  /// The response to a request with exactly these faults; nil if they cannot be combined.
  private func answer(_ opcode: UInt8, _ faults: Set<Fault>) throws -> String? {
    func has(_ fault: Fault) -> Bool { faults.contains(fault) }
    switch opcode {
    case 0x12: if has(.queueFull) { return nil }
    // Checked when the queue is executed.
    case 0x16: if has(.value) || has(.application) { return nil }
    default: if has(.queueFull) || has(.value) { return nil }
    }
    // A requirement cannot miss two security levels at once.
    if has(.security) && has(.keySize) && !has(.form) && !has(.outOfSync) && !has(.handle) {
      // Possible with an encrypted link with a short, unauthenticated key.
    }
    let application = ScriptedApplication()
    let handle: AttributeHandle = has(.handle) ? 0x99 : 0x0B
    application.authorizations[0x0B] =
      has(.authorization) ? .refused(.insufficientAuthorization) : .accepted
    application.writes[0x0B] = has(.application) ? .refused(ErrorCode(0x80)) : .accepted
    application.reads[0x0B] = has(.application) ? .refused(ErrorCode(0x80)) : .value([])
    let access: AttributePermissions.Access =
      has(.permission)
      ? .denied
      : .requires(
        AttributePermissions.Requirement(
          security: has(.security) ? .high : .low, keySize: has(.keySize) ? 16 : 0,
          authorization: has(.authorization)))
    let server = Server(
      Database(
        genericAttributeService,
        service(
          0x1800, at: 9,
          value(
            0x2A00, .application(ValueLimits(maximumLength: 2)),
            AttributePermissions(read: access, write: access)))),
      application: application,
      limits: ServerLimits(preparedWritesPerClient: has(.queueFull) ? 0 : 9))
    let station = TestSession(server, security: LinkSecurity(level: .medium, keySize: 7))
    station.send("12 0600 01")
    if has(.outOfSync) { try server.add(ServiceDefinition(0x1234, handle: 0x200)) }
    let low = UInt8(handle.rawValue)
    var pdu: [UInt8] = [opcode, low, 0]
    if opcode == 0x16 { pdu += [0, 0] }
    if opcode != 0x0A { pdu += has(.value) ? [1, 2, 3] : [1] }
    if has(.form) { pdu = opcode == 0x0A ? [opcode, low] : [opcode, low] }
    let answer = station.send(pdu)
    #expect(answer.count == 1)
    return answer.first
  }

  @Test(arguments: [0x0A, 0x12, 0x16] as [UInt8]) func pairs(_ opcode: UInt8) throws {
    var count = 0
    for (first, second) in Self.pairs {
      guard let answer = try answer(opcode, [first, second]) else { continue }
      count += 1
      #expect(
        answer.hasPrefix("01") && answer.hasSuffix(hexText([first.code(opcode)])),
        "\(first) before \(second): \(answer)")
    }
    #expect(count >= 21)
  }

  /// Each fault alone is answered with its own code, so that the pairs mean something.
  @Test(arguments: [0x0A, 0x12, 0x16] as [UInt8]) func alone(_ opcode: UInt8) throws {
    for fault in Fault.allCases {
      guard let answer = try answer(opcode, [fault]) else { continue }
      #expect(answer.hasSuffix(hexText([fault.code(opcode)])), "\(fault): \(answer)")
    }
    #expect(try answer(opcode, [])?.hasPrefix(hexText([opcode + 1])) == true)
  }

  /// All faults at once, removed one after another.
  @Test func allAtOnce() throws {
    var faults = Set(Fault.allCases.filter { $0 != .queueFull })
    for fault in Fault.allCases where fault != .queueFull {
      let answer = try answer(0x12, faults)
      #expect(answer?.hasSuffix(hexText([fault.code(0x12)])) == true, "\(fault)")
      faults.remove(fault)
    }
    #expect(try answer(0x12, faults) == "13")
  }
}
