import ATT

/// A GATT server: one database, many clients. Vol 3, Part G, 2.4.
///
/// # Theory
///
/// A request is carried out against the database and against what is kept of its client, and
/// its response is written where the caller says. The server never sends by itself and knows
/// no bearer: ``Session`` brings a bearer and a server together. Where the database leaves a
/// value to the ``Application``, the application may answer later; the request then waits, on
/// its own bearer only.
///
/// # Precedence of errors
///
/// Where several errors apply to a request, the first of these is answered (the specification
/// leaves the order open, Vol 3, Part F, 3.4.1.1):
///
/// 1. Invalid PDU, Request Not Supported: the form.
/// 2. Database Out Of Sync: handles mean nothing to a client that is not aware of a change.
/// 3. Invalid Handle, Attribute Not Found, Unsupported Group Type.
/// 4. Read Not Permitted, Write Not Permitted: what no client may do.
/// 5. Insufficient Authentication or Insufficient Encryption, Encryption Key Size Too Short:
///    what the link cannot offer.
/// 6. Insufficient Authorization: what the application denies this client.
/// 7. Prepare Queue Full.
/// 8. Invalid Offset, Invalid Attribute Value Length, Value Not Allowed: about the value, which
///    a client without permission must not learn anything of.
/// 9. The application's own error.
public final class Server {
  /// What is served.
  @exclusivity(unchecked) public private(set) var database: Database
  /// Who is asked for values that the database does not keep.
  public let application: Application
  /// What clients may make it hold.
  public let limits: ServerLimits
  /// What has happened since it was last emptied, in order. Its owner takes it after each call.
  @exclusivity(unchecked) public var events: [ServerEvent] = []
  /// Whether anything comes into ``events``; false where nobody looks at them.
  @exclusivity(unchecked) public var notesEvents = true

  func note(_ event: ServerEvent) {
    if notesEvents { events.append(event) }
  }

  // What a server's owner asks after each PDU looks at the events from here and not from the
  // owner's module: only here does the compiler know that the access needs no check.

  /// Whether anything is in ``events``.
  public var hasEvents: Bool { !events.isEmpty }

  /// One of ``events``; nil past the last.
  public func event(at index: Int) -> ServerEvent? {
    index < events.count ? events[index] : nil
  }

  /// Empties ``events``; their memory is used again.
  public func forgetEvents() {
    // One at a time: there is most often one, and emptying the whole costs as much as four.
    while !events.isEmpty { events.removeLast() }
  }

  /// Who is connected.
  public private(set) var clients: [ServerClient] = []
  var nextClient: UInt32 = 1
  @exclusivity(unchecked) private var nextQuestion: UInt64 = 1
  private var preparedBytes = 0
  /// Octets that clients have prepared and not yet executed, in all.
  public var preparedByteCount: Int { preparedBytes }

  /// A server without clients.
  public init(
    _ database: Database = Database(), application: Application = Application(),
    limits: ServerLimits = ServerLimits()
  ) {
    self.database = database
    self.application = application
    self.limits = limits
  }

  // MARK: Clients

  /// A client connects.
  ///
  /// - Parameter record: what is remembered of it, if it is bonded.
  /// - Returns: nil if there are as many clients as the limit allows.
  public func connect(
    security: LinkSecurity = .low, record: ClientRecord? = nil
  ) -> ServerClient? {
    guard clients.count < limits.clients else { return nil }
    let client = ServerClient(id: ClientID(rawValue: nextClient), security: security)
    // After 2^32 clients numbers come again, but for those of clients that have stayed.
    repeat { nextClient &+= 1 } while clients.contains { $0.id.rawValue == nextClient }
    if let record {
      let isSame = record.databaseHash == database.hash()
      for (handle, value) in record.configurations {
        // In another database the handle may be something else by now, unless all of its service
        // is where it was.
        guard let index = database.table.index(of: handle),
          case .configuration(let offered, _) = database.table[index].storage,
          isSame || database.serviceHash(containing: handle) == record.serviceHashes[handle]
        else { continue }
        client.configure(handle, value.intersection(offered))
      }
      client.features = record.features
      // The database may have changed while the client was away.
      if !isSame {
        client.awareness = .unaware
        client.changed = .all
      }
    }
    clients.append(client)
    return client
  }

