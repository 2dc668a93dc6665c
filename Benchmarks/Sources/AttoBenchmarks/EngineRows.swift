import Atto
import Glibc

/// A procedure that is begun again when it has ended, without a task.
private final class Repeated<P: Procedure>: ProcedureOperation<P> {
  private let ended: () -> Void
  init(_ procedure: P, _ ended: @escaping () -> Void) {
    self.ended = ended
    super.init(procedure)
  }
  override func finish(_ result: Result<P.Output, ProcedureError>) {
    if case .failure(let error) = result { fatalError("refused: \(error)") }
    ended()
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
      case "read": repeatProcedure(engine, count) { ReadCharacteristicValue(Bench.value) }
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
      Repeated(ExchangeMTU(clientReceiveMTU: mtu), next), at: Instant(nanoseconds: loop.now))
    engine.flush()
  }

  private func repeatProcedure<P: Procedure>(
    _ engine: EngineLink, _ count: Int, _ make: @escaping () -> P
  ) {
    let watch = Stopwatch()
    var left = count
    func next() {
      guard left > 0 else {
        watch.report(count)
        return loop.stop()
      }
      left -= 1
      engine.session.start(
        Repeated(make(), next), at: Instant(nanoseconds: loop.now))
      engine.flush()
    }
    next()
  }

  private func writeCommands(_ engine: EngineLink, _ count: Int, _ size: Int) {
    let value = [UInt8](repeating: 0x31, count: size)
    let watch = Stopwatch()
    var left = count
    engine.whenIdle = { [unowned engine] in
      while left > 0 {
        guard let sent = try? engine.session.writeWithoutResponse(Bench.value, value.span.bytes)
        else { fatalError("a command was refused") }
        engine.flush()
        if sent { left -= 1 } else if engine.isBlocked { return }
      }
      engine.whenIdle = {}
      engine.session.start(
        Repeated(ReadCharacteristicValue(Bench.value)) {
          watch.report(count)
          loop.stop()
        }, at: Instant(nanoseconds: loop.now))
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
        Repeated(WriteValue(handle, value: value), next), at: Instant(nanoseconds: loop.now))
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
