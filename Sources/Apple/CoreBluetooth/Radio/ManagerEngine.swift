internal import Atto
import AttoEventLoop
import Foundation

/// The loop's side of a manager. It restores the saved state, if the app gave a restore identifier, and
/// then follows the state of the radio.
///
/// # The time of the first state
/// A radio that another manager of the process uses is open already, and its state could be told at once,
/// while the app's thread still prepares what the callback needs. Apple's daemon takes longer, and there
/// are libraries that rely on it. See ``startTime``.
@RadioLoop class ManagerEngine<Manager: CBManager, Saved: Codable & Sendable>: RadioObserver {
  /// The app's side.
  nonisolated let object = Locked(WeakReference<Manager>())
  nonisolated let choice: CBRadio
  /// The queue on which the app is called back, never from within a call of the app.
  nonisolated let queue: DispatchQueue
  private(set) var radio: RadioContext?
  private(set) var isShutDown = false
  private var beginning: LoopTimer?
  let record: RestorationRecord?
  /// Continues the work of a former run.
  private var resumption: (() -> Void)?

  /// The time between the creation of a manager and its use of the radio.
  nonisolated static var startTime: Duration { .milliseconds(10) }

  nonisolated init(_ choice: CBRadio, _ queue: DispatchQueue?, _ record: RestorationRecord?) {
    self.choice = choice
    if let queue, queue !== DispatchQueue.main {
      // A serial queue of our own: calls are in order even if the app's queue is concurrent.
      self.queue = DispatchQueue(label: "CoreBluetooth callbacks", target: queue)
    } else {
      self.queue = .main
    }
    self.record = record
  }

  /// Calls the app on its queue, unless it has released the manager.
  nonisolated func post(_ body: @escaping @Sendable (Manager) -> Void) {
    queue.async { [object] in
      if let manager = object.value.object { body(manager) }
    }
  }

  /// Begins after ``startTime``.
  final func start() {
    guard !isShutDown else { return }
    beginning = LoopTimer(after: Self.startTime, on: RadioLoop.loop) { [weak self] in
      RadioLoop.assumeIsolated { self?.begin() }
    }
  }

  private func begin() {
    beginning = nil
    guard let record else { return use(RadioContext.of(choice)) }
    record.load(Saved.self) { [self] saved in
      guard !isShutDown else { return }
      // Before the first state, and so before all other callbacks.
      if let saved { restore(saved) }
      use(RadioContext.of(choice))
    }
  }

  func use(_ radio: RadioContext) {
    self.radio = radio
    radio.observe(self)
  }

  /// The app has released the manager.
  final func shutDown() {
    isShutDown = true
    beginning?.cancel()
    beginning = nil
    end()
    radio?.forget(self)
    radio = nil
    record?.remove()
  }

  func stateChanged(_ state: CBManagerState) {}
  func connectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress) {}
  func restore(_ saved: Saved) {}
  func end() {}

  // MARK: Saved state

  /// Replaces the saved state, if there is a restore identifier.
  ///
  /// - Parameter content: called later and on another thread, where time for large states is.
  final func save(_ content: @escaping @Sendable () -> Saved) {
    guard let record, !isShutDown else { return }
    record.save(content)
  }

  /// Waits until the saved state is on the disk.
  final func saved() async {
    guard record != nil, !isShutDown else { return }
    await SavedState.shared.written()
  }

  /// Continues the work of a former run as soon as the radio is on.
  final func whenPoweredOn(_ body: @escaping () -> Void) {
    resumption = body
    resumeIfPoweredOn()
  }

  final func resumeIfPoweredOn() {
    guard radio?.state == .poweredOn, let body = resumption else { return }
    resumption = nil
    body()
  }
}
