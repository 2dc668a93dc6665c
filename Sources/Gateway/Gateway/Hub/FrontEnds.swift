import Atto
import AttoEventLoop

/// A kind of front end.
package struct FrontEndKind: Sendable {
  package let name: String
  /// Whether two configurations are the same to it, so that it goes on after a reload.
  let isSame: @Sendable (Configuration, Configuration) -> Bool
  /// Makes one; nil if the configuration has none.
  let make: @Sendable (Configuration, Hub) -> (any FrontEnd)?

  package init(
    _ name: String, isSame: @escaping @Sendable (Configuration, Configuration) -> Bool,
    make: @escaping @Sendable (Configuration, Hub) -> (any FrontEnd)?
  ) {
    self.name = name
    self.isSame = isSame
    self.make = make
  }
}

/// Runs the front ends that a configuration asks for. One that fails is started again after a growing
/// pause; the others go on meanwhile.
package actor FrontEnds {
  static let pauses: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

  private struct Running {
    let frontEnd: any FrontEnd
    let task: Task<Void, Never>
  }

  private let kinds: [FrontEndKind]
  private let hub: Hub
  private let loop: Loop
  private var configuration: Configuration?
  private var running: [String: Running] = [:]
  private var failures: [String: String] = [:]

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(_ kinds: [FrontEndKind], on hub: Hub) {
    self.kinds = kinds
    self.hub = hub
    loop = hub.loop
  }

  /// Starts, restarts and ends front ends so that the configuration's run.
  package func apply(_ new: Configuration) async {
    let old = configuration
    configuration = new
    for kind in kinds {
      if let old, let running = running[kind.name], kind.isSame(old, new) {
        await running.frontEnd.reloaded()
        continue
      }
      await end(kind.name)
      guard let frontEnd = kind.make(new, hub) else { continue }
      let task = Task(executorPreference: loop.tasks) { await self.run(frontEnd) }
      running[kind.name] = Running(frontEnd: frontEnd, task: task)
    }
  }

  /// Ends all of them, in order.
  package func end() async {
    for kind in kinds { await end(kind.name) }
  }

  private func end(_ name: String) async {
    guard let ended = running.removeValue(forKey: name) else { return }
    ended.task.cancel()
    await ended.task.value
    failures[name] = nil
  }

  private func run(_ frontEnd: any FrontEnd) async {
    var pause = Self.pauses.lowerBound
    while !Task.isCancelled {
      do {
        try await frontEnd.run(hub)
        if Task.isCancelled { return }
        throw GatewayError.released
      } catch {
        if Task.isCancelled { return }
        failures[frontEnd.name] = "\(error)"
        hub.log(.error, "\(frontEnd.name): \(error)")
      }
      do { try await loop.sleep(for: pause) } catch { return }
      pause = min(pause * 2, Self.pauses.upperBound)
      failures[frontEnd.name] = nil
    }
  }

  /// What each does now.
  package var statuses: [(name: String, status: FrontEndStatus)] {
    get async {
      var statuses: [(name: String, status: FrontEndStatus)] = []
      for kind in kinds {
        guard let frontEnd = running[kind.name]?.frontEnd else { continue }
        if let failure = failures[kind.name] {
          statuses.append((kind.name, FrontEndStatus(state: failure, isHealthy: false)))
        } else {
          statuses.append((kind.name, await frontEnd.status()))
        }
      }
      return statuses
    }
  }
}
