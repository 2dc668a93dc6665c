import AttoCommandLine
import AttoFormats
import AttoText

/// A request of a session: a command, and on which connection.
struct SessionRequest: Sendable {
  let id: RequestID
  let command: String
  /// The name of the connection; nil for the current one.
  var connection: String?
  /// The operands and options, as on a command line.
  let words: [String]
  /// The profile to serve, if the request carries it.
  var profile: Profile?
}

extension SessionRequest {
  /// A request that cannot be read, with its ID if that could be.
  struct Mistake: Error {
    var id: RequestID?
    let error: UsageError
  }

  private static let fields = [
    "id", "command", "connection", "arguments", "options", "profile",
  ]

  /// Reads a JSON object such as `{"id":1,"command":"read","arguments":["0x0003"]}`.
  init(json line: String) throws(Mistake) {
    let node: JSON
    do throws(TextMistake) {
      node = try JSONParser.parse(Array(line.utf8))
    } catch {
      throw Mistake(
        error: UsageError(
          "not JSON: expected \(error.expected) at byte \(error.offset), found \(error.found)"))
    }
    guard case .object(let members) = node.content else {
      throw Mistake(error: UsageError("expected an object, found \(node.found)"))
    }
    let id = members.first { $0.name == "id" }.flatMap { RequestID($0.value) }
    do throws(UsageError) {
      try self.init(members, id: id)
    } catch {
      throw Mistake(id: id, error: error)
    }
  }

  private init(_ members: [JSON.Member], id: RequestID?) throws(UsageError) {
    guard let id else { throw UsageError("expected \"id\" with a whole number or a text") }
    self.id = id
    var (command, connection): (String?, String?) = (nil, nil)
    var (operands, options): ([String], [String]) = ([], [])
    for member in members {
      switch (member.name, member.value.content) {
      case ("id", _): break
      case ("command", .string(let text)): command = text
      case ("connection", .string(let text)) where !text.isEmpty: connection = text
      case ("arguments", .array(let nodes)):
        for node in nodes { operands.append(try Self.word(node, in: "arguments")) }
      case ("options", .object(let members)):
        for member in members { options += try Self.words(of: member) }
      case ("profile", .object):
        do throws(ProfileError) {
          profile = try Profile(node: member.value)
        } catch {
          throw UsageError("profile: \(error)")
        }
      case (let name, _) where Self.fields.contains(name):
        throw UsageError("unexpected value of \"\(name)\": found \(member.value.found)")
      case (let name, _):
        throw UsageError(
          "unknown field \"\(name)\"", hint: Suggestion.hint(for: name, among: Self.fields))
      }
    }
    guard let command else { throw UsageError("expected \"command\" with a text") }
    guard profile == nil || command == "serve" else {
      throw UsageError("\"profile\" is for serve")
    }
    self.command = command
    self.connection = connection
    words = options + ["--"] + operands
  }

  /// The words of an option: none for false, one for true, else the name with each value.
  private static func words(of option: JSON.Member) throws(UsageError) -> [String] {
    switch option.value.content {
    case .bool(false), .null: return []
    case .bool(true): return ["--\(option.name)"]
    case .array(let nodes):
      var words: [String] = []
      for node in nodes { words.append("--\(option.name)=\(try word(node, in: option.name))") }
      return words
    default: return ["--\(option.name)=\(try word(option.value, in: option.name))"]
    }
  }

  private static func word(_ node: JSON, in name: String) throws(UsageError) -> String {
    switch node.content {
    case .string(let text), .number(let text): return text
    default: throw UsageError("expected a text or a number in \"\(name)\", found \(node.found)")
    }
  }
}

extension RequestID {
  fileprivate init?(_ node: JSON) {
    switch node.content {
    case .number(let text):
      guard let number = Int(text) else { return nil }
      self = .number(number)
    case .string(let text): self = .text(text)
    default: return nil
    }
  }
}
