import Atto
import AttoFormats

/// The place of a command that `atto session` carries out: what the command is to tell the session.
package protocol SessionPlace: Sendable {
  /// The request that the command belongs to.
  var request: RequestID { get }
  /// Whether results are JSON, with the ID of the request.
  var isJSON: Bool { get }
  /// The profile that the request carries.
  var profile: Profile? { get }

  /// Notes that the command has done its work but to deliver what happens.
  func begun() async
  /// Reports a value, which a script may expect.
  func received(_ value: ReceivedValue) async
  /// Notes the peer's database, whose handles are completed from then on.
  func discovered(_ database: RemoteDatabase) async
  /// Waits for the answer to a question; nil if there will be none.
  func nextAnswer() async -> String?
  /// Notes that a server runs, which carries out lines like those of `serve --control`.
  func serves(_ control: @escaping ControlLine) async
  /// Asks the program for a value, or whether it accepts one.
  ///
  /// - Parameter report: reports the question, with its number.
  /// - Throws: the code that the program refuses with; `unlikelyError` if it does not answer in time.
  func ask(
    within time: Duration, _ report: @Sendable (Int) -> Void
  ) async throws(ErrorCode) -> [UInt8]
}

/// Carries out a line for a server, and reports its results as text and JSON.
package typealias ControlLine =
  @Sendable (_ line: String, _ report: (String, JSONObject) -> Void) async throws -> Void

/// How a request of a session is named: by a number or a text of its sender.
package enum RequestID: Hashable, Sendable, Encodable, CustomStringConvertible {
  case number(Int)
  case text(String)

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    }
  }

  package var description: String {
    switch self {
    case .number(let number): "\(number)"
    case .text(let text): text
    }
  }
}
