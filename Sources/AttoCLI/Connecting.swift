import Atto

/// How the commands that talk to a peer come to a connection.
struct Connecting: Sendable {
  let endpoint: Endpoint
  var options = ConnectionOptions()

  /// Reads the endpoint, the first word, and the common options.
  init(_ arguments: Arguments) throws {
    do throws(EndpointError) {
      endpoint = try Endpoint(try Self.text(arguments))
    } catch {
      throw UsageError(error.description)
    }
    if let mtu = try arguments.integer("mtu", in: 23...65535) {
      options.receiveMTU = mtu
      options.exchangesMTU = true
    }
    if let timeout = try arguments.duration("timeout") {
      options.connectTimeout = timeout
      options.transactionTimeout = timeout
    }
    options.security = try arguments.securityLevel()
    if arguments.has("trace") { options.monitor = Trace.monitor() }
  }

  private static func text(_ arguments: Arguments) throws(EndpointError) -> String {
    guard let word = arguments.words.first else {
      throw EndpointError(text: "", .unknownForm)
    }
    return word
  }

  /// Connects, lets the body work, and closes.
  func use<Value: Sendable>(
    on loop: Loop, _ body: (Connection) async throws -> Value
  ) async throws -> Value {
    let agent = try await pairingRadio(on: loop)
    // An agent answers for as long as it lives.
    defer { withExtendedLifetime(agent) {} }
    let connection = try await Connection.connect(to: endpoint, options: options, loop: loop)
    defer { connection.close() }
    return try await body(connection)
  }

  /// The radio that answers when the kernel asks about pairing; nil if nothing will be asked, or
  /// nothing may be answered: a bond that exists is enough then.
  private func pairingRadio(on loop: Loop) async throws -> KernelAdapter? {
    guard options.security > .low, case .le(let address) = endpoint else { return nil }
    let radio = try await KernelAdapter.open(address.source, loop: loop)
    do throws(RadioError) {
      try await radio.setAgent(JustWorksAgent())
    } catch {
      guard case .management(_, .permissionDenied, _) = error else { throw error }
      Terminal.note("\(error)")
      return nil
    }
    return radio
  }
}
