import AttoATT
import AttoGATT
import AttoLinks
import Glibc
import TestSupport
import Testing

@testable import Atto
@testable import AttoEventLoop

/// Hundreds of connections that end in every way, on two loops of their own. Nothing is left of them:
/// no object, watched descriptor, timer, handler or file. `Tests/System/Commands/enduring.py` does the
/// same for a whole process.
@Suite(.serialized, .oneByOne) struct SoakTests {
  /// The use of a connection until it ends.
  enum Use: CaseIterable {
    case nothing, discovery, longRead, longWrite, notifications, indications, commands
    case ownClose, serverCloses, timeout, cancelledConnect, cancelledUse
  }

  /// Objects that must be released, and their purpose.
  private final class Witness: Sendable {
    private let noted = Log<(what: String, box: WeakBox)>()
    func note(_ object: AnyObject, _ what: String) { noted.append((what, WeakBox(object))) }
    var left: [String] { noted.all.filter { $0.box.object != nil }.map(\.what) }
    var count: Int { noted.count }
  }

  private struct Loops: Sendable {
    let server: Loop
    let client: Loop
    init() throws {
      server = try Loop(name: "soak server")
      client = try Loop(name: "soak client")
      try server.start()
      try client.start()
    }
    func stop() {
      server.stop()
      client.stop()
    }
  }

  /// Descriptors and timers of a loop, and whether work waits.
  private static func state(of loop: Loop) async throws -> [Int] {
    try await loop.withWaiter { (waiter: Waiter<[Int], AttoError>) in
      waiter.resume(.success([loop.watches.count, loop.timers.count]))
    }
  }

