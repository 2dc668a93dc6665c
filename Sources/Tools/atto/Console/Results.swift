/// The results of a command on standard output: text, or JSON with `--json`.
struct Results: Sendable {
  let isJSON: Bool

  init(_ arguments: Arguments) { isJSON = arguments[CommonOptions.json] }

  func print(_ text: @autoclosure () -> String, json: @autoclosure () -> JSONObject) {
    if isJSON { Terminal.print(json: json()) } else { Terminal.print(text()) }
  }

  /// Prints an object: for commands that do not have the same lines as text.
  func print(json: JSONObject) { Terminal.print(json: json) }

  /// Prints the lines of a text of our own (see ``Terminal/print(ownText:)``).
  func print(ownText text: @autoclosure () -> String, json: @autoclosure () -> JSONObject) {
    if isJSON { Terminal.print(json: json()) } else { Terminal.print(ownText: text()) }
  }
}

/// A JSON object. Fields that are nil are left out.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
  private var fields: [String: JSONValue] = [:]

  init(dictionaryLiteral fields: (String, (any Encodable)?)...) { self.init(fields) }

  init(_ fields: [(String, (any Encodable)?)]) {
    for (name, value) in fields { self.fields[name] = value.map { JSONValue(value: $0) } }
  }

  func adding(_ more: JSONObject) -> JSONObject {
    var sum = self
    sum.fields.merge(more.fields) { _, new in new }
    return sum
  }

  func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
}

/// A value of any type.
struct JSONValue: Encodable {
  let value: any Encodable

  func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension ExitStatus {
  /// The object that `--json` prints on standard error. Guide.md documents its form.
  var json: JSONObject {
    let fields: JSONObject = [
      "kind": kind.rawValue, "status": code, "message": message,
      "hints": hints.isEmpty ? nil : hints, "code": refusal.map { Int($0.code.rawValue) },
      "name": refusal?.code.name, "handle": refusal.map { Shown.json($0.handle) },
      "request": refusal.map { Int($0.request.rawValue) },
    ]
    return ["error": fields]
  }
}
