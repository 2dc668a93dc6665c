import Atto
import AttoGATT
import Glibc

/// A procedure that is carried out again and again, as one object and without a task.
private final class Repeated<P: Procedure>: ProcedureOperation<P> {
  private let ended: (Repeated<P>) -> Void
  init(_ procedure: P, _ ended: @escaping (Repeated<P>) -> Void) {
    self.ended = ended
    super.init(procedure)
  }
  override func finish(_ result: Result<P.Output, ProcedureError>) {
    if case .failure(let error) = result { fatalError("refused: \(error)") }
    ended(self)
  }
}

/// The same for the shortest of them, in which it counts that the compiler knows the procedure.
private final class PolledRead: ProcedureOperation<ReadCharacteristicValue> {
  private let engine: EngineLink
  @exclusivity(unchecked) private var left: Int
  private let ended: () -> Void
  init(_ engine: EngineLink, _ count: Int, _ ended: @escaping () -> Void) {
    (self.engine, left, self.ended) = (engine, count, ended)
    super.init(ReadCharacteristicValue(Bench.value))
  }
  func start() {
    engine.session.start(self, at: engine.now)
    engine.flush()
  }
  override func finish(_ result: Result<[UInt8], ProcedureError>) {
    if case .failure(let error) = result { fatalError("refused: \(error)") }
    left -= 1
    guard left > 0 else { return ended() }
    renew(ReadCharacteristicValue(Bench.value))
    start()
  }
}

/// Client rows with floors 1 to 3 alone.
struct EngineRows {
  let descriptor: Int32
  let loop: Loop

  init(_ descriptor: Int32, _ loop: Loop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  func run(_ row: String, _ count: Int, _ size: Int) throws {
    // The loop's thread is this one: everything is begun from within it.
    loop.execute { [self] in
      do { try begin(row, count, size) } catch { fatalError("\(error)") }
    }
    loop.run()
  }

  private func begin(_ row: String, _ count: Int, _ size: Int) throws {
    let engine = try EngineLink(descriptor, loop)
    let start = {
      switch row {
      case "read":
        let watch = Stopwatch()
        PolledRead(engine, count) {
          watch.report(count)
          loop.stop()
        }.start()
      case "long-read": repeatProcedure(engine, count) { ReadLongValue(Bench.long) }
      case "long-write":
        let value = [UInt8](repeating: 0x33, count: 512)
        repeatProcedure(engine, count) { WriteLongValue(Bench.long, value: value) }
      case "discover": repeatProcedure(engine, count) { DiscoverDatabase() }
      case "write-command": writeCommands(engine, count, size)
      default: receiveNotifications(engine, count, size)
      }
    }
    guard size > 20 || row == "discover" && size > 0 else { return start() }
    exchangeMTU(engine, row == "discover" ? size : 517, start)
  }

  private func exchangeMTU(_ engine: EngineLink, _ mtu: Int, _ next: @escaping () -> Void) {
    engine.session.startExchangeMTU(
      Repeated(ExchangeMTU(clientReceiveMTU: mtu)) { _ in next() }, at: engine.now)
    engine.flush()
  }

  private func repeatProcedure<P: Procedure>(
    _ engine: EngineLink, _ count: Int, _ make: @escaping () -> P
  ) {
    let watch = Stopwatch()
    var left = count
    let operation = Repeated(make()) { operation in
      left -= 1
      guard left > 0 else {
        watch.report(count)
        return loop.stop()
      }
      operation.renew(make())
      engine.session.start(operation, at: engine.now)
      engine.flush()
    }
    engine.session.start(operation, at: engine.now)
    engine.flush()
  }

  /// Commands are gathered and go together, as `Connection` sends them.
  private func writeCommands(_ engine: EngineLink, _ count: Int, _ size: Int) {
    let value = [UInt8](repeating: 0x31, count: size)
    let watch = Stopwatch()
    var left = count
    engine.whenIdle = { [unowned engine] in
      while left > 0 {
        guard let sent = try? engine.session.writeWithoutResponse(Bench.value, value.span.bytes)
        else { fatalError("a command was refused") }
        if sent { left -= 1 }
        guard !sent || engine.session.outputCount == 64 else { continue }
        engine.flush()
        if engine.isBlocked { return }
      }
      engine.whenIdle = {}
      engine.session.start(
        Repeated(ReadCharacteristicValue(Bench.value)) { _ in
          watch.report(count)
          loop.stop()
        }, at: engine.now)
      engine.flush()
    }
    engine.whenIdle()
  }

  private func receiveNotifications(_ engine: EngineLink, _ count: Int, _ size: Int) {
    var wish = [UInt8]()
    for number in [count, size] {
      for shift in stride(from: 0, to: 32, by: 8) { wish.append(UInt8(number >> shift & 0xFF)) }
    }
    let write = { (handle: AttributeHandle, value: [UInt8], next: @escaping () -> Void) in
      engine.session.start(
        Repeated(WriteValue(handle, value: value)) { _ in next() }, at: engine.now)
      engine.flush()
    }
    write(Bench.configuration, [1, 0]) {
      let watch = Stopwatch()
      engine.whenIdle = { [unowned engine] in
        guard engine.values >= count else { return }
        watch.report(count)
        loop.stop()
      }
      write(Bench.stream, wish) {}
    }
  }
}
