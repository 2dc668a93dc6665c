import AttoATT

/// A GATT server: one database for many clients. Vol 3, Part G, 2.4.
///
/// # Theory
///
/// The server executes a request on the database and the state of the client, and writes the
/// response to an output of the caller. It never sends anything and has no bearer: ``Session``
/// connects the two. If the ``Application`` holds a value, it may answer later. Then the request
/// waits, and only its own bearer is blocked.
///
/// # Precedence of errors
///
/// If several errors apply to a request, the response has the first of this list. The specification
/// leaves the order open (Vol 3, Part F, 3.4.1.1).
///
/// 1. Invalid PDU, Request Not Supported: the form is wrong.
/// 2. Database Out Of Sync: the client is not aware of a change, so its handles may be wrong.
/// 3. Invalid Handle, Attribute Not Found, Unsupported Group Type.
/// 4. Read Not Permitted, Write Not Permitted: no client may do this.
/// 5. Insufficient Authentication or Insufficient Encryption, Encryption Key Size Too Short: the
///    link is not secure enough.
/// 6. Insufficient Authorization: the application does not authorize this client.
/// 7. Prepare Queue Full.
/// 8. Invalid Offset, Invalid Attribute Value Length, Value Not Allowed: the value is wrong. These
///    come late, because a client without permission must not learn about the value.
/// 9. Errors of the application.
public final class Server {
  /// The attributes.
  @exclusivity(unchecked) public private(set) var database: Database
  /// The application, which answers for values that the database does not hold.
  public let application: Application
  /// The limits for clients.
  public let limits: ServerLimits
  /// The events since the last ``forgetEvents()``, in order. The owner reads them after each call.
  @exclusivity(unchecked) public var events: [ServerEvent] = []
  /// Whether ``events`` is filled. Set this to false if nobody reads them.
  @exclusivity(unchecked) public var notesEvents = true

  func note(_ event: ServerEvent) {
    if notesEvents { events.append(event) }
  }

  // The owner calls these after each PDU. They are in this module because only here the compiler
  // knows that the access needs no check.

  /// Whether there are ``events``.
  public var hasEvents: Bool { !events.isEmpty }

  /// The event at an index; nil if it is out of range.
  public func event(at index: Int) -> ServerEvent? {
    index < events.count ? events[index] : nil
  }

  /// Empties ``events`` and keeps their memory.
  public func forgetEvents() {
    // There is usually one event, and `removeAll` costs as much as removing four.
    while !events.isEmpty { events.removeLast() }
  }

  /// The connected clients, in the order of their numbers.
  public private(set) var clients: [ServerClient] = []
  var nextClient: UInt32 = 1
  @exclusivity(unchecked) private var nextQuestion: UInt64 = 1
  private var preparedBytes = 0
  /// Those of them that are beyond the share of their client.
  private var sharedBytes = 0
  /// The number of octets in the prepare queues of all clients.
  public var preparedByteCount: Int { preparedBytes }

  /// Creates a server without clients.
  public init(
    _ database: Database = Database(), application: Application = Application(),
    limits: ServerLimits = ServerLimits()
  ) {
    self.database = database
    self.application = application
    self.limits = limits
  }

  // MARK: Clients

  /// Connects a client.
  ///
  /// - Parameters:
  ///   - security: the security of its link.
  ///   - record: the stored state of a bonded client.
  /// - Returns: nil if the limit of clients is reached.
  public func connect(security: LinkSecurity = .low, record: ClientRecord?) -> ServerClient? {
    guard let client = connect(security: security) else { return nil }
    if let record { restore(record, of: client) }
    return client
  }

  /// Connects a client without a stored state. Returns nil if the limit of clients is reached.
  public func connect(security: LinkSecurity = .low) -> ServerClient? {
    guard clients.count < limits.clients else { return nil }
    let client = ServerClient(id: ClientID(rawValue: nextClient), security: security)
    clients.insert(client, at: clients.place(of: client.id) { $0.id })
    // Numbers repeat after 2^32 clients, except for those still in use.
    repeat { nextClient &+= 1 } while index(of: ClientID(rawValue: nextClient)) != nil
    return client
  }

