import Atto
import AttoCommandLine
import AttoStore

/// A connection to a peer, as the endpoint and the common options describe it.
package struct Connecting: Sendable {
  package let endpoint: Endpoint
  package var options = ConnectionOptions()
  /// Whether the MTU is exchanged before anything else.
  private var exchangesMTU = false
  package let arguments: Arguments
  private let pairing: PairingOptions
  private let storing: StoreOptions
  private let parameters: ParameterRequest?
  private let events: EventChoice?
  /// Whether the link is raised to what the peer states.
  package private(set) var raisesAsStated = false
  /// Whether to print the link's parameters at the end.
  private let showsLink: Bool
  /// Whether a line of progress shows how far procedures are.
  private let showsProgress: Bool

  /// Reads the endpoint, which is the first argument, and the common options.
  ///
  /// - Parameters:
  ///   - isMonitored: whether `--capture` and `--trace` are for this connection.
  ///   - isMeasured: whether nothing else may look at each PDU.
  ///   - mtu: the MTU to offer without `--mtu`; nil for no exchange.
  package init(
    _ arguments: Arguments, isMonitored: Bool = true, isMeasured: Bool = false, mtu: Int? = nil
  ) throws {
    guard let text = arguments.words.first else {
      throw UsageError("missing argument ENDPOINT: \(EndpointError.forms)")
    }
    let endpoint = try Endpoint(argument: text)
    parameters = try ParameterRequest(arguments)
    self.endpoint = try parameters?.applied(to: endpoint) ?? endpoint
    self.arguments = arguments
    if let mtu = arguments[CommonOptions.mtu] ?? mtu {
      options.receiveMTU = mtu
      exchangesMTU = true
    }
    if let timeout = arguments[CommonOptions.timeout] {
      options.connectTimeout = timeout
      options.transactionTimeout = timeout
    }
    pairing = try PairingOptions(arguments)
    switch arguments[CommonOptions.securityOnDemand] {
    case .onDemand: options.securityOnDemand = .fips
    case .stated: raisesAsStated = true
    case .level(let level): options.security = level
    }
    options.securityTimeout = arguments[CommonOptions.timeout] ?? .seconds(30)
    storing = try StoreOptions(arguments)
    if let bearers = arguments[CommonOptions.bearers] {
      options.enhancedBearers = try Bearers.checked(bearers, at: self.endpoint)
    }
    options.sendBuffer = arguments[CommonOptions.sendBuffer]
    events = try EventChoice(arguments, at: self.endpoint)
    options.phy = try PHYChoice.checked(arguments, at: self.endpoint)
    showsLink = arguments[CommonOptions.linkInfo]
    showsProgress = !isMeasured && ProgressLine.isShown(arguments)
    if isMonitored {
      try Monitor.add(to: &options, arguments, CaptureEnds(of: endpoint, isCentral: true))
    }
  }

  /// The subrating that the link has when the command runs; nil if none was asked for, or only a range.
  package var certainSubrate: SubrateRequest? { events?.certain }

  /// Connects, runs the body, and closes the connection.
  package func use<Value: Sendable>(
    on loop: Loop, _ body: (Connection) async throws -> Value
  ) async throws -> Value {
    try await use(on: loop) { connection, _ in try await body(connection) }
  }

  /// The same, with the store: nil if there is none, or with `--no-store`.
  package func use<Value: Sendable>(
    on loop: Loop, needsStore: Bool = false, _ body: (Connection, StoreFile?) async throws -> Value
  ) async throws -> Value {
    let bonds = try await savedBonds(on: loop)
    var store = bonds.store
    if needsStore, store == nil { store = try await storing.open() }
    let radio = try await radio(on: loop)
    // Releasing the radio would end its agent.
    defer { withExtendedLifetime(radio) {} }
    let report =
      showsLink || options.phy != nil || events != nil
      ? try await LinkReport(endpoint, on: loop) : nil
    if let events, let kernel = report?.kernel { try await events.prepare(kernel.radio) }
    let note = WaitingNote(connectingTo: endpoint, on: loop)
    defer { note.end() }
    let options = showsProgress ? options.showingProgress(on: loop) : options
    let connection = try await Connection.open(
      endpoint, options: options, adapter: radio, loop: loop)
    note.end()
    defer { connection.close() }
    if let events, let kernel = report?.kernel { try await events.ask(kernel.radio, kernel.peer) }
    try await prepare(connection, options, on: loop)
    let waiting = WaitingNote(responsesOn: connection, within: options.transactionTimeout, on: loop)
    defer { waiting.end() }
    let result: Result<Value, any Error>
    do {
      if exchangesMTU { try await exchangeMTU(connection) }
      try await Bearers.noteShortage(of: connection, options.enhancedBearers)
      let value = try await body(connection, store)
      if showsLink { try await report?.show(connection) }
      if let phy = options.phy { await report?.showPHY(asked: phy) }
      if let events, let report { events.show(try await report.facts(of: connection)) }
      result = .success(value)
    } catch let error as AttoError {
      result = .failure(await cause(of: error, on: loop))
    } catch {
      result = .failure(error)
    }
    let security = try? await connection.security
    if let security { noteUnchecked(security.level) }
    // Even a failed command may have created a bond.
    await bonds.end(after: security, on: loop)
    return try result.get()
  }

  /// Does what the options want before the first request, and says what it waits for.
  private func prepare(
    _ connection: Connection, _ options: ConnectionOptions, on loop: Loop
  ) async throws {
    guard options.security > .low || raisesAsStated else {
      return try await connection.prepare(options)
    }
    let note = WaitingNote(
      "waiting for \(endpoint) to pair", hint: "a person may have to confirm there", on: loop)
    defer { note.end() }
    try await connection.prepare(options)
    guard raisesAsStated else { return }
    if try await connection.raiseSecurityAsStated(within: options.securityTimeout) == nil {
      Terminal.note("\(endpoint) states no security level (2BF5): the link is left as it is")
    }
  }

  /// Warns of a level that radios on the virtual air granted because none of them has an agent.
  package func noteUnchecked(_ level: SecurityLevel) {
    guard endpoint.isAir, !pairing.isStated, level > .medium else { return }
    Terminal.note(
      "warning: without --io, the virtual air grants security \(level) without pairing: a real link"
        + " reaches medium at most")
  }

  private func savedBonds(on loop: Loop) async throws -> SavedBonds {
    guard case .le(let address) = endpoint else { return SavedBonds() }
    return try await SavedBonds.begin(
      storing, address.source, peer: address.peer,
      mayPair: mayPair, on: loop)
  }

  /// The reason for the end of a link: the socket does not report that the adapter was switched off
  /// or removed.
  private func cause(of error: AttoError, on loop: Loop) async -> any Error {
    guard case .le(let address) = endpoint else { return error }
    switch error {
    case .disconnected, .link: break
    default: return error
    }
    // The links end before the adapter reports that it is off.
    for pause in [Duration.zero, .milliseconds(100)] {
      try? await loop.sleep(for: pause)
      if let failure = await KernelAdapters(loop: loop).failure(of: address.source) {
        return failure
      }
    }
    return error
  }

  /// Exchanges the MTU. A peer that does not support the request keeps the default. Vol 3, Part F,
  /// 3.4.2.
  private func exchangeMTU(_ connection: Connection) async throws {
    do throws(AttoError) {
      _ = try await connection.exchangeMTU()
    } catch {
      guard case .refused(let response) = error, response.code == .requestNotSupported else {
        throw error
      }
      Terminal.note(
        "the peer does not support the MTU exchange: the MTU is \(try await connection.mtu)")
    }
  }

  /// The radio to connect with: with the wanted parameters, and the agent that answers while
  /// pairing. nil if neither is needed.
  package func radio(on loop: Loop) async throws -> Adapter? {
    if let parameters, case .le(let address) = endpoint {
      try await Adapter.kernel(address.source, loop: loop)
        .loadConnectionParameters([address.peer: parameters.parameters])
    }
    return try await pairingRadio(on: loop)
  }

  private var mayPair: Bool {
    options.security > .low || options.securityOnDemand != nil || raisesAsStated
  }

  /// The radio whose agent answers while pairing; nil if the command does not pair, or lacks the
  /// permission to set an agent: an existing bond still works then.
  private func pairingRadio(on loop: Loop) async throws -> Adapter? {
    guard mayPair else { return nil }
    let radio: Adapter
    switch endpoint {
    case .le(let address): radio = try await Adapter.kernel(address.source, loop: loop)
    case .air where pairing.isStated: radio = try Adapter.virtual(loop: loop)
    default: return nil
    }
    let agent = try ConsoleAgent(arguments, on: loop) { report in
      guard report.isQuestion else { return }
      if let place = arguments.place, place.isJSON {
        Results(arguments).print(json: report.json)
      } else {
        // Standard output is for results.
        Terminal.note(report.text)
      }
    }
    do throws(RadioError) {
      try await radio.setAgent(agent)
    } catch {
      guard case .management(_, .permissionDenied, _) = error else { throw error }
      Terminal.note("\(error)")
    }
    return radio
  }
}

extension Connecting {
  /// The options of a command that connects.
  package static let options = [
    CommonOptions.connecting, EventChoice.group, PairingOptions.group, StoreOptions.group,
  ]
}
