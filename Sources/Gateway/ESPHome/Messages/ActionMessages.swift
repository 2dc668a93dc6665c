/// What a client asks about the actions of the gateway, and about the events that it sends.
package enum ActionRequest: Equatable, Sendable {
  /// The client takes events from now on.
  case subscribe
  /// Carries out an action with texts as arguments; others are read as empty texts.
  case execute(key: UInt32, arguments: [String], call: UInt32)

  init?(type: UInt64, _ fields: ProtobufReader) throws(ProtobufError) {
    switch type {
    case 34: self = .subscribe
    case 42: self = try Self.execute(fields)
    default: return nil
    }
  }

  private static func execute(_ fields: ProtobufReader) throws(ProtobufError) -> ActionRequest {
    var fields = fields
    var (key, arguments, call) = (UInt32(0), [String](), UInt32(0))
    while let field = try fields.next() {
      switch (field.number, field.value) {
      case (1, .fixed32(let number)): key = number
      case (2, .delimited(let octets)): arguments.append(try text(ProtobufReader(octets)))
      case (3, _): call = UInt32(truncatingIfNeeded: try field.integer())
      default: break
      }
    }
    return .execute(key: key, arguments: arguments, call: call)
  }

  private static func text(_ fields: ProtobufReader) throws(ProtobufError) -> String {
    var fields = fields
    var text = ""
    while let field = try fields.next() {
      if field.number == 4 { text = try field.text() }
    }
    return text
  }
}

/// The actions of the gateway, their results, and events for Home Assistant.
package enum ActionReport: ServerMessage {
  /// An action with texts as arguments.
  case action(name: String, key: UInt32, arguments: [String], description: String)
  /// The result of an action; an empty text if it was carried out.
  case result(call: UInt32, error: String)
  case event(name: String, data: [(name: String, value: String)])

  package var type: UInt16 {
    switch self {
    case .action: 41
    case .result: 131
    case .event: 35
    }
  }

  package func write(to body: inout ProtobufWriter) {
    switch self {
    case .action(let name, let key, let arguments, let description):
      body.text(1, name)
      body.fixed(2, key)
      for argument in arguments {
        body.message(3) {
          $0.text(1, argument)
          $0.integer(2, 3)
        }
      }
      // Reports success or an error, and no data.
      body.integer(4, 100)
      body.text(5, description)
    case .result(let call, let error):
      body.integer(1, UInt64(call))
      body.flag(2, error.isEmpty)
      body.text(3, error)
    case .event(let name, let data):
      body.text(1, name)
      for (name, value) in data {
        body.message(2) {
          $0.text(1, name)
          $0.text(2, value)
        }
      }
      body.flag(5, true)
    }
  }

  package static func == (a: ActionReport, b: ActionReport) -> Bool {
    a.type == b.type && a.body == b.body
  }
}
