import Atto
import AttoFormats
import Synchronization

/// A server that serves a profile, including the scripted behaviours of its values.
///
///     let profile = try Profile(contentsOfFile: "strap.json")
///     let server = try await ProfileServer.serve(profile, on: .air("Strap"))
///
/// When the object is released, its listeners and behaviours stop. Open connections stay.
public final class ProfileServer: Sendable {
  /// The server, for values and events beyond the profile.
  public let server: LocalServer
  /// The profile.
  public let profile: Profile
  private let application: ProfileApplication?
  private let onEvent: @Sendable (ProfileServerEvent) -> Void
  private let state = Mutex(State())

  private struct State {
    var players: [ProfilePlayer] = []
    var listeners: [ServerListener] = []
    var observation: ServerObservation?
  }

  /// Creates a server and starts the behaviours of its values.
  ///
  /// - Parameters:
  ///   - limits: what clients may make the server hold; nil: ``AttoGATT/ServerLimits/fittingMemory(receiveMTU:)``.
  ///   - memory: stores the configurations of bonded clients.
  ///   - application: answers for the values that the profile leaves to the program; nil: they are
  ///     refused with Unlikely Error.
  ///   - onEvent: called on the loop for each event, in order. Must return quickly.
  /// - Throws: `ProfileError` if the profile has no valid layout, `AttoError.cancelled`.
  public init(
    _ profile: Profile, loop: Loop = .shared, limits: ServerLimits? = nil,
    memory: (any ClientMemory)? = nil, application: ProfileApplication? = nil,
    onEvent: @escaping @Sendable (ProfileServerEvent) -> Void = { _ in }
  ) async throws {
    let layout = try profile.layout()
    self.profile = profile
    self.application = application
    self.onEvent = onEvent
    server = LocalServer(
      try layout.database(), loop: loop,
      limits: limits ?? .fittingMemory(receiveMTU: profile.listenOptions.connection.receiveMTU),
      memory: memory)
    let observation = try await server.observe { onEvent(.server($0)) }
    state.withLock { $0.observation = observation }
    try await play(layout.behaviours)
  }

  deinit {
    for player in state.withLock({ $0.players }) { player.stop() }
  }

  /// Creates a server for a profile that listens at an endpoint and advertises what the profile states.
  ///
  /// - Throws: what ``init(_:loop:limits:memory:application:onEvent:)`` and
  ///   ``listen(on:options:onFailure:onEnd:)`` throw.
  public static func serve(
    _ profile: Profile, on endpoint: Endpoint, loop: Loop = .shared
  ) async throws -> ProfileServer {
    let server = try await ProfileServer(profile, loop: loop)
    try await server.listen(on: endpoint)
    return server
  }

  /// Starts to accept clients at an endpoint.
  ///
  /// - Parameters:
  ///   - options: nil for the profile's `listenOptions`.
  ///   - onFailure: called on the loop when a client cannot be served.
  ///   - onEnd: called on the loop when no more clients can connect because the adapter was removed.
  /// - Returns: the listener, which this object retains.
  /// - Throws: what `LocalServer.listen` throws.
  @discardableResult
  public func listen(
    on endpoint: Endpoint, options: ListenOptions? = nil,
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    let listener = try await server.listen(
      on: endpoint, options: options ?? profile.listenOptions, onFailure: onFailure, onEnd: onEnd)
    state.withLock { $0.listeners.append(listener) }
    return listener
  }

  /// Adds the services of another profile, without automatic ones, one after the other, and starts
  /// the behaviours of their values. If the profile states no handles, they get the next free ones.
  ///
  /// - Parameter onAdded: called with the handles of each service.
  /// - Throws: `ProfileError`, or `AttoError.database` if a service does not fit; those before it stay.
  public func add(
    _ profile: Profile, onAdded: (HandleRange) -> Void = { _ in }
  ) async throws {
    let layout = try profile.layout(from: try await server.freeHandle ?? .max)
    for service in layout.services { onAdded(try await server.add(service).range) }
    try await play(layout.behaviours)
  }

  private func play(_ behaviours: [ProfileLayout.ScriptedValue]) async throws(AttoError) {
    guard !behaviours.isEmpty else { return }
    let player = ProfilePlayer(behaviours.map(ScriptedValue.init), on: server, application, onEvent)
    try await player.start()
    state.withLock { $0.players.append(player) }
  }
}

/// An event of a ``ProfileServer``.
public enum ProfileServerEvent: Sendable {
  /// An event of the server itself.
  case server(ServedEvent)
  /// A client wrote a value with a behaviour.
  case written(AttributeHandle, [UInt8], by: ClientID)
  /// A client disconnected after writing to a sink, with its number of writes and their octets.
  case discarded(AttributeHandle, writes: Int, octets: Int, by: ClientID)
}

extension Profile {
  /// How a server of the profile listens: it advertises ``advertisingParameters``, and its connections
  /// have the profile's MTU, or 517.
  public var listenOptions: ListenOptions {
    var options = ListenOptions(advertising: advertisingParameters)
    options.connection.receiveMTU = mtu.map { Int($0) } ?? 517
    return options
  }

  /// The advertising data, with the profile's name as the local name if none is stated.
  public var advertisingData: AdvertisingData {
    var data = AdvertisingData()
    data.localName = advertising?.localName ?? name
    data.serviceUUIDs = advertising?.serviceUUIDs ?? []
    data.txPower = advertising?.txPower
    data.appearance = advertising?.appearance
    data.manufacturerData = (advertising?.manufacturerData ?? []).map {
      AdvertisingData.ManufacturerData(company: $0.company, $0.data)
    }
    data.serviceData = (advertising?.serviceData ?? []).map {
      AdvertisingData.ServiceData($0.service, $0.data)
    }
    return data
  }

  /// The advertising parameters, with ``advertisingData``.
  public var advertisingParameters: AdvertisingParameters {
    var parameters = AdvertisingParameters(advertisingData)
    if let interval = advertising?.interval { parameters.interval = interval }
    parameters.isConnectable = advertising?.isConnectable ?? true
    return parameters
  }
}
