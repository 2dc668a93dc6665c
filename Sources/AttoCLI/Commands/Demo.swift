import Atto
import Glibc
import Synchronization

/// `atto demo`: the whole story on the virtual air, both sides in one process.
///
/// The peripheral runs on a loop of its own, so that what is shown goes from thread to thread
/// through sockets, as it does between processes.
enum DemoCommand: Command {
  static let name = "demo"
  static let examples = [
    "atto demo"
  ]
  static let summary = "The whole story, on the virtual air, in a few seconds."
  static let usage = "[OPTIONS]"
  static let options = [
    OptionSpec("seconds", "SECONDS", "how long throughput is measured (default 1)"),
    OptionSpec("trace", nil, "each PDU that the central sees, decoded, on standard error"),
  ]

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    let seconds = try arguments.duration("seconds") ?? .seconds(1)
    // An air of its own: the demo meets nobody else's radios, and nobody meets its.
    let air = try TemporaryAir()
    let strap = try await DemoStrap.advertise(in: air.path)

    Terminal.print("A heart-rate strap advertises on the virtual air.")
    let radio = try AirAdapter(folder: air.path, loop: loop)
    let found = try await scan(radio)
    Terminal.print("Connecting.")
    var options = ConnectionOptions()
    options.exchangesMTU = true
    if arguments.has("trace") { options.monitor = Trace.monitor() }
    let connection = try await Connection.connect(
      to: .air(found.address.digits), options: options, adapter: radio, loop: loop)
    Terminal.print("  the MTU is \(try await connection.mtu), up from 23")

    let database = try await discover(connection)
    try await readLong(connection, database)
    try await writePrepared(connection, database)
    try await subscribe(connection, database)
    try await measure(connection, database, strap, seconds)

    connection.close()
    strap.listener.stop()
    await radio.close()
  }

  private static func scan(_ radio: AirAdapter) async throws -> Discovery {
    var options = ScanOptions()
    options.services = [DemoStrap.heartRate]
    options.timeout = .seconds(10)
    Terminal.print("A central scans for service \(Shown.named(DemoStrap.heartRate, .service)).")
    for try await event in radio.scan(options) {
      guard case .found(let discovery) = event else { continue }
      Terminal.print(
        "  \(discovery.address)  \(Shown.name(discovery.data.localName ?? ""))  \(discovery.rssi) dBm, "
          + "\(discovery.advertisement.count + discovery.scanResponse.count)"
          + " octets of advertising data")
      return discovery
    }
    throw CheckFailure(message: "the strap was not found")
  }

  private static func discover(_ connection: Connection) async throws -> RemoteDatabase {
    let before = try await connection.counters.sent
    let database = try await connection.discover(readsDatabaseHash: true)
    let requests = try await connection.counters.sent - before
    Terminal.print("Discovered in \(requests) round trips:")
    for service in database.services {
      let names = service.characteristics.map { Shown.named($0.uuid, .characteristic) }
      Terminal.print(
        "  \(service.handle)-\(service.endGroupHandle)  \(Shown.named(service.uuid, .service))")
      for name in names { Terminal.print("                 \(name)") }
    }
    return database
  }

  private static func handle(
    _ database: RemoteDatabase, _ uuid: BluetoothUUID
  ) throws -> AttributeHandle {
    guard let found = database.characteristics(uuid).first else {
      throw CheckFailure(message: "there is no \(uuid)")
    }
    return found.valueHandle
  }

  private static func readLong(
    _ connection: Connection, _ database: RemoteDatabase
  ) async throws {
    let value = try await connection.readLong(handle(database, DemoStrap.log))
    guard value == DemoStrap.logValue else {
      throw CheckFailure(message: "the long value is not what the strap holds")
    }
    Terminal.print("Read a long value of \(value.count) octets.")
  }

  private static func writePrepared(
    _ connection: Connection, _ database: RemoteDatabase
  ) async throws {
    let handle = try handle(database, DemoStrap.notes)
    let text = Array(String(repeating: "All or nothing. ", count: 32).utf8)
    try await connection.writeLong(handle, text)
    guard try await connection.readLong(handle) == text else {
      throw CheckFailure(message: "what was written is not what is read")
    }
    Terminal.print("Wrote \(text.count) octets in prepared parts, and read them back.")
  }

  private static func subscribe(
    _ connection: Connection, _ database: RemoteDatabase
  ) async throws {
    guard let measurement = database.characteristics(DemoStrap.measurement).first else {
      throw CheckFailure(message: "there is no heart rate measurement")
    }
    let values = try await connection.subscribe(to: measurement)
    var rates: [String] = []
    for try await value in values {
      rates.append(value.value.count == 2 ? "\(value.value[1])" : "?")
      if rates.count == 5 { break }
    }
    guard rates.count == 5 else { throw CheckFailure(message: "the heart rate did not come") }
    Terminal.print("Subscribed; heart rates: \(rates.joined(separator: ", ")) per minute.")
  }

  /// Notifications as fast as the link takes them, numbered; counted where they arrive.
  private static func measure(
    _ connection: Connection, _ database: RemoteDatabase, _ strap: DemoStrap,
    _ time: Duration
  ) async throws {
    guard let stream = database.characteristics(DemoStrap.stream).first else {
      throw CheckFailure(message: "there is no stream")
    }
    let counted = Mutex(Count())
    connection.observeValues { handle, value in
      guard handle == stream.valueHandle, value.byteCount >= 4 else { return }
      let number = value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
      counted.withLock { count in
        if UInt32(littleEndian: number) != UInt32(truncatingIfNeeded: count.values) {
          count.outOfOrder += 1
        }
        count.values += 1
        count.octets += value.byteCount
      }
    }
    // Kept: while it is, the values need not be taken.
    let configuration = stream.cccd?.handle ?? .invalid
    try await connection.write(configuration, [1, 0])
    let clock = ContinuousClock()
    let start = clock.now
    let sent = try await strap.stream(size: try await connection.mtu - 3, for: time)
    // A read comes back after all that was sent before its answer.
    _ = try await connection.read(stream.valueHandle)
    let elapsed = start.duration(to: clock.now)
    let count = counted.withLock { $0 }
    connection.observeValues(nil)
    guard count.values == sent, count.outOfOrder == 0 else {
      throw CheckFailure(
        message: "\(sent) values were sent, \(count.values) came, \(count.outOfOrder) out of order")
    }
    let seconds = elapsed / .seconds(1)
    Terminal.print(
      "throughput: \(Decimal.text(Double(count.values) / seconds, places: 0)) notifications/s, "
        + "\(Decimal.text(Double(count.octets) / seconds / 1e6, places: 1)) MB/s "
        + "(\(count.values) of \(count.octets / max(1, count.values)) octets in "
        + "\(Decimal.text(seconds, places: 2)) s, none lost, in order)")
  }

  private struct Count: Sendable {
    var values = 0
    var octets = 0
    var outOfOrder = 0
  }
}

/// A folder that is gone when the demo is.
private final class TemporaryAir: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/atto-demo-XXXXXX\0".utf8CString.dropLast())
    guard mkdtemp(&template) != nil else {
      throw RadioError.system("make a folder under /tmp", errno: errno)
    }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
      }
      if name != ".", name != ".." { unlink(path + "/" + name) }
    }
    closedir(folder)
    rmdir(path)
  }
}
