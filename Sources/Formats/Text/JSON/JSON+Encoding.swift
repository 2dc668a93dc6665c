extension JSON {
  /// Encodes a value. The members of objects are in the order of their names. Numbers that JSON does
  /// not have (infinite, or none) become null.
  ///
  /// - Throws: what the value's `encode(to:)` throws.
  package init(encoding value: some Encodable) throws {
    let part = EncodedPart()
    try part.encode(value)
    self = part.json
  }
}

/// One value under construction: it encodes itself, or its elements or members do.
private final class EncodedPart: Encoder, SingleValueEncodingContainer {
  private enum Content {
    case scalar(JSON)
    case array([EncodedPart])
    case object([String: EncodedPart])
  }

  private var content = Content.scalar(.null)
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  var json: JSON {
    switch content {
    case .scalar(let value): value
    case .array(let elements): .array(elements.map(\.json))
    case .object(let members):
      .object(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }
  }

  func encodeNil() { content = .scalar(.null) }

  func encode(_ value: some Encodable) throws {
    switch value {
    case let text as String: content = .scalar(.string(text))
    case let flag as Bool: content = .scalar(.bool(flag))
    case let number as any BinaryInteger: content = .scalar(.number("\(number)"))
    case let number as Double: content = .scalar(JSON(number))
    case let number as Float: content = .scalar(JSON(Double(number)))
    default: try value.encode(to: self)
    }
  }

  // MARK: Elements and members

  var elementCount: Int { if case .array(let elements) = content { elements.count } else { 0 } }

  /// A new element at the end.
  func element() -> EncodedPart {
    guard case .array(var elements) = content else { return EncodedPart() }
    // One array at a time holds the elements, so that appending does not copy them.
    content = .scalar(.null)
    let part = EncodedPart()
    elements.append(part)
    content = .array(elements)
    return part
  }

  func member(_ key: any CodingKey) -> EncodedPart {
    guard case .object(var members) = content else { return EncodedPart() }
    content = .scalar(.null)
    let part = EncodedPart()
    members[key.stringValue] = part
    content = .object(members)
    return part
  }

  func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object = content {} else { content = .object([:]) }
    return KeyedEncodingContainer(EncodedMembers(part: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array = content {} else { content = .array([]) }
    return EncodedElements(part: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension JSON {
  /// The shortest text for a number; null if JSON has none.
  fileprivate init(_ number: Double) {
    let text = "\(number)"
    self =
      !number.isFinite ? .null : .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let part: EncodedPart
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { part.member(key).encodeNil() }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    try part.member(key).encode(value)
  }

  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { part.member(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    part.member(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { part }
  func superEncoder(forKey key: Key) -> any Encoder { part.member(key) }
}

private struct EncodedElements: UnkeyedEncodingContainer {
  let part: EncodedPart
  var codingPath: [any CodingKey] { [] }
  var count: Int { part.elementCount }

  func encodeNil() { part.element().encodeNil() }
  func encode(_ value: some Encodable) throws { try part.element().encode(value) }

  func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    part.element().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    part.element().unkeyedContainer()
  }

  func superEncoder() -> any Encoder { part.element() }
}
