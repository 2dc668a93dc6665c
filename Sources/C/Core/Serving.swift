import CAtto

/// Makes events of the server's questions. All answers come later.
final class Asker: Application {
  /// The connection whose request is executed. Set before each.
  unowned(unsafe) var connection: Connection?

  private func event(_ type: Int, _ question: Question, offset: Int = 0) -> atto_event {
    var event = atto_event()
    event.type = UInt32(type)
    event.id = question.kind == .writeCommand ? 0 : question.id.rawValue
    event.handle = question.handle.rawValue
    event.offset = UInt16(truncatingIfNeeded: offset)
    return event
  }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    unsafe connection?.post(event(ATTO_EVENT_READ, question, offset: offset))
    return .later
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    unsafe connection?.post(event(ATTO_EVENT_WRITE, question), value)
    return question.kind == .writeCommand ? .accepted : .later
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    for write in writes {
      var part = event(ATTO_EVENT_PREPARED_WRITE, question, offset: write.offset)
      part.handle = write.handle.rawValue
      unsafe connection?.post(part, write.part.span.bytes)
    }
    unsafe connection?.post(event(ATTO_EVENT_EXECUTE, question))
    return .later
  }

  override func authorize(_ question: Question) -> WriteAnswer {
    // A command cannot wait for the answer, which comes later.
    guard question.canWait else { return .refused(.insufficientAuthorization) }
    let type =
      question.kind == .authorizeRead ? ATTO_EVENT_AUTHORIZE_READ : ATTO_EVENT_AUTHORIZE_WRITE
    unsafe connection?.post(event(type, question))
    return .later
  }
}

/// The kinds of answers, as the C part numbers them.
private enum AnswerKind {
  static let value: Int32 = 0
  static let accept: Int32 = 1
}

/// - Parameter kind: 0 for a value, 1 to accept, 2 to refuse with the code in `length`.
@_cdecl("attocore_answer")
func answer(
  _ bearer: UnsafeMutableRawPointer, _ id: UInt64, _ kind: Int32, _ value: UnsafeRawPointer?,
  _ length: Int, _ now: Int64
) -> Int32 {
  let connection = Connection.at(bearer)
  let session = connection.session
  unsafe connection.device.asker.connection = connection
  let answer: LateAnswer =
    switch kind {
    case AnswerKind.value: .value(unsafe octets(value, length))
    case AnswerKind.accept: .accepted
    default: .refused(ErrorCode(UInt8(truncatingIfNeeded: length)))
    }
  guard session.answer(QuestionID(rawValue: id), answer, at: Instant(nanoseconds: now)) else {
    return Int32(ATTO_ERR_NOT_FOUND)
  }
  connection.postServerEvents()
  return Code.ok
}

@_cdecl("attocore_set_security")
func setSecurity(_ bearer: UnsafeMutableRawPointer, _ level: UInt8, _ keySize: UInt8) {
  Connection.at(bearer).client?.security = LinkSecurity(
    level: SecurityLevel(rawValue: level) ?? .low, keySize: keySize)
}

@_cdecl("attocore_subscriptions")
func subscriptions(_ bearer: UnsafeMutableRawPointer, _ handle: UInt16) -> Int32 {
  Int32(Connection.at(bearer).session.deliveries(of: AttributeHandle(handle)).rawValue)
}

@_cdecl("attocore_notify")
func notify(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?, _ length: Int
) -> Int32 {
  let session = Connection.at(bearer).session
  if session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
  let handle = AttributeHandle(handle)
  guard session.deliveries(of: handle).contains(.notification) else {
    return Int32(ATTO_ERR_NOT_SUBSCRIBED)
  }
  let octets = unsafe UnsafeRawBufferPointer(start: value, count: length).bytes
  return session.notify(handle, octets) ? Code.ok : Int32(ATTO_ERR_AGAIN)
}

@_cdecl("attocore_notify_multiple")
func notifyMultiple(
  _ bearer: UnsafeMutableRawPointer, _ values: UnsafePointer<atto_value>, _ count: Int
) -> Int32 {
  let connection = Connection.at(bearer)
  let session = connection.session
  if session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
  guard connection.client?.features.contains(.multipleNotifications) == true else {
    return Int32(ATTO_ERR_STATE)
  }
  var all: [(handle: AttributeHandle, value: [UInt8])] = []
  var room = session.bearer.mtu - 1
  for index in 0..<count {
    let value = unsafe values[index]
    let handle = AttributeHandle(value.handle)
    guard session.deliveries(of: handle).contains(.notification) else {
      return Int32(ATTO_ERR_NOT_SUBSCRIBED)
    }
    room -= 4 + Int(value.length)
    guard room >= 0 else { return Int32(ATTO_ERR_LENGTH) }
    all.append((handle, unsafe octets(value.value, Int(value.length))))
  }
  return session.notify(all) ? Code.ok : Int32(ATTO_ERR_AGAIN)
}

@_cdecl("attocore_indicate")
func indicate(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?,
  _ length: Int, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let session = Connection.at(bearer).session
  let handle = AttributeHandle(handle)
  guard session.bearer.failure != nil || session.deliveries(of: handle).contains(.indication)
  else { return Int32(ATTO_ERR_NOT_SUBSCRIBED) }
  do throws(ProcedureError) {
    let transaction = try session.indicate(
      handle, unsafe octets(value, length), at: Instant(nanoseconds: now))
    unsafe id?.pointee = transaction.rawValue
  } catch {
    if case .bearer = error { return Int32(ATTO_ERR_FAILED) }
    return Code.of(error)
  }
  return Code.ok
}

@_cdecl("attocore_set_signing_key")
func setSigningKey(
  _ bearer: UnsafeMutableRawPointer, _ key: UnsafePointer<UInt8>, _ counter: UInt32
) -> Int32 {
  guard let client = Connection.at(bearer).client else { return Int32(ATTO_ERR_STATE) }
  client.setSigningKey(unsafe octets(key, 16), counter: counter)
  return Code.ok
}

@_cdecl("attocore_sign_counter")
func signCounter(_ bearer: UnsafeMutableRawPointer, _ counter: UnsafeMutablePointer<UInt32>)
  -> Int32
{
  guard let next = Connection.at(bearer).client?.signCounter else { return Int32(ATTO_ERR_STATE) }
  unsafe counter.pointee = next
  return Code.ok
}
