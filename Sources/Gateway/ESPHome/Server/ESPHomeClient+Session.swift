import Atto
import AttoEventLoop
import AttoGateway
import Glibc

/// The session, advertisements and the scanner.
extension ESPHomeClient {
  /// The version of the interface that is served.
  static let (major, minor): (UInt32, UInt32) = (1, 15)
  /// The release of ESPHome that has it.
  static let esphomeVersion = "2026.11.0"
  static let project = "atto.gateway"
  /// Passive scanning, connections, remote caching, pairing, clearing of caches, raw advertisements,
  /// scanner state and mode, connection parameters.
  static let featureFlags: UInt32 = 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128

  func carryOut(_ request: SessionRequest) {
    let identity = server.identity
    switch request {
    case .hello(let client, _, let minor):
      send(
        SessionAnswer.hello(
          major: Self.major, minor: Self.minor, server: "atto-gateway \(Version.number)",
          name: identity.name))
      greeted(client, version: minor)
    case .authentication: send(SessionAnswer.authenticated)
    case .disconnect:
      send(SessionAnswer.disconnected)
      end(.disconnected)
    case .disconnected: end(.disconnected)
    case .ping: send(SessionAnswer.pong)
    case .deviceInfo: send(SessionAnswer.deviceInfo(deviceInfo))
    case .capabilities:
      send(
        SessionAnswer.capabilities(flags: Self.featureFlags, address: identity.addressText))
    case .listEntities:
      if let hub = server.here({ $0.hub }), hub.here({ $0.configuration.asksPasskeys }) {
        send(Self.answerAction)
      }
      send(SessionAnswer.entitiesDone)
    case .time: send(SessionAnswer.time(UInt32(truncatingIfNeeded: time(nil))))
    // There are no entities and no logs; answers to what we ask only show that the client is there.
    case .subscribeStates, .subscribeLogs, .pong, .timeIs: break
    }
  }

  private var deviceInfo: DeviceInfo {
    let identity = server.identity
    return DeviceInfo(
      name: identity.name, friendlyName: identity.friendlyName, address: identity.addressText,
      esphomeVersion: Self.esphomeVersion, model: "atto-gateway", manufacturer: "Atto",
      projectName: Self.project, projectVersion: Version.number, featureFlags: Self.featureFlags,
      bluetoothAddress: identity.addressText, isEncrypted: server.configuration.key != nil)
  }

  func carryOut(_ request: AdvertisementRequest) {
    switch request {
    case .subscribe:
      wantsAdvertisements = true
      let server = server
      Task(executorPreference: loop.tasks) {
        // Clients take the state for the answer to their request.
        if let report = await server.scannerReport() { await self.send(report) }
        await server.subscribersChanged()
        await self.pass(server.presentAdvertisements())
      }
    case .unsubscribe:
      wantsAdvertisements = false
      server.here { $0.subscribersChanged() }
    case .setScanning(let isActive):
      wishesActiveScan = isActive
      server.here { $0.wishesChanged() }
    }
  }

  /// Sends advertisements in messages of ``ESPHomeServer/batchLimit``.
  func pass(_ advertisements: [RawAdvertisement]) {
    guard wantsAdvertisements, isEstablished else { return }
    var rest = advertisements[...]
    while !rest.isEmpty {
      guard !isBehind else {
        return server.here { $0.advertisementsDropped += UInt64(rest.count) }
      }
      send(AdvertisementReport.advertisements(Array(rest.prefix(ESPHomeServer.batchLimit))))
      rest = rest.dropFirst(ESPHomeServer.batchLimit)
    }
  }
}

extension SessionRequest {
  var isAllowedBeforeHello: Bool {
    switch self {
    case .hello, .authentication, .ping, .pong, .disconnect, .disconnected: true
    default: false
    }
  }
}
