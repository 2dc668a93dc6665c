import Atto

/// How the commands that talk to a peer come to a connection.
struct Connecting: Sendable {
  let endpoint: Endpoint
  var options = ConnectionOptions()
  /// Whether the MTU is exchanged before anything else.
  private var exchangesMTU = false
  private let pairing: PairingOptions

  /// Reads the endpoint, the first word, and the common options.
  init(_ arguments: Arguments) throws {
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
    options.monitor = try Monitor.make(arguments)
  }

  /// Connects, lets the body work, and closes.
  func use<Value: Sendable>(
    on loop: Loop, _ body: (Connection) async throws -> Value
  ) async throws -> Value {
    let connection = try await Connection.connect(
      to: endpoint, options: options, adapter: try await pairingRadio(on: loop), loop: loop)
    defer { connection.close() }
    if exchangesMTU { try await exchangeMTU(connection) }
    return try await body(connection)
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
