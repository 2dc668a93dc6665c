import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks

/// A GATT server with its connections: the part on the loop's thread.
final class ServerCore {
  let loop: Loop
  let server: Server
  let handlers: HandlerTable
  let memory: (any ClientMemory)?
  /// In the order of their clients.
  @exclusivity(unchecked) private(set) var connections: [ConnectionCore] = []
  @exclusivity(unchecked) private var observers: [(id: Int, body: (ServedEvent) -> Void)] = [] {
    didSet { server.notesEvents = !observers.isEmpty }
  }
  private var nextObserver = 0
  private var places = ClientPlaces()
  /// Callers that wait until one of these clients has room for values.
  let roomWaiters = WaiterList<[ClientID], Void, AttoError>()
  /// Values that clients have lost because they did not take them in time.
  @exclusivity(unchecked) var droppedValues: UInt64 = 0
  /// Links of clients that are being refused.
  private var refusing = 0
  /// When the descriptors of all clients were looked at.
  private var lastLook: Int64?
  @exclusivity(unchecked) private var isSettling = false
  @exclusivity(unchecked) var unwaited = UnwaitedCalls()
  /// An empty array whose memory is reused for the clients of a value, so that sending allocates
  /// nothing.
  @exclusivity(unchecked) var spareTargets: [BearerCore] = []

  init(
    _ database: Database, loop: Loop, handlers: HandlerTable, limits: ServerLimits,
    memory: (any ClientMemory)? = nil
  ) {
    self.loop = loop
    self.memory = memory
    self.handlers = handlers
    server = Server(database, application: handlers, limits: limits)
    server.notesEvents = false
    handlers.core = self
  }

  /// Serves the peer of a link that was accepted. If the server is full, another client may lose its
  /// place (see ``ClientPlaces``), or this one is told that there is none.
  func accept(_ link: any Link, _ options: ListenOptions) throws(AttoError) {
    let process = link.peerProcess
    if isFull, !makeRoom(for: process) {
      refuse(link)
      throw tooManyClients
    }
    let connection = try attach(link, options: options.connection)
    guard let process, !connection.hasEnded else { return }
    connection.process = process
    places.enter(process)
    if let limit = options.idleLimit { connection.limitIdleness(to: limit) }
  }

  private var isFull: Bool { server.clients.count >= server.limits.clients }
  private var tooManyClients: AttoError { .tooManyClients(limit: server.limits.clients) }

  private func refuse(_ link: any Link) {
    guard refusing < RefusedClient.limit else { return link.close() }
    refusing += 1
    RefusedClient(link, on: loop) { [self] in refusing -= 1 }
  }

  /// Has a client give up its place to a new one. False if none may.
  private func makeRoom(for newcomer: PeerProcess?) -> Bool {
    if let silent = places.silent(of: connections, { $0.process }, { $0.isSilent }) {
      evict(silent, tooManyClients)
      return true
    }
    // Once in a turn: each look at a descriptor is a system call.
    if lastLook != loop.now {
      lastLook = loop.now
      for connection in connections { connection.endIfDead() }
      guard isFull else { return true }
    }
    let clients = connections.map { connection in
      connection.process.map {
        ClientPlaces.Client(
          process: $0, isSilent: connection.isSilent,
          lastHeard: connection.bearers?.lastHeard ?? connection.lastHeard,
          isSubscribed: connection.session.client?.isSubscribed ?? false)
      }
    }
    guard
      let index = places.replaced(
        among: clients, by: newcomer, limit: server.limits.clients,
        at: Instant(nanoseconds: loop.now))
    else { return false }
    evict(connections[index], tooManyClients)
    return true
  }

  /// Closes the connection to a client that has done nothing wrong.
  func evict(_ connection: ConnectionCore, _ reason: AttoError) {
    if let client = connection.session.client, index(of: client.id) != nil {
      emit(.evicted(client.id, peer: connection.peerName, reason))
    }
    connection.finish(reason)
  }

  /// The same for a client that has been reported.
  func evict(_ client: ClientID, _ reason: AttoError) {
    if let connection = connection(client) { evict(connection, reason) }
  }

