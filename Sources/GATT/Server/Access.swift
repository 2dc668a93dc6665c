import ATT

// What all requests share: finding an attribute, judging permission, getting at a value.

extension Server {
  func index(of handle: AttributeHandle) throws(Halt) -> Int {
    guard let index = database.table.index(of: handle) else {
      throw .refused(.invalidHandle, handle)
    }
    return index
  }

  /// The range of a request, if it is one. Vol 3, Part F, 3.4.3.1.
  func range(_ start: AttributeHandle, _ end: AttributeHandle) throws(Halt) -> HandleRange {
    guard let range = HandleRange(start, end) else { throw .refused(.invalidHandle, start) }
    return range
  }

  func checkRead(
    _ index: Int, _ client: ServerClient, _ transaction: inout ServerTransaction
  ) throws(Halt) {
    try check(
      database.table[index].permissions.read, .readNotPermitted, .authorizeRead,
      database.table[index].handle, client, &transaction)
  }

  func checkWrite(
    _ index: Int, _ client: ServerClient, _ transaction: inout ServerTransaction
  ) throws(Halt) {
    let handle = database.table[index].handle
    switch database.table[index].storage {
    case .constant, .databaseHash: throw .refused(.writeNotPermitted, handle)
    default: break
    }
    try check(
      database.table[index].permissions.write, .writeNotPermitted, .authorizeWrite, handle,
      client, &transaction)
  }

  private func check(
    _ access: AttributePermissions.Access, _ denial: ErrorCode, _ kind: Question.Kind,
    _ handle: AttributeHandle, _ client: ServerClient, _ transaction: inout ServerTransaction
  ) throws(Halt) {
    guard case .requires(let requirement) = access else { throw .refused(denial, handle) }
    if requirement.refusal(of: client.security) != nil {
      if let now = application.security(of: client.id) { client.security = now }
      if let code = requirement.refusal(of: client.security) { throw .refused(code, handle) }
    }
    guard requirement.authorization else { return }
    let answer =
      if let given = transaction.answer(kind, handle) { given } else {
        try ask(kind, handle, client, &transaction, keeps: true) { question in
          self.application.authorize(question).given
        }
      }
    if case .refused(let code) = answer { throw .refused(code, handle) }
  }

  /// The value of an attribute for one client, and the offset of its first octet in the whole
  /// value.
  func value(
    _ index: Int, from offset: Int = 0, _ client: ServerClient,
    _ transaction: inout ServerTransaction
  ) throws(Halt) -> (octets: [UInt8], start: Int) {
    let handle = database.table[index].handle
    switch database.table[index].storage {
    case .constant(let value), .stored(let value, _): return (value, 0)
    case .configuration: return (client.configuration(handle).rawValue.octets, 0)
    case .clientSupportedFeatures: return ([client.features.rawValue], 0)
    case .databaseHash:
      if client.awareness == .unaware { client.awareness = .becoming }
      return (databaseHash(), 0)
    case .application:
      let answer =
        if let given = transaction.answer(.read, handle) { given } else {
          try ask(.read, handle, client, &transaction, keeps: true) { question in
            self.application.read(question, offset: offset).given
          }
        }
      switch answer {
      case .value(let value): return (Array(value.prefix(ValueLimits.longest)), 0)
      case .part(let part):
        return (Array(part.prefix(max(0, ValueLimits.longest - offset))), offset)
      case .refused(let code): throw .refused(code, handle)
      case .accepted: throw .refused(.unlikelyError, handle)
      }
    }
  }

  /// Asks the application; throws if its answer comes later, or if it has changed the database
  /// while it was asked: what the request has found there so far is not true any more. Likewise if
  /// it has ended the client's last bearer: what is prepared for a client that has gone would
  /// never be dropped.
  func ask(
    _ kind: Question.Kind, _ handle: AttributeHandle, _ client: ServerClient,
    _ transaction: inout ServerTransaction, keeps: Bool,
    _ immediate: (Question) -> LateAnswer?
  ) throws(Halt) -> LateAnswer {
    let question = Question(id: nextQuestionID(), kind: kind, client: client.id, handle: handle)
    let revision = database.revision
    guard let answer = immediate(question) else {
      transaction.wait(for: question)
      throw .waits(question.id)
    }
    guard client.isConnected else { throw .refused(.unlikelyError, handle) }
    guard database.revision == revision else { throw .refused(.databaseOutOfSync, handle) }
    if keeps { transaction.keep(answer, to: kind, handle) }
    return answer
  }
}

extension ReadAnswer {
  /// nil if the answer comes later.
  var given: LateAnswer? {
    switch self {
    case .value(let value): .value(value)
    case .part(let part): .part(part)
    case .refused(let code): .refused(code)
    case .later: nil
    }
  }
}

extension WriteAnswer {
  /// nil if the answer comes later.
  var given: LateAnswer? {
    switch self {
    case .accepted: .accepted
    case .refused(let code): .refused(code)
    case .later: nil
    }
  }
}

extension UInt16 {
  /// Least significant octet first.
  var octets: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(self >> 8)] }
}