  /// The last bearer of a client has ended: it and its queue are forgotten.
  public func disconnect(_ client: ServerClient) {
    clearQueue(of: client)
    client.isConnected = false
    clients.removeAll { $0 === client }
  }

  /// What to remember of a client that is bonded.
  public func record(of client: ServerClient) -> ClientRecord {
    let configurations = client.allConfigurations
    var hashes: [AttributeHandle: [UInt8]] = [:]
    for handle in configurations.keys {
      hashes[handle] = database.serviceHash(containing: handle)
    }
    return ClientRecord(
      configurations: configurations, serviceHashes: hashes, features: client.features,
      databaseHash: client.awareness == .aware ? database.hash() : [])
  }

  // MARK: Database

  /// Adds a service. Clients are told by Service Changed; see ``Session/pump(at:)``.
  ///
  /// - Throws: what ``Database/add(_:)`` throws; nothing has changed then.
  @discardableResult
  public func add(_ service: ServiceDefinition) throws(DatabaseError) -> Database.Layout {
    let layout = try database.add(service)
    noteChange(layout.range)
    return layout
  }

  /// Removes a service. Clients are told by Service Changed; see ``Session/pump(at:)``.
  ///
  /// - Throws: what ``Database/remove(service:)`` throws; nothing has changed then.
  @discardableResult
  public func remove(service handle: AttributeHandle) throws(DatabaseError) -> HandleRange {
    let range = try database.remove(service: handle)
    for client in clients { client.forget(range) }
    noteChange(range)
    return range
  }

  /// Replaces a value that the server keeps. No client is notified by this alone.
  ///
  /// - Throws: what ``Database/setValue(of:to:)`` throws; nothing has changed then.
  public func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) throws(DatabaseError) {
    let revision = database.revision
    try database.setValue(of: handle, to: value)
    if database.revision != revision, let range = HandleRange(handle, handle) {
      noteChange(range)
    }
  }

  /// The Database Hash as it goes on the wire.
  public func databaseHash() -> [UInt8] { database.hash() }

  private func noteChange(_ range: HandleRange) {
    for client in clients {
      client.awareness = .unaware
      client.changed = client.changed.map { $0.spanning(range) } ?? range
    }
  }

  // MARK: What the rest of the server shares

  func nextQuestionID() -> QuestionID {
    defer { nextQuestion += 1 }
    return QuestionID(rawValue: nextQuestion)
  }

  /// Replaces a kept value in place: its memory is used again.
  func store(_ index: Int, from start: Int, _ octets: RawSpan, resizing: Bool) {
    database.table[index].overwrite(from: start, octets, resizing: resizing)
  }

  /// Prepares a write if both limits have room.
  func prepare(_ write: PreparedWrite, for client: ServerClient) -> Bool {
    guard preparedBytes + write.part.count <= limits.preparedBytes,
      client.queue.writes.count < limits.preparedWritesPerClient,
      client.queue.byteCount + write.part.count <= limits.preparedBytesPerClient
    else { return false }
    client.queue.append(write, revision: database.revision)
    preparedBytes += write.part.count
    return true
  }

  /// Empties a client's queue.
  @discardableResult
  func clearQueue(of client: ServerClient) -> [PreparedWrite] {
    preparedBytes -= client.queue.byteCount
    return client.queue.take()
  }
}

extension [UInt8] {
  /// Writes octets from a position on, within or at the end of what there is; with `resizing`,
  /// the value then ends after them.
  mutating func overwrite(from start: Int, _ octets: RawSpan, resizing: Bool) {
    let overlap = Swift.min(octets.byteCount, count - start)
    // In one copy: `start` and `overlap` stay within both, as just computed.
    unsafe withUnsafeMutableBytes { target in
      unsafe octets.extracting(first: overlap).withUnsafeBytes { source in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: source)
      }
    }
    if octets.byteCount > overlap {
      let rest = octets.extracting(droppingFirst: overlap)
      unsafe rest.withUnsafeBytes { unsafe append(contentsOf: $0) }
    } else if resizing, start + overlap < count {
      removeLast(count - start - overlap)
    }
  }
}

extension HandleRange {
  /// The least range that holds both.
  func spanning(_ other: HandleRange) -> HandleRange {
    HandleRange(min(start, other.start), max(end, other.end)) ?? self
  }
}
