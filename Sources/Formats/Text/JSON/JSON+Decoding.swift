extension JSON {
  /// Decodes a value of a type that describes its members.
  ///
  /// - Throws: `DecodingError` if a member is missing, or is of another type or too large.
  package func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try DecodedNode(node: self).decode(type)
  }
}

private struct DecodedNode: Decoder, SingleValueDecodingContainer {
  let node: JSON
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func decodeNil() -> Bool { node.content == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let found: Any?
    switch (node.content, type) {
    case (.string(let text), is String.Type): found = text
    case (.bool(let flag), is Bool.Type): found = flag
    case (.number(let text), is Double.Type): found = Double(text)
    case (.number(let text), let type as any FixedWidthInteger.Type): found = type.init(text)
    case (_, is String.Type), (_, is Bool.Type), (_, is Double.Type), (_, is Float.Type),
      (_, is any FixedWidthInteger.Type):
      found = nil
    default: return try Value(from: self)
    }
    guard let value = found as? Value else { throw mismatch(type) }
    return value
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(
      type, DecodingError.Context(codingPath: [], debugDescription: "found \(node.found)"))
  }

  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = node.content else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(
      DecodedMembers(
        node: self, members: Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = node.content else { throw mismatch([Any].self) }
    return DecodedElements(elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

private struct DecodedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let node: DecodedNode
  let members: [String: JSON]
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func member(_ key: Key) throws -> DecodedNode {
    guard let member = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: [], debugDescription: "no \(key.stringValue)"))
    }
    return DecodedNode(node: member)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try member(key).decode(type)
  }

  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { node }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct DecodedElements: UnkeyedDecodingContainer {
  let elements: [JSON]
  private(set) var currentIndex = 0
  var codingPath: [any CodingKey] { [] }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  init(elements: [JSON]) { self.elements = elements }

  private mutating func next(_ type: Any.Type) throws -> DecodedNode {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: [], debugDescription: "the list ends"))
    }
    defer { currentIndex += 1 }
    return DecodedNode(node: elements[currentIndex])
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex].content == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next(type).decode(type)
  }

  mutating func nestedContainer<Key>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> { try next([String: Any].self).container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next([Any].self).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next(Any.self) }
}
