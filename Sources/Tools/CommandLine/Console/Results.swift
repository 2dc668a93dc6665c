/// The results of a command on standard output: text, or JSON with `--json`.
package struct Results: Sendable {
  package let isJSON: Bool
  /// The request that the results belong to, in a session.
  private let request: RequestID?
  /// What becomes of them, in a session.
  private let delivery: Delivery?

  package static let text = Results()

  private init() { (isJSON, request, delivery) = (false, nil, nil) }

  package init(_ arguments: Arguments) {
    delivery = arguments.place.map { _ in arguments.delivery }
    request = arguments.place.flatMap { $0.isJSON ? $0.request : nil }
    isJSON = arguments[CommonOptions.json] || request != nil
  }

  package func print(_ text: @autoclosure () -> String, json: @autoclosure () -> JSONObject) {
    if isJSON { print(json: json()) } else { Terminal.print(text(), delivery: delivery) }
  }

  /// Prints an object: for commands that do not have the same lines as text.
  ///
  /// - Parameter own: what becomes of it, if not what becomes of other results.
  package func print(json: JSONObject, delivery own: Delivery? = nil) {
    Terminal.print(
      json: request.map { ["id": $0, "result": json] } ?? json, delivery: own ?? delivery)
  }

  /// Prints the lines of a text of our own (see ``Terminal/print(ownText:)``).
  package func print(ownText text: @autoclosure () -> String, json: @autoclosure () -> JSONObject) {
    if isJSON { print(json: json()) } else { Terminal.print(ownText: text()) }
  }
}

extension ExitStatus {
  /// The object that `--json` prints on standard error. Guide.md documents its form.
  package var json: JSONObject {
    let fields: JSONObject = [
      "kind": kind.rawValue, "status": code, "message": message,
      "hints": hints.isEmpty ? nil : hints, "code": refusal.map { Int($0.code.rawValue) },
      "name": refusal?.code.name, "handle": refusal.map { Shown.json($0.handle) },
      "request": refusal.map { Int($0.request.rawValue) },
    ]
    return ["error": fields]
  }
}