  @Test(arguments: ["unix", "air"], [1 as UInt64, 2])
  func nothingIsLeft(_ kind: String, _ seed: UInt64) async throws {
    try await withDeadline("a soak of \(kind) with seed \(seed)") {
      raiseDescriptorLimit()
      let loops = try Loops()
      defer { loops.stop() }
      let folder = TemporaryFolder()
      let witness = Witness()
      var random = SplitMix64(seed: seed)
      let before = [try await Self.state(of: loops.server), try await Self.state(of: loops.client)]
      // Two servers, one after the other, so that what belongs to a server is counted too.
      for _ in 0..<2 {
        try await Self.life(of: kind, folder.path, loops, witness, &random)
        // Handlers of an end may have work left in the same turn.
        try await until {
          let after = [
            try await Self.state(of: loops.server), try await Self.state(of: loops.client),
          ]
          return after == before && witness.left.isEmpty
        }
      }
      #expect(witness.count > 250)
      let files = try #require(opendir(folder.path))
      defer { closedir(files) }
      var names: [String] = []
      while let entry = readdir(files) {
        names.append(
          withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
          })
      }
      #expect(names.sorted() == [".", ".."])
    }
  }

  private static func life(
    of kind: String, _ folder: String, _ loops: Loops, _ witness: Witness,
    _ random: inout SplitMix64
  ) async throws {
    let server = LocalServer(Database(), loop: loops.server)
    let layout = try await server.add(Bench.service)
    let (slow, quick) = (
      layout.characteristics[3].valueHandle, layout.characteristics[4].valueHandle
    )
    server.onRead(of: slow) { (_) throws(ErrorCode) in
      // As long as its client is connected.
      try? await loops.server.sleep(for: .seconds(600))
      throw .unlikelyError
    }
    server.onWrite(of: slow) { _ in }
    server.onRead(of: quick) { _ in [1] }
    server.onWrite(of: quick) { _ in }
    let observation = try await server.observe { _ in }
    witness.note(server, "a server")
    witness.note(observation, "an observation")
    try await server.onLoop { core in
      witness.note(core, "the core of a server")
      witness.note(core.server, "a server's database")
    }
    let listener: ServerListener
    let endpoint: Endpoint
    var central: Adapter?
    if kind == "air" {
      let radio = try Adapter.virtual(name: "Strap", folder: folder, loop: loops.server)
      witness.note(radio, "a peripheral's radio")
      listener = try await server.advertise(
        on: radio, options: ListenOptions(advertising: AdvertisingData(localName: "Strap")))
      endpoint = .air("Strap")
      let other = try Adapter.virtual(folder: folder, loop: loops.client)
      witness.note(other, "a central's radio")
      central = other
    } else {
      endpoint = .unix(path: folder + "/s")
      listener = try await server.listen(on: endpoint)
    }
    witness.note(listener, "a listener")
    for _ in 0..<10 {
      for use in Use.allCases.shuffled(using: &random) {
        let turns = Int(random.next() % 40)
        try await one(use, turns, endpoint, central, server, layout, loops, witness)
      }
    }
    listener.stop()
    server.disconnect()
    #expect(try await server.clients.isEmpty)
    if let central { await central.close() }
    // Handlers of disconnected clients are cancelled and end.
    try await until { try await server.onLoop { $0.handlers.runningCount == 0 } }
  }

  private static func one(
    _ use: Use, _ turns: Int, _ endpoint: Endpoint, _ central: Adapter?, _ server: LocalServer,
    _ layout: Database.Layout, _ loops: Loops, _ witness: Witness
  ) async throws {
    let (values, slow) = (layout.characteristics[2], layout.characteristics[3].valueHandle)
    let (long, quick) = (
      layout.characteristics[1].valueHandle, layout.characteristics[4].valueHandle
    )
    let task = Task {
      var options = ConnectionOptions()
      options.exchangesMTU = turns % 2 == 0 && use != .timeout
      if use == .timeout { options.transactionTimeout = .milliseconds(2) }
      let connection = try await Connection.connect(
        to: endpoint, options: options, adapter: central, loop: loops.client)
      witness.note(connection, "\(use): a connection")
      try await connection.onLoop { witness.note($0, "\(use): the core of a connection") }
      switch use {
      case .nothing, .cancelledConnect: break
      case .discovery: _ = try await connection.discover()
      case .longRead: #expect(try await connection.readLong(long).count == 512)
      case .longWrite: try await connection.writeLong(Bench.long, to: long)
      case .notifications, .indications:
        let received = try await connection.subscribe(
          to: values.valueHandle, cccd: try #require(values.configurationHandle),
          as: use == .indications ? .indication : .notification)
        witness.note(received, "\(use): values")
        if use == .indications {
          #expect(try await server.indicate([1], of: values.valueHandle).count == 1)
        } else {
          #expect(try await server.notify([1], of: values.valueHandle).count == 1)
        }
        for try await value in received {
          #expect(value.value == [1])
          break
        }
      case .commands:
        for number in 0..<20 {
          try await connection.writeWithoutResponse(counted(number), to: quick)
        }
        #expect(try await connection.readOnce(quick) == [1])
      case .ownClose, .serverCloses, .timeout:
        async let first = failure { try await connection.readOnce(slow) }
        async let second = failure { try await connection.readLong(long) }
        try await until { try await connection.counters.sent >= 1 }
        if use == .ownClose { connection.close() }
        if use == .serverCloses { server.disconnect() }
        #expect(await first != nil)
        // The runtime chooses the order of the two.
        _ = await second
      case .cancelledUse:
        let received = try await connection.subscribe(
          to: values.valueHandle, cccd: try #require(values.configurationHandle))
        _ = try await connection.readLong(long)
        try await connection.writeLong(Bench.long, to: long)
        _ = try await connection.readOnce(slow)
        for try await _ in received {}
      }
    }
    if use == .cancelledConnect || use == .cancelledUse {
      for _ in 0..<turns { await Task.yield() }
      task.cancel()
      _ = await task.result
    } else {
      try await task.value
    }
    // A simulated radio has one link to a peer: the next is possible when this one has ended there too.
    try await until { try await server.clients.isEmpty }
  }
}
