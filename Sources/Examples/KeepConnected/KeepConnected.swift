import Atto
import AttoStore

/// A central that keeps its peripherals connected until SIGINT or SIGTERM, and connects again when one
/// is lost. It stores what it has discovered, and bonds, in `$ATTO_STORE` or the usual place.
///
///     KeepConnected air:Strap le:AA:BB:CC:DD:EE:FF ...
@main struct KeepConnected {
  /// One radio for all connections on the air; `le:` and `unix:` need none.
  let radio: Adapter
  let store: StoreFile

  static func main() async throws {
    let endpoints = try CommandLine.arguments.dropFirst().map { try Endpoint($0) }
    let store = try await StoreFile()
    // Loads bonds into the kernel and stores new ones; nil on a machine without Bluetooth.
    let bonds = try? await BondKeeper.begin(store, ofAll: true)
    let central = KeepConnected(radio: try Adapter.virtual(), store: store)
    try await untilTerminated {
      await withTaskGroup { group in
        for endpoint in endpoints { group.addTask { await central.keep(endpoint) } }
      }
    }
    await bonds?.close()
  }

  /// Connects again and again, with pauses from 0.25 to 30 seconds between failures.
  func keep(_ endpoint: Endpoint) async {
    var options = ConnectionOptions()
    options.exchangesMTU = true
    options.securityOnDemand = .medium
    var pause = Duration.milliseconds(250)
    while !Task.isCancelled {
      do {
        // Waits for a peripheral that is not there yet.
        try await Connection.withConnection(to: endpoint, options: options, adapter: radio) {
          connection in
          pause = .milliseconds(250)
          try await use(connection)
        }
      } catch {
        print("\(endpoint): \(error)")
      }
      try? await Loop.shared.sleep(for: pause)
      pause = min(pause * 2, .seconds(30))
    }
  }

  /// Prints heart rates as they arrive, and the sensor's location every ten seconds, until the
  /// connection ends.
  func use(_ connection: Connection) async throws {
    // One request instead of a discovery if the peer has not changed.
    let database = try await connection.discover(keptIn: store).database
    guard let rate = database.characteristics(.heartRateMeasurement).first,
      let location = database.characteristics(.bodySensorLocation).first
    else { return print("\(connection.peerName) has no heart rate") }
    let values = try await connection.subscribe(to: rate)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for try await value in values {
          let lost = value.missed > 0 ? "(\(value.missed) lost)" : ""
          print("\(connection.peerName): heart rate", value.value, lost)
        }
      }
      group.addTask {
        while true {
          print("\(connection.peerName): location", try await connection.read(location))
          try await connection.loop.sleep(for: .seconds(10))
        }
      }
      // The end of the connection ends one of the tasks with an error; the other is cancelled.
      try await group.next()
      group.cancelAll()
    }
  }
}
