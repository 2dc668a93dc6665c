import Atto
import AttoGATT
import AttoKernelRadio
import AttoStore
import Glibc

/// A client that lives for hours: it keeps one connection to each server, and opens and closes others
/// again and again. Each of them discovers with a store, subscribes, writes values that the server
/// notifies or indicates back, and counts those that do not come back.
///
///     soak STORE ENDPOINT...
///
/// The servers serve Fixtures/transcripts/bench.json. Prints its counts as a JSON object each second,
/// and ends at SIGINT or SIGTERM.
@main struct Soak {
  let store: StoreFile
  let tally = Tally()

  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count > 2 else { exit(2) }
    let soak = Soak(store: try await StoreFile(path: words[1]))
    // A radio has one connection with a peer.
    let radios = (coming: try Adapter.virtual(), staying: try Adapter.virtual())
    let endpoints = try words.dropFirst(2).map { try Endpoint($0) }
    try await untilTerminated {
      await withTaskGroup { group in
        for (number, endpoint) in endpoints.enumerated() {
          let first = UInt32(number) * 2
          group.addTask { await soak.churn(endpoint, radios.coming, Echoes(client: first)) }
          group.addTask { await soak.stay(endpoint, radios.staying, Echoes(client: first + 1)) }
        }
        group.addTask { await soak.bond() }
        group.addTask { await soak.report() }
      }
    }
  }

  /// Opens and closes connections.
  private func churn(_ endpoint: Endpoint, _ radio: Adapter, _ first: Echoes) async {
    var echoes = first
    while !Task.isCancelled {
      await counting("cycle") {
        try await Connection.withConnection(
          to: endpoint, options: Self.options, adapter: radio
        ) { connection in
          let found = try await connection.discover(
            keptIn: store, as: PeerName(endpoint: "\(endpoint)"))
          if found.isKept { tally.add("cached") }
          try await use(connection, &echoes, rounds: 4)
        }
      }
      try? await Loop.shared.sleep(for: .milliseconds(20))
    }
  }

  /// Keeps one connection.
  private func stay(_ endpoint: Endpoint, _ radio: Adapter, _ first: Echoes) async {
    var echoes = first
    while !Task.isCancelled {
      await counting("stay") {
        try await Connection.withConnection(
          to: endpoint, options: Self.options, adapter: radio
        ) { connection in
          try await use(connection, &echoes, rounds: .max)
        }
      }
      try? await Loop.shared.sleep(for: .milliseconds(250))
    }
  }

  private static var options: ConnectionOptions {
    var options = ConnectionOptions()
    options.exchangesMTU = true
    return options
  }

  /// Writes values and awaits their notifications and indications.
  private func use(
    _ connection: Connection, _ echoes: inout Echoes, rounds: Int
  ) async throws {
    _ = try await connection.readOnce(Echoes.plain)
    for way in Echoes.ways {
      guard rounds != .max || way.kind == .notification else { continue }
      let values = try await connection.subscribe(
        to: way.value, cccd: way.configuration, as: way.kind)
      var iterator = values.makeAsyncIterator()
      var round = 0
      while round < rounds, !Task.isCancelled {
        let written = echoes.next()
        try await connection.write(written, to: way.written)
        tally.add("\(way.name) expected")
        // A value that does not come back ends the connection.
        let alarm = Task {
          try await connection.loop.sleep(for: .seconds(20))
          connection.close()
        }
        defer { alarm.cancel() }
        while let value = try await iterator.next() {
          if value.missed > 0 { tally.add("missed", value.missed) }
          // Others' values are notified to all subscribed clients.
          guard value.value.starts(with: written.prefix(4)) else { continue }
          if value.value != written { tally.add("\(way.name) wrong") }
          tally.add("\(way.name) received")
          break
        }
        round += 1
        if rounds == .max { try await connection.loop.sleep(for: .milliseconds(20)) }
      }
      try await connection.unsubscribe(cccd: way.configuration)
    }
  }

  /// Stores, uses and removes bonds.
  private func bond() async {
    let adapter = BluetoothAddress(0x00AA_0100_0000)
    var number: UInt64 = 0
    while !Task.isCancelled {
      let peer = BluetoothAddress(0xC000_0000_0000 + number % 32, kind: .random)
      let key = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16)
      await counting("bond") {
        try await store.keep([
          (.identity(IdentityResolvingKey(peer: peer, value: key)), adapter),
          (.signature(SignatureKey(peer: peer, kind: 0, value: key)), adapter),
        ])
        try await store.keep(
          ClientRecord(configurations: [3: .notification]), adapter: adapter, peer: peer)
        _ = try await store.reserveSignCounters(adapter: adapter, peer: peer)
        guard try await store.bond(adapter: adapter, peer: peer)?.identityKey?.value == key else {
          return tally.add("bonds wrong")
        }
        if number % 3 == 0 { try await store.removeBond(adapter: adapter, peer: peer) }
      }
      number += 1
      try? await Loop.shared.sleep(for: .milliseconds(200))
    }
  }

  private func counting(_ name: String, _ body: () async throws -> Void) async {
    do {
      try await body()
      tally.add("\(name)s")
    } catch {
      if !Task.isCancelled { tally.add("\(name) failed: \(error)") }
    }
  }

  private func report() async {
    while !Task.isCancelled {
      try? await Loop.shared.sleep(for: .seconds(1))
      let line = tally.line
      // One call, shorter than a pipe's atomic write while nothing is wrong.
      guard write(STDOUT_FILENO, line, line.utf8.count) == line.utf8.count else { exit(1) }
    }
  }
}
