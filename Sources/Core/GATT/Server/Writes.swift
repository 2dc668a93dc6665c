import AttoATT

// Writes that take effect at once. Vol 3, Part F, 3.4.5.

extension Server {
  func write(
    _ handle: AttributeHandle, _ value: RawSpan, _ kind: Question.Kind, _ client: ServerClient,
    _ transaction: inout ServerTransaction
  ) throws(Halt) {
    let index = try index(of: handle)
    try checkWrite(index, client, &transaction, isCommand: kind == .writeCommand)
    switch database.table[index].storage {
    case .constant, .characteristic, .databaseHash: throw .refused(.writeNotPermitted, handle)
    case .stored(let former, let limits):
      guard value.byteCount <= (limits.isFixedLength ? former.count : limits.maximumLength) else {
        throw .refused(.invalidAttributeValueLength, handle)
      }
      store(index, from: 0, value, resizing: !limits.isFixedLength)
      note(.valueWritten(handle, by: client.id))
    case .application(let limits):
      guard value.byteCount <= limits.maximumLength else {
        throw .refused(.invalidAttributeValueLength, handle)
      }
      let answer: LateAnswer
      if let given = transaction.answer(kind, handle) {
        answer = given
      } else {
        let question = Question(
          id: nextQuestionID(), kind: kind, client: client.id, handle: handle,
          canWait: kind != .writeCommand)
        guard let given = application.write(question, value).given else {
          transaction.wait(for: question)
          throw .waits(question.id)
        }
        answer = given
      }
      if case .refused(let code) = answer { throw .refused(code, handle) }
    case .configuration(let offered, let valueHandle):
      let configuration = try judge(value, handle, offered, client.configuration(handle))
      client.configure(handle, configuration)
      note(.configured(value: valueHandle, configuration, by: client.id))
    case .clientSupportedFeatures:
      client.features = try judge(value, handle, client.features)
      note(.featuresWritten(client.features, by: client.id))
    }
  }

  /// Checks a Client Characteristic Configuration. It has two octets, of which the second may be
  /// missing. A bit that the characteristic does not offer is Value Not Allowed. Vol 3, Part G,
  /// 3.3.3.3.
  func judge(
    _ value: RawSpan, _ handle: AttributeHandle, _ offered: ClientCharacteristicConfiguration,
    _ former: ClientCharacteristicConfiguration
  ) throws(Halt) -> ClientCharacteristicConfiguration {
    guard value.byteCount == 1 || value.byteCount == 2 else {
      throw .refused(.invalidAttributeValueLength, handle)
    }
    let high = value.byteCount == 2 ? UInt16(value.octet(at: 1)) << 8 : former.rawValue & 0xFF00
    let wanted = ClientCharacteristicConfiguration(
      rawValue: high | UInt16(value.octet(at: 0)))
    guard wanted.isSubset(of: offered) else { throw .refused(.valueNotAllowed, handle) }
    return wanted
  }

  /// Checks Client Supported Features. The value may have any length, but only the first octet has
  /// a meaning. A client cannot withdraw a feature. Vol 3, Part G, 7.2.
  func judge(
    _ value: RawSpan, _ handle: AttributeHandle, _ former: ClientSupportedFeatures
  ) throws(Halt) -> ClientSupportedFeatures {
    guard (1...ValueLimits.longest).contains(value.byteCount) else {
      throw .refused(.invalidAttributeValueLength, handle)
    }
    let wanted = ClientSupportedFeatures(rawValue: value.octet(at: 0))
    guard wanted.isSuperset(of: former) else { throw .refused(.valueNotAllowed, handle) }
    return wanted.intersection(.known)
  }

  /// Checks the signature of a signed write and that it is not a replay. Vol 3, Part H, 2.4.5.
  /// Signed writes are not used on encrypted links (Vol 3, Part C, 10.4.2).
  func verify(_ command: borrowing SignedWriteCommand, _ client: ServerClient) -> Bool {
    guard let signing = client.signing, client.security.level == .low else { return false }
    var counter: UInt32 = 0
    for offset in 0..<4 { counter |= UInt32(command.signature.octet(at: offset)) << (offset * 8) }
    guard counter >= signing.counter, counter < .max else { return false }
    let expected = Signature.compute(
      over: command.signed, counter: counter, key: signing.key)
    var difference: UInt8 = 0
    for offset in 0..<12 { difference |= expected[offset] ^ command.signature.octet(at: offset) }
    guard difference == 0, application.accepts(signCounter: counter, of: client.id) else {
      return false
    }
    client.signing?.counter = counter + 1
    return true
  }
}
