import AttoATT

// Finding attributes, checking permissions and getting values, for all requests.

extension Server {
  func index(of handle: AttributeHandle) throws(Halt) -> Int {
    guard let index = database.table.index(of: handle) else {
      throw .refused(.invalidHandle, handle)
    }
    return index
  }

  /// The range of a request. Throws Invalid Handle if it is not a range. Vol 3, Part F, 3.4.3.1.
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
    _ index: Int, _ client: ServerClient, _ transaction: inout ServerTransaction,
    isCommand: Bool = false
  ) throws(Halt) {
    let handle = database.table[index].handle
    switch database.table[index].storage {
    case .constant, .characteristic, .databaseHash: throw .refused(.writeNotPermitted, handle)
    default: break
    }
    try check(
      database.table[index].permissions.write, .writeNotPermitted, .authorizeWrite, handle,
      client, &transaction, canWait: !isCommand)
  }

  private func check(
    _ access: AttributePermissions.Access, _ denial: ErrorCode, _ kind: Question.Kind,
    _ handle: AttributeHandle, _ client: ServerClient, _ transaction: inout ServerTransaction,
    canWait: Bool = true
  ) throws(Halt) {
    guard case .requires(let requirement) = access else { throw .refused(denial, handle) }
    if requirement.refusal(of: client.security) != nil {
      if let now = application.security(of: client.id) { client.security = now }
      if let code = requirement.refusal(of: client.security) { throw .refused(code, handle) }
    }
    guard requirement.authorization else { return }
    let answer =
      if let given = transaction.answer(kind, handle) { given } else {
        try ask(kind, handle, client, &transaction, keeps: true, canWait: canWait) { question in
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
    case .characteristic: return (database.table.sharedValue(at: index) ?? [], 0)
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

  /// Asks the application. Throws if the answer comes later, if the application has changed the
  /// database, which makes the results so far invalid, or if it has disconnected the client, whose
  /// prepare queue would never be dropped.
  func ask(
    _ kind: Question.Kind, _ handle: AttributeHandle, _ client: ServerClient,
    _ transaction: inout ServerTransaction, keeps: Bool, canWait: Bool = true,
    _ immediate: (Question) -> LateAnswer?
  ) throws(Halt) -> LateAnswer {
    let question = Question(
      id: nextQuestionID(), kind: kind, client: client.id, handle: handle, canWait: canWait)
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
  /// nil for `later`.
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
  /// nil for `later`.
  var given: LateAnswer? {
    switch self {
    case .accepted: .accepted
    case .refused(let code): .refused(code)
    case .later: nil
    }
  }
}
