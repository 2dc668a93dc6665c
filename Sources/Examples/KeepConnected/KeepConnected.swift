import Atto

/// A central that keeps each of its peripherals connected, and connects again when one is lost.
///
///     KeepConnected air:Strap le:AA:BB:CC:DD:EE:FF ...
@main struct KeepConnected {
  static func main() async throws {
    // One radio for all connections on the air; `le:` and `unix:` need none.
    let radio = try Adapter.virtual()
    let endpoints = try CommandLine.arguments.dropFirst().map { try Endpoint($0) }
    // SIGINT and SIGTERM end the connections, and so the program.
    try await untilTerminated {
      await withTaskGroup { group in
        for endpoint in endpoints { group.addTask { await keep(endpoint, radio) } }
      }
    }
  }

  /// Connects again and again, with pauses from 0.25 to 30 seconds between failures.
  static func keep(_ endpoint: Endpoint, _ radio: Adapter) async {
    var options = ConnectionOptions()
    options.exchangesMTU = true
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
  static func use(_ connection: Connection) async throws {
    let database = try await connection.discover()
    guard let rate = database.characteristic(.heartRateMeasurement),
      let location = database.characteristic(.bodySensorLocation)
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
