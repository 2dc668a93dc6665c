import Atto
import Store

/// How the commands that talk to a peer come to a connection.
struct Connecting: Sendable {
  let endpoint: Endpoint
  var options = ConnectionOptions()
  /// Whether the MTU is exchanged before anything else.
  private var exchangesMTU = false
  private let pairing: PairingOptions
  private let keeping: StoreOptions
  /// Whether people are told of the link, once the work is done.
  private let showsLink: Bool

  /// Reads the endpoint, the first word, and the common options.
  ///
  /// - Parameter looksOn: whether `--capture` and `--trace` are for this connection.
  init(_ arguments: Arguments, looksOn: Bool = true) throws {
    guard let text = arguments.words.first else {
      throw UsageError("an endpoint is missing; the forms are \(EndpointError.forms)")
    }
    do throws(EndpointError) {
      endpoint = try Endpoint(text)
    } catch {
      throw UsageError(error.description)
    }
    if let mtu = try arguments.integer("mtu", in: 23...65535) {
      options.receiveMTU = mtu
      exchangesMTU = true
    }
    if let timeout = try arguments.duration("timeout") {
      options.connectTimeout = timeout
      options.transactionTimeout = timeout
    }
    pairing = try PairingOptions(arguments)
    if arguments.value("security") == "auto" {
      options.securityOnDemand = .fips
    } else {
      options.security = try arguments.securityLevel()
    }
    options.securityTimeout = try arguments.duration("timeout") ?? .seconds(30)
    keeping = try StoreOptions(arguments)
    options.sendBuffer = try arguments.sendBuffer()
    showsLink = arguments.has("link-info")
    if looksOn { options.monitor = try Monitor.make(arguments) }
  }

  /// Whether the peer is on the kernel's radio.
  var isRadio: Bool { if case .le = endpoint { true } else { false } }

  /// Connects, lets the body work, and closes.
  func use<Value: Sendable>(
    on loop: Loop, _ body: (Connection) async throws -> Value
  ) async throws -> Value {
    try await use(on: loop) { connection, _ in try await body(connection) }
  }

  /// The same, with the store: nil if there is none, or none is to be used.
  func use<Value: Sendable>(
    on loop: Loop, needsStore: Bool = false,
    _ body: (Connection, StoreFile?) async throws -> Value
  ) async throws -> Value {
    let bonds = try await keptBonds(on: loop)
    let store = needsStore ? try bonds.store ?? keeping.open() : bonds.store
    let radio = try await pairingRadio(on: loop)
    // An agent answers for as long as it lives.
    defer { withExtendedLifetime(radio) {} }
    let report = showsLink ? try await LinkReport(endpoint, on: loop) : nil
    let note = ConnectingNote(endpoint, on: loop)
    defer { note.end() }
    let connection = try await Connection.connect(
      to: endpoint, options: options, adapter: radio, loop: loop)
    note.end()
    defer { connection.close() }
    let silence = SilenceNote(
      responsesOn: connection, within: options.transactionTimeout, on: loop)
    defer { silence.end() }
    let result: Result<Value, any Error>
    do {
      if exchangesMTU { try await exchangeMTU(connection) }
      let value = try await body(connection, store)
      try await report?.show(connection)
      result = .success(value)
    } catch let error as AttoError {
      result = .failure(await cause(of: error, on: loop))
    } catch {
      result = .failure(error)
    }
    // Whatever came of it, the link may have led to a bond.
    await bonds.end(after: try? await connection.security, on: loop)
    return try result.get()
  }

  private func keptBonds(on loop: Loop) async throws -> KeptBonds {
    guard case .le(let address) = endpoint else { return .none }
    return try await KeptBonds.begin(
      keeping, address.source, peer: address.peer,
      mayPair: options.security > .low || options.securityOnDemand != nil, on: loop)
  }

  /// A link may have ended because its adapter did, which the kernel does not say at the socket.
  private func cause(of error: AttoError, on loop: Loop) async -> any Error {
    guard case .le(let address) = endpoint else { return error }
    switch error {
    case .disconnected, .link: break
    default: return error
    }
    // Links end before the power does.
    for pause in [Duration.zero, .milliseconds(100)] {
      try? await loop.sleep(for: pause)
      guard let list = try? await KernelAdapters(loop: loop).list() else { return error }
      let own = list.filter {
        switch address.source {
        case .adapter(let index): $0.index == index
        case .address(let address): $0.address.value == address.value
        case .any: true
        }
      }
      let name = if case .adapter(let index) = address.source { "hci\(index)" } else { "" }
      if own.isEmpty { return name.isEmpty ? RadioError.noAdapter(name) : .unplugged(name) }
      if !own.contains(where: { $0.settings.isSuperset(of: [.powered, .le]) }) {
        return RadioError.poweredOff(own[0].label)
      }
    }
    return error
  }

  /// A peer that does not know the request keeps the default MTU. Vol 3, Part F, 3.4.2.
  private func exchangeMTU(_ connection: Connection) async throws {
    do throws(AttoError) {
      _ = try await connection.exchangeMTU()
    } catch {
      guard case .refused(let response) = error, response.code == .requestNotSupported else {
        throw error
      }
      Terminal.note("the peer does not exchange the MTU: it stays \(try await connection.mtu)")
    }
  }

  /// The radio whose agent answers when the peers pair; nil if nothing will be asked, or nothing
  /// may be answered: a bond that exists is enough then.
  func pairingRadio(on loop: Loop) async throws -> (any Adapter)? {
    guard options.security > .low || options.securityOnDemand != nil else { return nil }
    let radio: any Adapter
    switch endpoint {
    case .le(let address): radio = try await KernelAdapter.open(address.source, loop: loop)
    // Without --io the radios of the air agree on any level.
    case .air where pairing.isStated: radio = try AirAdapter(loop: loop)
    default: return nil
    }
    do throws(RadioError) {
      // What is printed on standard output is what was asked for.
      try await radio.setAgent(
        ConsoleAgent(options: pairing, loop: loop) { report in
          if report.isQuestion { Terminal.note(report.text) }
        })
    } catch {
      guard case .management(_, .permissionDenied, _) = error else { throw error }
      Terminal.note("\(error)")
    }
    return radio
  }
}
