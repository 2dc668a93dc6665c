import Atto
import AttoATT
import AttoGateway
import AttoText

/// The JSON object of a request, or of a step of it.
struct RequestObject {
  /// The ways to write a value.
  static let valueKeys = ["value", "text", "base64"]

  private let members: [JSON.Member]

  init(_ payload: [UInt8]) throws(Request.Mistake) {
    let node: JSON
    do throws(TextMistake) {
      node = try JSONParser.parse(payload)
    } catch {
      throw Request.Mistake(
        "invalid JSON at octet \(error.offset): expected \(error.expected), found \(error.found)")
    }
    try self.init(node)
  }

  private init(_ node: JSON) throws(Request.Mistake) {
    guard case .object(let members) = node.content else {
      throw Request.Mistake("expected an object, found \(node.found)")
    }
    self.members = members
  }

  subscript(key: String) -> JSON? { members.first { $0.name == key }?.value }

  /// What the answer repeats; too long ones are not.
  var id: JSON? {
    guard let id = self["id"] else { return nil }
    return id.octets.count <= Request.idLimit ? id : nil
  }

  /// Refuses other keys, so that a typing error is noticed.
  func allow(_ keys: [String]) throws(Request.Mistake) {
    for member in members where member.name != "id" && !keys.contains(member.name) {
      let expected = (["id"] + keys).joined(separator: ", ")
      throw Request.Mistake("unknown key \(quoted(member.name)): expected one of \(expected)")
    }
  }

  func bool(_ key: String) throws(Request.Mistake) -> Bool? {
    guard let node = self[key] else { return nil }
    guard case .bool(let value) = node.content else {
      throw Request.Mistake("\(key): expected true or false, found \(node.found)")
    }
    return value
  }

  func string(_ key: String) throws(Request.Mistake) -> String? {
    guard let node = self[key] else { return nil }
    guard case .string(let text) = node.content else {
      throw Request.Mistake("\(key): expected a text, found \(node.found)")
    }
    return text
  }

  func integer(_ key: String) throws(Request.Mistake) -> Int? {
    guard let node = self[key] else { return nil }
    guard case .number(let text) = node.content, let number = Int(text) else {
      throw Request.Mistake("\(key): expected a whole number, found \(node.found)")
    }
    return number
  }

  private func milliseconds(_ key: String) throws(Request.Mistake) -> Duration? {
    guard let node = self[key] else { return nil }
    guard case .number(let text) = node.content, let number = Int(text), 0...60_000 ~= number else {
      throw Request.Mistake("\(key): expected milliseconds from 0 to 60000, found \(node.found)")
    }
    return .milliseconds(number)
  }

  /// The value, which is written in one of several ways; nil if there is none.
  func value() throws(Request.Mistake) -> [UInt8]? {
    let given = Self.valueKeys.filter { self[$0] != nil }
    guard let key = given.first else { return nil }
    guard given.count == 1 else {
      throw Request.Mistake("\(given.joined(separator: " and ")) cannot be combined")
    }
    let text = try string(key) ?? ""
    let octets: [UInt8]? =
      switch key {
      case "value": Hex.octets(text.utf8, separators: " :")
      case "base64": Base64.decode(text.utf8)
      default: Array(text.utf8)
      }
    guard let octets else {
      throw Request.Mistake(
        "\(key): expected \(key == "value" ? "hexadecimal digits" : "base64"), found \(quoted(text))"
      )
    }
    return try Request.checked(octets)
  }

  // MARK: - Updates

