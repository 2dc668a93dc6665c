import ATT
import EventLoop
import GATT
import Links

/// A GATT server with its connections: everything that happens on the loop's thread.
final class ServerCore {
  let loop: Loop
  let server: Server
  let handlers: HandlerTable
  let memory: (any ClientMemory)?
  @exclusivity(unchecked) private(set) var connections: [ConnectionCore] = []
  @exclusivity(unchecked) private var connectionOfClient: [ClientID: ConnectionCore] = [:]
  @exclusivity(unchecked) private var observers: [(id: Int, body: (ServedEvent) -> Void)] = [] {
    didSet { server.notesEvents = !observers.isEmpty }
  }
  private var nextObserver = 0
  @exclusivity(unchecked) private var isSettling = false
  @exclusivity(unchecked) var unwaited = UnwaitedCalls()
  /// Empty: room for the clients that a value goes to, so that sending one allocates nothing.
  @exclusivity(unchecked) var spareTargets: [ConnectionCore] = []

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

  /// Takes a link and serves its peer.
  func attach(_ link: any Link, options: ConnectionOptions) throws(AttoError) -> ConnectionCore {
    let remembered = recall(link)
    guard let client = server.connect(security: link.security, record: remembered?.record) else {
      link.close()
      throw .tooManyClients(limit: server.limits.clients)
    }
    if let key = remembered?.signingKey {
      client.setSigningKey(key, counter: remembered?.signCounter ?? 0)
    }
    let connection = ConnectionCore(
      link, on: loop, options: options, server: self, client: client)
    connections.append(connection)
    connectionOfClient[client.id] = connection
    emit(.connected(client.id, peer: connection.peerName))
    do throws(AttoError) {
      try connection.open()
      // One that was away while the database changed is owed a Service Changed.
      if remembered?.record != nil { connection.tellServiceChanged() }
      if options.security > .low { try connection.raiseSecurity(to: options.security) }
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  func ended(_ connection: ConnectionCore) {
    guard let client = connection.session.client else { return }
    connections.removeAll { $0 === connection }
    connectionOfClient[client.id] = nil
    server.disconnect(client)
    handlers.forget(client.id)
    emit(.disconnected(client.id, peer: connection.peerName))
  }

  func connection(_ id: ClientID) -> ConnectionCore? {
    connectionOfClient[id]
  }

  /// Whether ``settle()`` has anything to tell.
  var hasNews: Bool { server.hasEvents }

  /// Tells what the server has noted. A listener that calls the server from within is told of
  /// the outcome in the same pass.
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

  private func emit(_ event: ServedEvent) {
    for observer in observers { observer.body(event) }
  }

  /// The database has changed: Service Changed goes out to those who want it.
  func databaseChanged() {
    for connection in connections {
      connection.session.pump(at: connection.now)
      connection.settle()
    }
  }

  func answer(_ question: Question, _ answer: LateAnswer) {
    guard let connection = connection(question.client) else { return }
    connection.session.answer(question.id, answer, at: connection.now)
    connection.settle()
  }
}

/// What happens at a server.
public enum ServedEvent: Equatable, Sendable {
  /// A client has come.
  case connected(ClientID, peer: String)
  /// A client is gone, whoever has ended it.
  case disconnected(ClientID, peer: String)
  /// A client has written or configured something.
  case server(ServerEvent)
}
