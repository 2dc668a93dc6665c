import Atto
import AttoATT
import AttoFormats
import AttoGateway
import AttoText

/// The answer to a request: an object with the request's `id`, if it had one, and either a result or
/// `error`, which has the form and the kinds of the command's `--json`.
struct Answer {
  private var members: [(name: String, value: JSON)] = []

  init(id: JSON?, via gateway: String) {
    if let id { members.append(("id", id)) }
    members.append(("via", .string(gateway)))
  }

  /// The octets of the payload.
  var payload: [UInt8] { JSON.object(members).octets }

  mutating func done() { members.append(("done", .bool(true))) }

  mutating func value(_ octets: [UInt8], _ format: ValueFormat?) {
    members.append(("value", .string(Hex.text(octets))))
    members += ValueTopic.fields(octets, format)
  }

  mutating func values(_ values: [[UInt8]]) {
    members.append(("values", .array(values.map { .string(Hex.text($0)) })))
  }

  /// Requests that are under way.
  mutating func requests(_ list: [JSON]) { members.append(("requests", .array(list))) }

  /// An update that has begun.
  mutating func begun(_ version: String, size: Int) {
    members += [("version", .string(version)), ("size", .integer(size))]
  }

  mutating func cancelled(_ count: Int) { members.append(("cancelled", .integer(count))) }

  mutating func error(_ kind: FailureKind, _ message: String, _ more: [(String, JSON)] = []) {
    let fields: [(String, JSON)] = [
      ("kind", .string(kind.rawValue)), ("message", .string(message)),
    ]
    members.append(("error", .object((fields + more).map { (name: $0.0, value: $0.1) })))
  }

  mutating func error(_ error: GatewayError) {
    self.error(error.kind, "\(error)", error.fields)
  }
}

extension GatewayError {
  /// The kind of this error, as the command names it.
  var kind: FailureKind {
    switch self {
    case .device(let error), .sequence(_, .device(let error)): error.kind
    case .notConnected, .sequence(_, .notConnected), .released: .link
    case .connectTimeout, .sequence(_, .noValue), .sequence(_, .tooLong): .timeout
    case .update(.unusable), .update(.wrongHash): .file
    case .update(.tooManyPlans), .update(.tooManyDevices): .limit
    case .update(.noThread): .system
    case .noFreeSlot, .tooManyDevices, .tooManyRequests, .notRestarted: .limit
    case .unknownDevice, .addressNotAllowed, .notHeard, .unknownCharacteristic, .unknownSequence,
      .unknownQuestion,
      .unsuitableAnswer, .update,
      .sequence(_, .unknownCharacteristic):
      .usage
    case .adapter(_, let error): error.kind
    case .cancelled: .interrupted
    }
  }

  /// What the peer has answered, and the step of a sequence.
  fileprivate var fields: [(String, JSON)] {
    switch self {
    case .device(let error): error.fields
    case .sequence(let step, .device(let error)): error.fields + [("step", .integer(step))]
    case .sequence(let step, _): [("step", .integer(step))]
    default: []
    }
  }
}

extension AttoError {
  fileprivate var fields: [(String, JSON)] {
    switch self {
    case .refused(let response), .insufficientSecurity(let response, _):
      [("code", .integer(Int(response.code.rawValue)))]
        + (response.code.name.map { [("name", .string($0))] } ?? [])
        + [("handle", .integer(Int(response.handle.rawValue)))]
    default: []
    }
  }
}