  /// - Parameter devices: nil: the object has them.
  func plan(for devices: [String]?) throws(Request.Mistake) -> UpdatePlan {
    let keys = ["file", "sha256", "image", "onlyUpgrade", "start", "confirm"]
    try allow(devices == nil ? keys + ["devices"] : keys)
    guard let file = try string("file") else { throw Request.Mistake("expected the key file") }
    let digits = try string("sha256")
    if let digits, Hex.octets(digits.utf8)?.count != 32 {
      throw Request.Mistake("sha256: expected 64 hexadecimal digits")
    }
    var plan = UpdatePlan(file: file, sha256: digits, devices: devices ?? [])
    if devices == nil { plan.devices = try names("devices") }
    if let number = try integer("image") {
      guard 0...15 ~= number else {
        throw Request.Mistake("image: expected a number from 0 to 15, found \(number)")
      }
      plan.image = number
    }
    plan.onlyUpgrade = try bool("onlyUpgrade") ?? plan.onlyUpgrade
    plan.starts = try bool("start") ?? plan.starts
    plan.confirms = try bool("confirm") ?? plan.confirms
    return plan
  }

  private func names(_ key: String) throws(Request.Mistake) -> [String] {
    guard let node = self[key], case .array(let nodes) = node.content else {
      throw Request.Mistake("expected the key \(key), a list of names")
    }
    var names: [String] = []
    for node in nodes {
      guard case .string(let name) = node.content else {
        throw Request.Mistake("\(key): expected a list of names, found \(node.found)")
      }
      names.append(name)
    }
    return names
  }

  // MARK: - Steps

  func steps() throws(Request.Mistake) -> [SequenceStep] {
    guard let node = self["steps"] else { throw Request.Mistake("expected the key name or steps") }
    guard case .array(let nodes) = node.content, !nodes.isEmpty else {
      throw Request.Mistake("steps: expected a list of steps, found \(node.found)")
    }
    guard nodes.count <= Request.stepLimit else {
      throw Request.Mistake("too many steps: \(nodes.count) (the limit is \(Request.stepLimit))")
    }
    var steps: [SequenceStep] = []
    for (index, node) in nodes.enumerated() {
      do throws(Request.Mistake) {
        steps.append(try RequestObject(node).step())
      } catch {
        throw Request.Mistake("step \(index + 1): \(error.message)", kind: error.kind)
      }
    }
    return steps
  }

  private func step() throws(Request.Mistake) -> SequenceStep {
    if let name = try string("read") {
      try allow(["read"])
      return .read(try Self.reference(name))
    }
    if let name = try string("write") {
      try allow(["write", "response"] + Self.valueKeys)
      guard let value = try value() else { throw Request.Mistake("expected the key value") }
      return .write(
        try Self.reference(name), value, withResponse: try bool("response") ?? true)
    }
    if let name = try string("expect") {
      try allow(["expect", "withinMilliseconds"] + Self.valueKeys)
      return .expect(
        try Self.reference(name), beginning: try value() ?? [],
        within: try milliseconds("withinMilliseconds") ?? .seconds(5))
    }
    if let pause = try milliseconds("pauseMilliseconds") {
      try allow(["pauseMilliseconds"])
      return .pause(pause)
    }
    throw Request.Mistake("expected the key read, write, expect or pauseMilliseconds")
  }

  /// Reads `0x0013`, `2a37`, `180d/2a37` with `.` for `/` in topics, or a name of the configuration.
  static func reference(_ text: String) throws(Request.Mistake) -> CharacteristicReference {
    if text.hasPrefix("0x") {
      guard text.utf8.count <= 6, let number = Hex.number(text.utf8.dropFirst(2)), number > 0 else {
        throw Request.Mistake("expected a handle such as 0x0013, found \(quoted(text))")
      }
      return .handle(AttributeHandle(UInt16(number)))
    }
    if let uuid = BluetoothUUID(text) { return .uuid(uuid, service: nil) }
    // The name of a characteristic whose UUID the device has twice.
    if let hyphen = text.lastIndex(of: "-"), text[hyphen...].hasPrefix("-0x"),
      BluetoothUUID(String(text[..<hyphen])) != nil
    {
      return try reference(String(text[text.index(after: hyphen)...]))
    }
    let parts = text.split(
      separator: text.contains("/") ? "/" : ".", omittingEmptySubsequences: false)
    if parts.count == 2, let service = BluetoothUUID(String(parts[0])),
      let uuid = BluetoothUUID(String(parts[1]))
    {
      return .uuid(uuid, service: service)
    }
    return .name(text)
  }
}