  /// Restores what a bonded client configured earlier, before its first request is handled.
  public func restore(_ record: ClientRecord, of client: ServerClient) {
    let isSame = record.databaseHash == database.hash()
    for (handle, value) in record.configurations {
      // In a different database the handle may have another meaning, unless its service has not
      // changed.
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

  /// Removes a client and its prepare queue, after its last bearer has ended.
  public func disconnect(_ client: ServerClient) {
    clearQueue(of: client)
    client.isConnected = false
    if let index = index(of: client.id), clients[index] === client { clients.remove(at: index) }
  }

  private func index(of client: ClientID) -> Int? { clients.index(of: client) { $0.id } }

  /// The state of a bonded client to store.
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

  /// Adds a service. Clients are informed by Service Changed; see ``Session/pump(at:)``.
  ///
  /// - Throws: what ``Database/add(_:)`` throws; then nothing has changed.
  @discardableResult
  public func add(_ service: ServiceDefinition) throws(DatabaseError) -> Database.Layout {
    let layout = try database.add(service)
    noteChange(layout.range)
    return layout
  }

  /// Removes a service. Clients are informed by Service Changed; see ``Session/pump(at:)``.
  ///
  /// - Throws: what ``Database/remove(service:)`` throws; then nothing has changed.
  @discardableResult
  public func remove(service handle: AttributeHandle) throws(DatabaseError) -> HandleRange {
    let range = try database.remove(service: handle)
    for client in clients { client.forget(range) }
    noteChange(range)
    return range
  }

  /// Replaces a value that the server holds. This does not notify clients.
  ///
  /// - Throws: what ``Database/setValue(of:to:)`` throws; then nothing has changed.
  public func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) throws(DatabaseError) {
    let revision = database.revision
    try database.setValue(of: handle, to: value)
    if database.revision != revision, let range = HandleRange(handle, handle) {
      noteChange(range)
    }
  }

  /// The Database Hash, least significant octet first.
  public func databaseHash() -> [UInt8] { database.hash() }

  private func noteChange(_ range: HandleRange) {
    for client in clients {
      client.awareness = .unaware
      client.changed = client.changed.map { $0.spanning(range) } ?? range
    }
  }

  // MARK: Shared by the requests

  func nextQuestionID() -> QuestionID {
    defer { nextQuestion += 1 }
    return QuestionID(rawValue: nextQuestion)
  }

  /// Replaces a stored value in place and reuses its memory.
  func store(_ index: Int, from start: Int, _ octets: RawSpan, resizing: Bool) {
    database.table[index].overwrite(from: start, octets, resizing: resizing)
  }

  /// Queues a prepared write. Returns false if a limit is reached.
  func prepare(_ write: PreparedWrite, for client: ServerClient) -> Bool {
    let count = client.queue.byteCount + write.part.count
    let more = beyondShare(count) - beyondShare(client.queue.byteCount)
    guard sharedBytes + more <= limits.preparedBytes,
      client.queue.writes.count < limits.preparedWritesPerClient,
      count <= limits.preparedBytesPerClient
    else { return false }
    client.queue.append(write, revision: database.revision)
    preparedBytes += write.part.count
    sharedBytes += more
    return true
  }

  private func beyondShare(_ count: Int) -> Int { max(0, count - limits.preparedBytesShare) }

  /// Empties a client's queue.
  func clearQueue(of client: ServerClient) {
    preparedBytes -= client.queue.byteCount
    sharedBytes -= beyondShare(client.queue.byteCount)
    client.queue.removeAll()
  }
}

extension [UInt8] {
  /// Writes octets at a position within or at the end of the value. With `resizing`, the value then
  /// ends after them.
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
