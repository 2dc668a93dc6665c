import AttoEventLoop
import CAttoLinux
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

/// The inotify instance that the observers of a process share, and observing without one.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct FolderNoticesTests {
  let air: Air
  init() throws { air = Air() }

  /// Other programs of this user may have all instances.
  private static let canHaveInstance: Bool = {
    let descriptor = inotify_init1(Int32(IN_CLOEXEC))
    return descriptor >= 0 && close(descriptor) == 0
  }()

  @Test(.enabled(if: canHaveInstance, "no inotify instance is left"))
  func allObserversShareOneInstance() async throws {
    let made = Atomic(0)
    let notices = FolderNotices {
      made.add(1, ordering: .relaxed)
      return inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    }
    // More than a user has instances. A second folder has a watch of its own.
    let other = Air()
    var watchers: [Watcher] = []
    for number in 0..<300 {
      let folder = try AirFolder(path: number % 3 == 0 ? other.path : air.path)
      let watcher = try Watcher(folder, notices)
      try await watcher.start()
      watchers.append(watcher)
    }
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    for (number, watcher) in watchers.enumerated() where number % 3 != 0 {
      await watcher.wait(for: ["shown"])
    }
    // Each second one ends; the others are still told.
    for (number, watcher) in watchers.enumerated() where number % 2 == 0 { await watcher.end() }
    advertisement.stop()
    for (number, watcher) in watchers.enumerated() where number % 3 != 0 && number % 2 != 0 {
      await watcher.wait(for: ["shown", "left"])
    }
    #expect(made.load(ordering: .relaxed) == 1)
    #expect(notices.hasInstance)
    for watcher in watchers { await watcher.end() }
    #expect(!notices.hasInstance)
    #expect(await watchers[0].changes.isEmpty)
  }

  @Test(.enabled(if: canHaveInstance, "no inotify instance is left"))
  func theFolderIsListedWhileThereIsNoInstance() async throws {
    let isFree = Atomic(false)
    let notices = FolderNotices {
      guard isFree.load(ordering: .relaxed) else {
        errno = EMFILE
        return -1
      }
      return inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    }
    let watcher = try Watcher(AirFolder(path: air.path), notices)
    try await watcher.start()
    let radio = try air.adapter("Strap")
    let first = try await radio.advertise(strap())
    await watcher.wait(for: ["shown"])
    first.stop()
    await watcher.wait(for: ["shown", "left"])
    #expect(!notices.hasInstance)
    // An instance is taken as soon as there is one.
    isFree.store(true, ordering: .relaxed)
    let second = try await radio.advertise(strap())
    await watcher.wait(for: ["shown", "left", "shown"])
    #expect(notices.hasInstance)
    second.stop()
    await watcher.wait(for: ["shown", "left", "shown", "left"])
    await watcher.end()
    #expect(!notices.hasInstance)
  }

  /// The loop that reads the instance loses its last observer again and again.
  @Test(.enabled(if: canHaveInstance, "no inotify instance is left"))
  func anotherLoopTakesOver() async throws {
    let notices = FolderNotices()
    let folder = try AirFolder(path: air.path)
    let loops = try (0..<3).map { try Loop(name: "folder \($0)") }
    for loop in loops { try loop.start() }
    defer { for loop in loops { loop.stop() } }
    let radio = try air.adapter("Strap")
    var watchers = try loops.map { try Watcher(folder, notices, on: $0) }
    for watcher in watchers { try await watcher.start() }
    for turn in 0..<30 {
      let advertisement = try await radio.advertise(strap())
      // The loop that reads now is that of the first one.
      await watchers.removeFirst().end()
      for watcher in watchers { await watcher.wait(until: "shown") }
      advertisement.stop()
      for watcher in watchers { await watcher.wait(until: "left") }
      let watcher = try Watcher(folder, notices, on: loops[turn % 3])
      try await watcher.start()
      watchers.append(watcher)
    }
    for watcher in watchers { await watcher.end() }
    #expect(!notices.hasInstance)
  }

  /// Many threads subscribe and cancel at once, so that the lock is contended.
  @Test(.enabled(if: canHaveInstance, "no inotify instance is left"))
  func threadsSubscribeAtOnce() async throws {
    let notices = FolderNotices()
    let path = air.path
    let loops = try (0..<3).map { try Loop(name: "folder \($0)") }
    for loop in loops { try loop.start() }
    defer { for loop in loops { loop.stop() } }
    // Keeps the instance: those that loops are about to close count against the user's limit.
    let lasting = try notices.subscribe(to: path, on: loops[0]) { _ in }
    try await withThrowingTaskGroup { group in
      for number in 0..<8 {
        group.addTask {
          for _ in 0..<100 {
            notices.cancel(try notices.subscribe(to: path, on: loops[number % 3]) { _ in })
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(notices.hasInstance)
    notices.cancel(lasting)
    #expect(!notices.hasInstance)
  }

  @Test func aRemovedFolderEndsListing() async throws {
    let notices = FolderNotices {
      errno = EMFILE
      return -1
    }
    let folder = try AirFolder(path: air.path)
    let watcher = try Watcher(folder, notices)
    try await watcher.start()
    folder.remove()
    await watcher.wait(for: ["failed"])
    await watcher.end()
  }
}

/// An observer, and the kinds of the changes that it reported.
private actor Watcher {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private let folder: AirFolder
  private let notices: FolderNotices
  private var observer: AirObserver?
  private(set) var changes: [String] = []
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(_ folder: AirFolder, _ notices: FolderNotices, on loop: Loop = .shared) throws {
    self.loop = loop
    self.folder = folder
    self.notices = notices
  }

  func start() throws {
    let observer = AirObserver(folder, on: loop, notices: notices) { [weak self] change in
      let kind =
        switch change {
        case .shown: "shown"
        case .left: "left"
        case .failed: "failed"
        }
      self?.assumeIsolated { $0.add(kind) }
    }
    self.observer = observer
    try observer.start()
  }

  private func add(_ kind: String) {
    changes.append(kind)
    for waiter in waiters { waiter.resume() }
    waiters = []
  }

  /// Waits until these are the changes; the suite's time limit ends it.
  func wait(for wanted: [String]) async {
    while changes.count < wanted.count {
      await withCheckedContinuation { waiters.append($0) }
    }
    #expect(changes == wanted)
  }

  /// Waits until this is the last change.
  func wait(until wanted: String) async {
    while changes.last != wanted {
      await withCheckedContinuation { waiters.append($0) }
    }
  }

  func end() {
    observer?.end()
    observer = nil
  }
}