  /// Serves the peer of a link. A client that the memory may know is served, and reported, when
  /// the memory has looked it up.
  func attach(_ link: any Link, options: ConnectionOptions) throws(AttoError) -> ConnectionCore {
    guard let client = server.connect(security: link.security) else {
      link.close()
      throw tooManyClients
    }
    let connection = ConnectionCore(
      link, on: loop, options: options, server: self, client: client)
    if let memory {
      connection.recorder = ClientRecorder(memory, server, client, of: connection)
      connection.awaitMemory()
    } else {
      admit(connection, client)
    }
    do throws(AttoError) {
      try connection.open()
      if options.enhancedBearers > 0 {
        connection.acceptBearers(carryingProcedures: false)
        if connection.bearerAcceptance != nil { offerBearers() }
      }
      if options.security > .low { try connection.raising.begin(to: options.security) }
    } catch {
      connection.close()
      throw error
    }
    connection.recorder?.recall { [self] remembered in
      guard !connection.hasEnded else { return }
      connection.recorder?.restore(remembered)
      admit(connection, client)
      // The database may have changed while the client was away.
      if remembered?.record != nil { connection.session.pump(at: connection.now) }
      connection.memoryAnswered()
    }
    return connection
  }

  /// Sets bit 0 of Server Supported Features, if the database has it. Vol 3, Part G, 7.4.
  private func offerBearers() {
    guard let handle = server.database.handles(of: .serverSupportedFeatures).first,
      var features = server.database.value(of: handle), (features.first ?? 0) & 0x01 == 0
    else { return }
    if features.isEmpty { features = [0] }
    features[0] |= 0x01
    // A value that the application holds is its own.
    try? server.setValue(of: handle, to: features)
  }

  private func admit(_ connection: ConnectionCore, _ client: ServerClient) {
    connections.insert(connection, at: connections.place(of: client.id, by: Self.client))
    emit(.connected(client.id, peer: connection.peerName))
  }

  /// Forgets a connection. Its end is reported when the client's record has been stored.
  func ended(_ connection: ConnectionCore) {
    guard let client = connection.session.client else { return }
    server.disconnect(client)
    if let process = connection.process { places.leave(process) }
    guard let index = index(of: client.id) else { return }
    connections.remove(at: index)
    handlers.forget(client.id)
    let report = { [self] in emit(.disconnected(client.id, peer: connection.peerName)) }
    if let recorder = connection.recorder { recorder.afterStoring(report) } else { report() }
  }

  /// Clients may have bonded, or have new keys.
  func bondsChanged() {
    for connection in connections { connection.recorder?.bondChanged() }
  }

  func connection(_ id: ClientID) -> ConnectionCore? {
    index(of: id).map { connections[$0] }
  }

  private func index(of id: ClientID) -> Int? { connections.index(of: id, by: Self.client) }

  /// The client of a connection; each that is served has one.
  private static func client(_ connection: ConnectionCore) -> ClientID {
    connection.session.client?.id ?? ClientID(rawValue: 0)
  }

  /// Whether ``settle()`` has events to report.
  var hasNews: Bool { server.hasEvents }

  /// Reports the server's events. Events that an observer causes meanwhile are reported too.
  func settle() {
    guard server.hasEvents, !isSettling else { return }
    isSettling = true
    defer { isSettling = false }
    var index = 0
    while !observers.isEmpty, let event = server.event(at: index) {
      index += 1
      emit(.server(event))
    }
    server.forgetEvents()
  }

  func observe(_ body: @escaping (ServedEvent) -> Void) -> Int {
    defer { nextObserver += 1 }
    observers.append((nextObserver, body))
    return nextObserver
  }

  func removeObserver(_ id: Int) { observers.removeAll { $0.id == id } }

  func emit(_ event: ServedEvent) {
    for observer in observers { observer.body(event) }
  }

  /// The database has changed: Service Changed is sent to the clients that subscribed to it.
  func databaseChanged() {
    for connection in connections {
      connection.session.pump(at: connection.now)
      connection.settle()
    }
  }

  func answer(_ question: Question, _ answer: LateAnswer) {
    guard let connection = connection(question.client) else { return }
    if let bearers = connection.bearers {
      bearers.answer(question.id, answer)
    } else {
      connection.session.answer(question.id, answer, at: connection.now)
      connection.settle()
    }
  }
}

/// An event at a server.
@nonexhaustive public enum ServedEvent: Equatable, Sendable {
  /// A client has connected. With a ``ClientMemory``, after it was looked up.
  case connected(ClientID, peer: String)
  /// A client has disconnected, or was disconnected. With a ``ClientMemory``, after its record was
  /// stored.
  case disconnected(ClientID, peer: String)
  /// A client loses its place, because the server is full, or because the client was silent for too
  /// long or did not take values in time: `tooManyClients`, `idle` or `tooSlow`. `disconnected`
  /// follows.
  case evicted(ClientID, peer: String, AttoError)
  /// A client has lost notifications, because it takes them more slowly than others: the first one at
  /// once, and the number of the others when it has caught up or its connection ends. See
  /// ``ConnectionOptions/backlog``.
  case valuesDropped(ClientID, peer: String, count: UInt64)
  /// A client has written or configured something.
  case server(ServerEvent)
}
